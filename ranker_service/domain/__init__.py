"""What the ranker speaks of: plain frozen values."""
