"""The result of a run: its model, how it is made from scores, and the files it becomes."""
