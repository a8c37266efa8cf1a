"""Projects, their commits, their memories and their indexes."""
