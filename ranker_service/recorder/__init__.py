"""Delivers traces to history; the only room that knows history exists."""
