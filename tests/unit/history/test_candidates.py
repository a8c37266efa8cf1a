"""Candidates between messages and rows."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from history_service.domain.errors import FieldInvalid
from history_service.domain.run import Candidate
from history_service.rpc.candidates import candidate_message, candidate_rows
from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail.trace.v1 import trace_pb2 as trace
from tests.history_builders import a_candidate

RANK = st.none() | st.integers(1, 2**31 - 1)
SCORE = st.none() | st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
CANDIDATES = st.builds(
    a_candidate,
    rank=st.integers(1, 500),
    unit_key=TEXT.filter(bool),
    title=TEXT,
    heading_path=st.lists(TEXT, max_size=4),
    excerpt=TEXT,
    layer=st.sampled_from([1, 2, 3]),
    exact_rank=RANK,
    exact_priority=st.none() | st.integers(0, 2),
    bm25_rank=RANK,
    bm25_score=SCORE,
    lexical_rank=RANK,
    dense_rank=RANK,
    dense_score=SCORE,
    rrf_rank=RANK,
    rrf_score=SCORE,
    reranker_rank=RANK,
    reranker_score=SCORE,
    late_interaction_score=SCORE,
    reranker_truncated=st.none() | st.booleans(),
    relevance=SCORE,
    final_rank=RANK,
    final_stage=st.none() | st.sampled_from(["rerank", "rrf"]),
)


def _rows(*candidates: trace.Candidate) -> list[Candidate]:
    return candidate_rows(pb.CandidateFrame(candidates=candidates))


def _refusal(**changes: Any) -> FieldInvalid:
    with pytest.raises(FieldInvalid) as error:
        _rows(a_candidate(1), a_candidate(2, **changes))
    return error.value


@settings(max_examples=200, deadline=None)
@given(CANDIDATES)
def test_a_candidate_comes_back_as_it_went_and_what_is_absent_stays_absent(candidate: trace.Candidate) -> None:
    (row,) = _rows(candidate)
    assert candidate_message(row) == candidate


def test_every_field_of_the_contract_has_a_column_of_its_name() -> None:
    assert list(Candidate._fields) == [field.name for field in trace.Candidate.DESCRIPTOR.fields]


@pytest.mark.parametrize(
    ("changes", "field", "limit"),
    [
        ({"unit_key": ""}, "unit_key", 2_048),
        ({"unit_key": "k" * 2_049}, "unit_key", 2_048),
        ({"unit_key": "票" * 683}, "unit_key", 2_048),
        ({"resource_id": ""}, "resource_id", 512),
        ({"resource_id": "r" * 513}, "resource_id", 512),
        ({"layer": 0}, "layer", None),
        ({"layer": 99}, "layer", None),
        ({"kind": ""}, "kind", 64),
        ({"path": "p" * 1_025}, "path", 1_024),
        ({"title": "t" * 1_025}, "title", 1_024),
        ({"heading_path": ["h" * 5_000]}, "heading_path", 4_096),
        ({"start_byte": -1}, "start_byte", None),
        ({"end_byte": 9}, "end_byte", None),
        ({"unit_digest": "A" * 64}, "unit_digest", None),
        ({"unit_digest": "a" * 64 + "\n"}, "unit_digest", None),
        ({"resource_digest": "٠" * 64}, "resource_digest", None),
        ({"token_count": -1}, "token_count", None),
        ({"excerpt": "x" * 1_201}, "excerpt", 1_200),
        ({"exact_rank": 0}, "exact_rank", None),
        ({"exact_priority": 3}, "exact_priority", None),
        ({"bm25_rank": -1}, "bm25_rank", None),
        ({"bm25_score": math.nan}, "bm25_score", None),
        ({"dense_score": math.inf}, "dense_score", None),
        ({"rrf_score": -math.inf}, "rrf_score", None),
        ({"reranker_score": math.nan}, "reranker_score", None),
        ({"late_interaction_score": math.nan}, "late_interaction_score", None),
        ({"relevance": math.nan}, "relevance", None),
        ({"final_rank": 0}, "final_rank", None),
        ({"exclusion_reason": 99}, "exclusion_reason", None),
        ({"delta_action": 99}, "delta_action", None),
        ({"selected": False}, "exclusion_reason", None),
        ({"exclusion_reason": trace.EXCLUSION_REASON_OVERLAP}, "exclusion_reason", None),
        ({"delta_action": trace.DELTA_ACTION_UNSPECIFIED}, "delta_action", None),
    ],
)
def test_a_wrong_value_is_refused_and_its_candidate_and_field_are_named(
    changes: dict[str, Any], field: str, limit: int | None
) -> None:
    refusal = _refusal(**changes)
    assert refusal.field == f"candidates.candidates[1].{field}"
    assert refusal.limit == limit


def test_a_frame_holds_at_most_256() -> None:
    rows = [a_candidate(n) for n in range(1, 257)]
    assert len(_rows(*rows)) == 256
    with pytest.raises(FieldInvalid, match="256"):
        _rows(*rows, a_candidate(257))
