"""A section's text as the chunker cuts it: characters, their bytes, and tokens, which are made as far as needed."""

import numpy as np
from numpy.typing import NDArray

from ranker_service.ports import TokenCounter

_SEGMENT_CHARACTERS = 64 * 1024
"""Text that is tokenised at once: a body of 32 MiB would make tokens for gigabytes."""
_LAST_WORD_CHARACTERS = 1024
"""How far before its end a segment may end so that it ends between words."""


class Tape:
    """Positions are characters of `text`. Questions about tokens never go back, and reach `reach` characters ahead."""

    def __init__(self, text: str, content: bytes, counter: TokenCounter, reach: int) -> None:
        self.text = text
        self._counter = counter
        self._reach = reach
        self._bytes = _byte_offsets(content) if len(content) > len(text) else None
        self._segment_start = self._segment_end = 0
        self._alone = (0, 0, 0)
        self._starts: NDArray[np.int64] = np.empty(0, dtype=np.int64)

    def byte_at(self, position: int) -> int:
        """Return the byte where character `position` begins."""
        return position if self._bytes is None else int(self._bytes[position])

    def character_at(self, byte: int) -> int:
        """Return the last character that begins at or before `byte`; the text's length for its end."""
        if self._bytes is None:
            return min(byte, len(self.text))
        return int(np.searchsorted(self._bytes, byte, side="right")) - 1

    def characters_at(self, byte_offsets: list[int]) -> list[int]:
        """Return the characters that begin at `byte_offsets`, ascending."""
        if self._bytes is None:
            return byte_offsets
        positions: list[int] = np.searchsorted(self._bytes, byte_offsets).tolist()
        return positions

    def tokens_alone(self, start: int, end: int) -> int:
        """Return how many tokens the text `start:end` has by itself."""
        self._read(start)
        if (start, end) == (self._segment_start, self._segment_end):
            return len(self._starts)
        if self._alone[:2] != (start, end):
            self._alone = (start, end, len(self._counter.token_spans(self.text[start:end])))
        return self._alone[2]

    def token_count(self, start: int, end: int) -> int:
        """Return how many tokens begin in `start:end`."""
        self._read(start)
        first, last = np.searchsorted(self._starts, (start, end))
        return int(last - first)

    def after_tokens(self, start: int, count: int) -> int:
        """Return where the token begins that `count` tokens from `start` on precede, or the end of what is read."""
        self._read(start)
        token = int(np.searchsorted(self._starts, start)) + count
        return int(self._starts[token]) if token < len(self._starts) else self._segment_end

    def before_tokens(self, end: int, count: int) -> int:
        """Return where the `count`-th token before `end` begins, as far back as is still known."""
        token = int(np.searchsorted(self._starts, end)) - count
        return int(self._starts[max(token, 0)]) if len(self._starts) else end

    def _read(self, position: int) -> None:
        known = self._segment_end >= min(position + self._reach, len(self.text))
        if known and self._segment_end:
            return
        end = min(position + max(_SEGMENT_CHARACTERS, 2 * self._reach), len(self.text))
        if end < len(self.text):
            end = _between_words(self.text, end)
        spans = self._counter.token_spans(self.text[position:end])
        self._starts = np.array([start for start, _ in spans], dtype=np.int64) + position
        self._segment_start, self._segment_end = position, end


def _byte_offsets(content: bytes) -> NDArray[np.int64]:
    """Return the offset of each character's first byte, and of the end."""
    octets = np.frombuffer(content, dtype=np.uint8)
    return np.append(np.flatnonzero((octets & 0xC0) != 0x80), len(content))  # noqa: PLR2004 - a continuation byte


def _between_words(text: str, end: int) -> int:
    """Return a place to end that has white space before it, not far before `end`; `end` where there is none."""
    for position in range(end, end - _LAST_WORD_CHARACTERS, -1):
        if text[position - 1].isspace():
            return position
    return end
