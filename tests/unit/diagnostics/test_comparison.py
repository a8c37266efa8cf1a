"""Two Runs side by side."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranktrail.history.v1.history_service_pb2 import GetRetrievalRunResponse, RetrievalRun
from ranktrail_diagnostics.comparison import compare, rank_biased_overlap
from tests.history_builders import a_candidate

rankings = st.lists(st.sampled_from("abcdefghij"), unique=True)


def test_the_overlap_is_that_of_the_formula() -> None:
    # Depth 1 shares nothing, depth 2 both: (1 - p) / p * (0 * p + 2 / 2 * p^2) + 2 / 2 * p^2.
    assert rank_biased_overlap("ab", "ba", 0.9) == pytest.approx(0.1 / 0.9 * 0.9**2 + 0.9**2)
    # The shorter list is a prefix of the longer one: extrapolated, they agree wholly.
    assert rank_biased_overlap("ab", "abcd") == pytest.approx(1)
    assert rank_biased_overlap("", "") == 1
    assert rank_biased_overlap("", "a") == 0


@given(rankings, rankings)
def test_the_overlap_lies_between_0_and_1_and_takes_no_side(left: list[str], right: list[str]) -> None:
    overlap = rank_biased_overlap(left, right)
    assert -1e-12 <= overlap <= 1 + 1e-12
    assert math.isclose(overlap, rank_biased_overlap(right, left))


@given(rankings.filter(bool))
def test_a_ranking_agrees_with_itself_and_not_at_all_with_strangers(ranking: list[str]) -> None:
    assert rank_biased_overlap(ranking, ranking) == pytest.approx(1)
    assert rank_biased_overlap(ranking, [letter.upper() for letter in ranking]) == 0


def test_moves_say_who_rose_entered_left_and_was_edited() -> None:
    before = GetRetrievalRunResponse(candidates=[a_candidate(1), a_candidate(2), a_candidate(3)])
    after = GetRetrievalRunResponse(
        run=RetrievalRun(model_revision="another"),
        candidates=[
            a_candidate(2, final_rank=1, unit_digest="0" * 64),
            a_candidate(1, final_rank=2, selected=False),
            a_candidate(4, final_rank=3, selected=True),
        ],
    )
    compared = compare(before, after)
    seen = [(move.path[9:13], move.ranks, move.rise, move.change, move.is_edited) for move in compared.moves]
    assert seen == [
        ("0002", (2, 1), 1, "kept", True),
        ("0001", (1, 2), -1, "left", False),
        ("0004", (None, 3), None, "entered", False),
        ("0003", (3, None), None, "", False),
    ]
    assert [pair[1].name for pair in compared.changed_revisions] == ["model"]
    assert compared.first_stage is not None
    assert (compared.first_stage.stage, compared.first_stage.first_difference) == ("bm25", 3)
