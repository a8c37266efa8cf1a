"""Evaluation sets as files for others: pure conversions, without a database and without a network."""
