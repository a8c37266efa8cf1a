"""The edge: convert in, call one use case, convert out."""
