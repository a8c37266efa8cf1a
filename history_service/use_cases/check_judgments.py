"""Decides whether a judgment set may stand for a case."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from history_service.domain import limits
from history_service.domain.case import Judgment
from history_service.domain.errors import FieldInvalid
from history_service.store import frozen_corpora, read_runs
from history_service.store.cases import StoredCase
from history_service.store.connection import Connection

SOURCES = ("human", "import", "model")


@dataclass(frozen=True, slots=True)
class Judgeable:
    """What judgments of a case may speak of: its corpus, as far as asked for, and the candidates of its source Run."""

    resource_ids: frozenset[str]
    resource_of_unit: Mapping[str, str]

    @property
    def recalled(self) -> frozenset[str]:
        """The resources of which a unit was a candidate."""
        return frozenset(self.resource_of_unit.values())


def judgeable(db: Connection, stored: StoredCase, judgments: Sequence[Judgment]) -> Judgeable:
    """Read what decides about these judgments; it never changes while the case is there."""
    wanted = sorted({judgment.resource_id for judgment in judgments})
    known = frozen_corpora.resources_by_id(db, stored.case.corpus_hash, wanted)
    units = {unit.unit_key: unit.resource_id for unit in read_runs.candidates_of(db, stored.run_sequence)}
    return Judgeable(frozenset(resource.resource_id for resource in known), units)


def check_judgments(judgments: Sequence[Judgment], allowed: Judgeable) -> None:
    """Raise FieldInvalid, which names the judgment and the field, when the set may not stand."""
    seen: set[tuple[str, str | None]] = set()
    recalled = allowed.recalled
    for position, judgment in enumerate(judgments):
        field = f"judgments[{position}]"
        _check_by_itself(field, judgment)
        _check_subject(field, judgment, allowed)
        if judgment.missed and judgment.resource_id in recalled:
            raise FieldInvalid(f"{field}.missed", "is true and a unit of the resource was a candidate: send false")
        subject = (judgment.resource_id, judgment.unit_key)
        if subject in seen:
            raise FieldInvalid(field, "is of the same resource and unit as one before it: judge each once")
        seen.add(subject)


def check_size(judgments: Sequence[Judgment]) -> None:
    """Raise FieldInvalid when there are too many judgments, or too much text in them."""
    if len(judgments) > limits.MAX_JUDGMENTS:
        raise FieldInvalid("judgments", f"are more than {limits.MAX_JUDGMENTS}", limits.MAX_JUDGMENTS)
    size = sum(_size(text) for one in judgments for text in (one.resource_id, one.unit_key or "", one.notes))
    if size > limits.MAX_JUDGMENT_BYTES:
        limit = limits.MAX_JUDGMENT_BYTES
        raise FieldInvalid("judgments", f"have more than {limit} bytes of text: shorten their notes", limit)


def _check_by_itself(field: str, judgment: Judgment) -> None:
    if not 0 <= judgment.relevance <= limits.MAX_RELEVANCE:
        limit = limits.MAX_RELEVANCE
        raise FieldInvalid(f"{field}.relevance", f"must be there, 0 to {limit}", limit)
    if judgment.source not in SOURCES:
        raise FieldInvalid(f"{field}.source", "must be human, import or model")
    if _size(judgment.notes) > limits.MAX_NOTES_BYTES:
        limit = limits.MAX_NOTES_BYTES
        raise FieldInvalid(f"{field}.notes", f"has more than {limit} bytes: shorten it", limit)


def _check_subject(field: str, judgment: Judgment, allowed: Judgeable) -> None:
    if judgment.resource_id not in allowed.resource_ids:
        raise FieldInvalid(f"{field}.resource_id", "is not in the case's corpus")
    if judgment.unit_key is not None and allowed.resource_of_unit.get(judgment.unit_key) != judgment.resource_id:
        raise FieldInvalid(f"{field}.unit_key", "is not one of the resource's units among the Run's candidates")


def _size(text: str) -> int:
    return len(text.encode("utf-8"))
