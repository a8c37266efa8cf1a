"""What history does, one verb a file."""
