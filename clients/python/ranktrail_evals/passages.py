"""Passages: what was retrieved, and what a record declares."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Context:
    """One retrieved text.

    `resource_id` and the byte span (`end_byte` is one past the last) say which contexts stand next to each other; None
    where that is not known.
    """

    text: str
    context_id: str | None = None
    resource_id: str | None = None
    start_byte: int | None = None
    end_byte: int | None = None


class Cited(Protocol):
    """A declared citation."""

    @property
    def citation_id(self) -> str | None:
        """Its id; None counts as none."""

    @property
    def text(self) -> str | None:
        """The passage, where it is known."""
