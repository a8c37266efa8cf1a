"""Ranking profiles: TOML files, and the catalog that lists them."""
