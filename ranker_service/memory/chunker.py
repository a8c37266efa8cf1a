"""The chunker: a resource's body as units, none of which the encoder has to cut."""

from collections.abc import Iterator
from itertools import takewhile

from ranker_service.domain.blank import is_blank
from ranker_service.domain.digest import digest_of
from ranker_service.domain.limits import UNIT_BYTES
from ranker_service.domain.profile import IndexSettings
from ranker_service.domain.resource import Resource
from ranker_service.domain.unit import Unit
from ranker_service.memory.context import Context, context_of
from ranker_service.memory.parsers import PARSER_REVISION, NotParsable, Section, parse
from ranker_service.memory.pieces import Cutter, Piece
from ranker_service.memory.tape import Tape
from ranker_service.memory.unit_keys import UnitKeys
from ranker_service.ports import TokenCounter

_CONTEXT_SHARE = 4
"""Context takes at most one in this many of a unit's tokens."""


def chunker_revision(settings: IndexSettings, counter_window: int) -> str:
    """Name the rules and the sizes that units are cut by."""
    return f"chunker.v1 tokens={min(settings.unit_tokens, counter_window)} overlap={settings.overlap_tokens}"


class Chunker:
    """Cuts resources into units of at most `settings.unit_tokens` tokens, prefix and special tokens included.

    Safe to call from any thread.
    """

    parser_revision = PARSER_REVISION

    def __init__(self, settings: IndexSettings, counter: TokenCounter) -> None:
        self.revision = chunker_revision(settings, counter.window)
        limit = min(settings.unit_tokens, counter.window)
        self._counter = counter
        self._context_limit = limit // _CONTEXT_SHARE
        self._cutter = Cutter(counter, limit - counter.special_token_count, settings.overlap_tokens)

    def chunk(self, resource: Resource, body: bytes) -> tuple[Unit, ...]:
        """Return the units of `resource`, whose body is `body`, in its order; none where it is blank or not parsable.

        A resource that fits is one unit, and so is a section that fits. Other sections are cut between blocks, and a
        block that does not fit into windows with overlap. Units without anything to see are left out.
        """
        try:
            parsed = parse(resource.media_type, body)
        except NotParsable:
            return ()
        title = resource.title or parsed.title
        units = self._as_whole(resource, title, parsed.sections, body)
        if units is None:
            units = self._by_section(resource, title, parsed.sections, body)
        return tuple(unit for unit in units if unit is not None)

    def _as_whole(
        self, resource: Resource, title: str, sections: tuple[Section, ...], body: bytes
    ) -> Iterator[Unit | None] | None:
        """Return the one unit that all sections make, or None where they do not fit into one."""
        start = sections[0].start if sections else len(body)
        if len(body) - start > UNIT_BYTES:
            return None
        heading_path = _common_path([section.heading_path for section in sections])
        tape = self._cutter.tape(body[start:])
        piece = self._cutter.whole(tape, self._context(title, heading_path))
        if piece is None:
            return None
        return iter((_unit(resource, UnitKeys(resource.resource_id).whole(), heading_path, tape, start, piece),))

    def _by_section(
        self, resource: Resource, title: str, sections: tuple[Section, ...], body: bytes
    ) -> Iterator[Unit | None]:
        keys = UnitKeys(resource.resource_id)
        for section in sections:
            keys.begin_section(section.heading_path)
            tape = self._cutter.tape(body[section.start : section.end])
            block_ends = tape.characters_at([end - section.start for _, end in section.blocks])
            context = self._context(title, section.heading_path)
            for part, piece in enumerate(self._cutter.pieces(tape, block_ends, context), start=1):
                yield _unit(resource, keys.part(part), section.heading_path, tape, section.start, piece)

    def _context(self, title: str, heading_path: tuple[str, ...]) -> Context:
        return context_of(title, heading_path, self._counter, self._context_limit)


def _common_path(paths: list[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the headings that all of `paths` begin with."""
    first, last = min(paths, default=()), max(paths, default=())
    return tuple(heading for heading, _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False)))


def _unit(
    resource: Resource, key: str, heading_path: tuple[str, ...], tape: Tape, offset: int, piece: Piece
) -> Unit | None:
    """Return a piece of the tape, which begins at the body's byte `offset`, as a unit; None where it says nothing.

    The vector of a text without tokens resembles everything, so such a text is never a unit.
    """
    text = tape.text[piece.start : piece.end]
    if piece.token_count == 0 or is_blank(text):
        return None
    start, end = offset + tape.byte_at(piece.start), offset + tape.byte_at(piece.end)
    digest = digest_of(text.encode("utf-8"))
    return Unit(key, resource, heading_path, start, end, digest, piece.token_count, piece.prefix, text)
