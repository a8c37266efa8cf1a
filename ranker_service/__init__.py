"""The ranker: retrieves from a project's memory and records how."""
