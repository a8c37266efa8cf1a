"""Units to something searchable."""
