"""The history service: remembers every retrieval Run, for good."""
