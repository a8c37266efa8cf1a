"""The drawings of the pages; each stands above a table with the same numbers."""
