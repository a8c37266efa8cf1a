"""What a previous index knows that still holds: the units and tokens of resources that did not change."""

from collections.abc import Sequence
from dataclasses import dataclass

from ranker_service.domain.resource import Resource
from ranker_service.domain.unit import Unit
from ranker_service.index.files import IndexDamaged
from ranker_service.index.snapshot import Snapshot
from ranker_service.index.tokenizer import lexical_tokens


@dataclass(frozen=True, slots=True)
class Draft:
    """A unit before it has a row, and its lexical tokens."""

    unit: Unit
    tokens: Sequence[str]


def draft_of(unit: Unit) -> Draft:
    """Return a unit with the tokens of its encoder input."""
    return Draft(unit, lexical_tokens(unit.encoder_input))


@dataclass(frozen=True, slots=True)
class SourceRevisions:
    """What, besides its resource, determines a unit and its tokens; the model is the one that counts its tokens."""

    parser: str
    chunker: str
    model: str
    lexical: str


class Reuse:
    """Drafts out of a previous index."""

    def __init__(self, previous: Snapshot | None, revisions: SourceRevisions) -> None:
        """Take nothing over where parser, chunker or model differ, and no tokens where only the lexical part does."""
        self._previous: Snapshot | None = None
        self._rows: dict[tuple[str, ...], list[int]] = {}
        if previous is not None and _units_agree(previous, revisions):
            self._previous = previous
            self._rows = dict(zip(map(_source, previous.resources()), previous.rows_by_resource(), strict=True))
            self._has_tokens = previous.lexical_revision == revisions.lexical

    def drafts(self, resource: Resource) -> list[Draft] | None:
        """Return the drafts of a resource that did not change; None where it did, is new, or cannot be read."""
        rows = self._rows.get(_source(resource))
        if self._previous is None or rows is None:
            return None
        try:
            return [self._draft(self._previous, row, resource) for row in rows]
        except IndexDamaged:
            return None

    def _draft(self, previous: Snapshot, row: int, resource: Resource) -> Draft:
        unit = previous.unit(row)._replace(resource=resource)
        return Draft(unit, previous.lexical.token_list(row)) if self._has_tokens else draft_of(unit)


def _units_agree(previous: Snapshot, revisions: SourceRevisions) -> bool:
    return (previous.parser_revision, previous.chunker_revision, previous.model_revision) == (
        revisions.parser,
        revisions.chunker,
        revisions.model,
    )


def _source(resource: Resource) -> tuple[str, ...]:
    """Return what units depend on of their resource; layer and kind are not part of it."""
    return (
        resource.resource_id,
        resource.path,
        resource.title,
        resource.media_type,
        resource.digest,
        resource.parse_state.value,
    )
