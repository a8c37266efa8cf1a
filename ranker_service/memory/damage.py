"""Damage: stored bytes that are not what their name says."""


class MemoryDamaged(Exception):
    """A stored body, manifest or head is missing or not what its name says."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name} {problem}: clear the project's storage and commit again")
        self.name = name
