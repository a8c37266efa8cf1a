"""Domain values as contract messages."""
