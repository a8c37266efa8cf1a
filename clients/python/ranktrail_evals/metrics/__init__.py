"""Metrics without a judge, one a file: a pure function from a case to a value or the reason why there is none."""
