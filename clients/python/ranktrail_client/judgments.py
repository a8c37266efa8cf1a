"""Judgments: what each one is of, and how a JSON document writes them."""

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from ranktrail.evaluation.v1.evaluation_service_pb2 import EvaluationJudgment
from ranktrail_client.errors import FieldInvalid
from ranktrail_client.message_json import enum_number, enum_words

Subject: TypeAlias = tuple[str, str | None]
"""A resource id, and the key of one of its units or None for the whole resource. A set judges each subject once."""

FIELDS = [field.name for field in EvaluationJudgment.DESCRIPTOR.fields]
SOURCES = enum_words(EvaluationJudgment.Source.DESCRIPTOR)
INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1


def subject_of(judgment: EvaluationJudgment) -> Subject:
    """Return what a judgment is of."""
    return judgment.resource_id, judgment.unit_key if judgment.HasField("unit_key") else None


def in_order(judgments: Iterable[EvaluationJudgment]) -> list[EvaluationJudgment]:
    """Return judgments by resource, the one of the whole resource before those of its units."""
    return sorted(judgments, key=lambda one: subject_order(subject_of(one)))


def subject_order(subject: Subject) -> tuple[str, bool, str]:
    """Return what subjects are sorted by."""
    resource_id, unit_key = subject
    return resource_id, unit_key is not None, unit_key or ""


def parse_judgments(document: bytes) -> list[EvaluationJudgment]:
    """Read a JSON list of judgments with the contract's field names; null counts as not given.

    Raises FieldInvalid, which names entry and field. What a case allows, the service checks.
    """
    try:
        value = json.loads(document)
    except (ValueError, RecursionError) as error:
        raise _invalid("judgments", f"are no JSON ({error}): write a list of judgments") from error
    if not isinstance(value, list):
        raise _invalid("judgments", "are no list: write a JSON list of judgments")
    return [_judgment(f"judgments[{position}]", entry) for position, entry in enumerate(value)]


def _judgment(place: str, entry: Any) -> EvaluationJudgment:
    if not isinstance(entry, dict):
        raise _invalid(place, "is no object: write one with the fields of a judgment")
    judgment = EvaluationJudgment()
    for name, value in entry.items():
        if name not in _READERS:
            raise _invalid(f"{place}.{name}", f"is no field of a judgment: write {', '.join(FIELDS)}")
        if value is not None:
            setattr(judgment, name, _READERS[name](f"{place}.{name}", value))
    for name in ("resource_id", "relevance", "source"):
        if entry.get(name) is None:
            raise _invalid(f"{place}.{name}", "is missing: write it")
    return judgment


def _text(place: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _invalid(place, "is no text: write a string")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise _invalid(place, "has a lone surrogate: write whole characters") from error
    return value


def _relevance(place: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not INT32_MIN <= value <= INT32_MAX:
        raise _invalid(place, "is no relevance: write 0, 1, 2 or 3")
    return value


def _missed(place: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _invalid(place, "is neither true nor false: write one of the two")
    return value


def _source(place: str, value: Any) -> int:
    if value not in SOURCES:
        raise _invalid(place, f"is no source: write {', '.join(SOURCES)}")
    return enum_number(EvaluationJudgment.Source.DESCRIPTOR, value)


_READERS: dict[str, Callable[[str, Any], Any]] = {
    "resource_id": _text,
    "unit_key": _text,
    "relevance": _relevance,
    "missed": _missed,
    "notes": _text,
    "source": _source,
}


def _invalid(field: str, problem: str) -> FieldInvalid:
    return FieldInvalid(f"{field} {problem}", metadata={"field": field})
