"""The streams that carry resources: frames in, resources with their bodies out."""

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from ranker_service.domain.errors import FieldInvalid
from ranker_service.domain.limits import check_frame

Frame = TypeVar("Frame")


class Frames(Generic[Frame]):
    """Frames of one stream, with one frame of look-ahead."""

    def __init__(self, frames: Iterator[Frame], read_kind: Callable[[Frame], str | None]) -> None:
        self._frames = frames
        self._read_kind = read_kind
        self._next: Frame | None = None

    def peek(self) -> tuple[str, Frame] | None:
        """Return the next frame and its kind and leave it; None at the end; raise FieldInvalid on an empty one."""
        if self._next is None:
            self._next = next(self._frames, None)
        if self._next is None:
            return None
        kind = self._read_kind(self._next)
        if kind is None:
            raise FieldInvalid("frame", "is empty: set exactly one of its fields")
        return kind, self._next

    def take(self) -> tuple[str, Any] | None:
        """Return the next frame and its kind; None at the end."""
        taken = self.peek()
        self._next = None
        return taken

    def body(self) -> Iterator[bytes]:
        """Yield the body frames that stand here; raise FieldInvalid on one that is too long."""
        while (frame := self.peek()) is not None and frame[0] == "body":
            self._next = None
            yield check_frame(frame[1].body)  # type: ignore[attr-defined]
