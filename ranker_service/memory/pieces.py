"""Pieces: a text cut so that each piece, with its prefix before it, fits into a number of tokens."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from ranker_service.domain.limits import UNIT_BYTES
from ranker_service.memory.context import NO_CONTEXT, Context
from ranker_service.memory.tape import Tape
from ranker_service.ports import TokenCounter


@dataclass(frozen=True, slots=True)
class Piece:
    """The characters `start:end` of a tape, how many tokens they have alone, and the prefix that fits before them."""

    start: int
    end: int
    token_count: int
    prefix: str


class Cutter:
    """Cuts texts into pieces of at most `room` tokens, prefix included, and 16 KiB of text.

    Neighbouring windows of one block share about `overlap` tokens.
    """

    def __init__(self, counter: TokenCounter, room: int, overlap: int) -> None:
        self._counter = counter
        self._room = room
        self._overlap = min(overlap, room // 4)

    def tape(self, content: bytes) -> Tape:
        """Return `content`, which is UTF-8, ready to be cut."""
        return Tape(content.decode("utf-8"), content, self._counter, UNIT_BYTES)

    def whole(self, tape: Tape, context: Context) -> Piece | None:
        """Return all of the tape as one piece, or None where that does not fit."""
        length = len(tape.text)
        if tape.byte_at(length) > UNIT_BYTES:
            return None
        token_count = tape.tokens_alone(0, length)
        if token_count + context.token_count > self._room or self._excess(tape, 0, length, context.prefix) > 0:
            return None
        return Piece(0, length, token_count, context.prefix)

    def pieces(self, tape: Tape, block_ends: list[int], context: Context) -> Iterator[Piece]:
        """Cut the tape at the last of `block_ends` (ascending, up to its length) that fits, or else within a block.

        Nothing is left out but a token that does not fit alone.
        """
        start = reached = 0
        while reached < len(tape.text):
            piece = self._longest(tape, block_ends, start, reached, context)
            if piece is not None:
                yield piece
                reached = piece.end
                start = self._next_start(tape, block_ends, piece)
            elif start < reached:
                start = reached
            else:
                start = reached = max(tape.after_tokens(start, 1), start + 1)

    def _longest(self, tape: Tape, block_ends: list[int], start: int, reached: int, context: Context) -> Piece | None:
        """Return the longest piece from `start` that ends after `reached`, without its prefix where it must; else None.

        The tokens of a text are not the sum of those of its parts, so each piece is counted as the encoder will see it.
        """
        for tried in (context, NO_CONTEXT):
            budget = self._room - tried.token_count
            while budget > 0:
                end = _end(tape, block_ends, start, reached, budget)
                if end <= reached:
                    break
                excess = self._excess(tape, start, end, tried.prefix)
                if excess <= 0:
                    return Piece(start, end, tape.tokens_alone(start, end), tried.prefix)
                budget = min(budget, tape.token_count(start, end)) - excess
        return None

    def _excess(self, tape: Tape, start: int, end: int, prefix: str) -> int:
        if not prefix:
            return tape.tokens_alone(start, end) - self._room
        return len(self._counter.token_spans(prefix + tape.text[start:end])) - self._room

    def _next_start(self, tape: Tape, block_ends: list[int], piece: Piece) -> int:
        """Return the end of a piece that ends with its block, else the line or word in it where the overlap begins."""
        if block_ends[bisect_left(block_ends, piece.end)] == piece.end:
            return piece.end
        start = tape.before_tokens(piece.end, self._overlap)
        if not piece.start < start < piece.end:
            return piece.end
        line, word = (tape.text.find(gap, start - 1, piece.end - 1) + 1 for gap in "\n ")
        return line or word or start


def _end(tape: Tape, block_ends: list[int], start: int, reached: int, budget: int) -> int:
    """Return where a piece of at most `budget` tokens from `start` ends best: with a block, a line, a word, a token."""
    limit = min(tape.after_tokens(start, budget), tape.character_at(tape.byte_at(start) + UNIT_BYTES))
    fitting = bisect_right(block_ends, limit)
    if fitting and block_ends[fitting - 1] > max(start, reached):
        return block_ends[fitting - 1]
    floor = max((start + limit) // 2, reached)
    line, word = (tape.text.rfind(gap, floor, limit) + 1 for gap in "\n ")
    return line or word or limit
