"""What every client shows a trace with."""

from ranktrail.trace.v1.trace_pb2 import Candidate, ExclusionReason, ParseState
from ranktrail_client.message_json import enum_words
from ranktrail_client.trace_words import EXCLUSIONS, UNPARSED, leg_end, optional


def test_every_exclusion_reason_and_parse_state_of_the_contract_has_its_words() -> None:
    assert set(EXCLUSIONS) == set(enum_words(ExclusionReason.DESCRIPTOR))
    assert set(UNPARSED) == {*enum_words(ParseState.DESCRIPTOR), None} - {"parsed"}


def test_a_leg_ends_at_its_last_rank_whatever_the_order_of_the_candidates() -> None:
    candidates = [
        Candidate(bm25_rank=1, bm25_score=3.0),
        Candidate(bm25_rank=2, bm25_score=-0.5),
        Candidate(dense_rank=1),
    ]
    for order in (candidates, candidates[::-1]):
        assert leg_end(order, "bm25") == (2, -0.5)
        assert leg_end(order, "dense") == (1, None)
    assert leg_end([], "dense") is None


def test_absent_is_none_and_zero_is_zero() -> None:
    assert optional(Candidate(), "bm25_score") is None
    assert optional(Candidate(bm25_score=0.0), "bm25_score") == 0.0
