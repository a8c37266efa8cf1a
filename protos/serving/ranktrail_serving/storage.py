"""What a service says of its storage: what is wrong in it, how far a check is, and what a copy of it consists of."""

from dataclasses import dataclass
from typing import TypeAlias

EVENT_EVERY = 256
"""Things checked between two reports of progress."""
PIECE_BYTES = 1_048_576
"""Of a copy; the most that one message carries."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is not as it should be.

    `kind` is a stable word of the contract, `subject` a path below the data directory or a word and an id, `detail` one
    sentence.
    """

    kind: str
    subject: str
    detail: str
    repairable: bool = False
    repaired: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
    """Things checked of those in this phase."""

    phase: str
    done: int
    total: int


Event: TypeAlias = Problem | Progress


@dataclass(frozen=True, slots=True)
class BackupStart:
    """What is about to come: files, and their bytes."""

    file_count: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class BackupFile:
    """A file begins: its path below the data directory, the bytes that follow, and their digest."""

    path: str
    size_bytes: int
    digest: str


@dataclass(frozen=True, slots=True)
class BackupEnd:
    """What came."""

    file_count: int
    total_bytes: int


BackupPart: TypeAlias = BackupStart | BackupFile | bytes | Problem | BackupEnd
"""In this order: the start; then files, each with its bytes in pieces behind it, and problems; the end."""
