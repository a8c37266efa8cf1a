"""What history speaks of: plain frozen values."""
