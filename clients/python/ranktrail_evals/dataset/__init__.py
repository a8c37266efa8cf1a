"""Datasets: what a file may hold, what is checked before anything is scored, and where files are found."""
