"""Judgments as a JSON list."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranktrail.evaluation.v1.evaluation_service_pb2 import EvaluationJudgment
from ranktrail_client.errors import FieldInvalid
from ranktrail_client.judgments import in_order, parse_judgments, subject_of
from ranktrail_client.message_json import message_json

WHOLE = {"resource_id": "a.md", "relevance": 2, "source": "human"}
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
judgments = st.builds(
    EvaluationJudgment,
    resource_id=texts,
    unit_key=st.none() | texts,
    relevance=st.integers(-(2**31), 2**31 - 1),
    missed=st.booleans(),
    notes=texts,
    source=st.sampled_from([1, 2, 3]),
)


@given(st.lists(judgments))
def test_judgments_written_as_json_read_back_the_same(written: list[EvaluationJudgment]) -> None:
    document = json.dumps([message_json(one) for one in written]).encode()
    assert parse_judgments(document) == written


@pytest.mark.parametrize(
    ("entry", "field"),
    [
        ({**WHOLE, "relevance": "2"}, "judgments[1].relevance"),
        ({**WHOLE, "relevance": 2.0}, "judgments[1].relevance"),
        ({**WHOLE, "relevance": True}, "judgments[1].relevance"),
        ({**WHOLE, "relevance": 2**31}, "judgments[1].relevance"),
        ({**WHOLE, "relevance": float("nan")}, "judgments[1].relevance"),
        ({**WHOLE, "relevance": None}, "judgments[1].relevance"),
        ({**WHOLE, "relevence": 2}, "judgments[1].relevence"),
        ({**WHOLE, "missed": "yes"}, "judgments[1].missed"),
        ({**WHOLE, "missed": 0}, "judgments[1].missed"),
        ({**WHOLE, "source": "person"}, "judgments[1].source"),
        ({**WHOLE, "source": ["human"]}, "judgments[1].source"),
        ({**WHOLE, "source": "HUMAN"}, "judgments[1].source"),
        ({**WHOLE, "notes": 1}, "judgments[1].notes"),
        ({**WHOLE, "notes": "\ud83d"}, "judgments[1].notes"),
        ({**WHOLE, "unit_key": {}}, "judgments[1].unit_key"),
        ({"relevance": 1, "source": "human"}, "judgments[1].resource_id"),
        ({"resource_id": "a.md", "relevance": 1}, "judgments[1].source"),
        ("a.md", "judgments[1]"),
        (None, "judgments[1]"),
    ],
)
def test_a_wrong_entry_is_refused_by_its_place_and_field(entry: Any, field: str) -> None:
    with pytest.raises(FieldInvalid, match=r"\]") as caught:
        parse_judgments(json.dumps([WHOLE, entry]).encode())
    assert caught.value.metadata == {"field": field}
    assert str(caught.value).startswith(f"{field} ")


@pytest.mark.parametrize("document", [b"", b"{}", b"null", b"[", b"\xff\xfe\x00", b"[" * 100_000, b'"a"', b"[1e999}"])
def test_what_is_no_list_of_judgments_is_refused(document: bytes) -> None:
    with pytest.raises(FieldInvalid, match=r"^judgments "):
        parse_judgments(document)


@given(st.lists(judgments, max_size=6))
def test_the_judgment_of_a_whole_resource_stands_before_those_of_its_units(some: list[EvaluationJudgment]) -> None:
    subjects = [subject_of(one) for one in in_order(some)]
    assert [resource for resource, _ in subjects] == sorted(resource for resource, _ in subjects)
    for (resource, unit), (after, unit_after) in itertools.pairwise(subjects):
        assert resource != after or unit is None or (unit_after is not None and unit <= unit_after)
