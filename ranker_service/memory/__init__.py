"""Bytes to units: commits, the overlay of layers, parsers and the chunker."""
