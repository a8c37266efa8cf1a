"""Replay compares on the same judgments: they follow bytes, are taken once, and what is lost is named."""

import json
from typing import Any

import pytest

from ranktrail_cli.commands.evals.replay_view import print_replay
from ranktrail_cli.output import Output
from ranktrail_evals.errors import OptionInvalid
from ranktrail_evals.replay.comparison import contestants, ranked
from ranktrail_evals.replay.fixture import FrozenCase
from ranktrail_evals.replay.following import CorpusUnits, Following
from ranktrail_evals.replay.gate import conditions, exit_code
from ranktrail_evals.replay.model import Contestant, Measure, Replay
from ranktrail_evals.replay.report import replay_junit, replay_page
from ranktrail_evals.replay.trace import Trace
from ranktrail_evals.results.model import GateExit, Outcome
from ranktrail_evals.significance import holm
from tests.unit.evals.replay_made import STAGES, a_frozen_case, a_judgment, a_trace, a_unit


def compared(*cases: tuple[FrozenCase, Trace]) -> Contestant:
    (found,) = contestants([ranked("p", [cases])])
    return found


def value(found: Contestant, order: str, measure: Measure) -> tuple[float | None, float | None]:
    (one,) = [one for one in found.differences if (one.order, one.measure) == (order, measure)]
    return one.baseline, one.value


GOOD = a_trace(a_unit("a#1", 1), a_unit("b#1", 2))
BAD = a_trace(a_unit("b#1", 1), a_unit("a#1", 2, exclusion_reason="token_budget"))
JUDGED = (a_judgment("a#1", 3),)


def many(now: Trace, count: int = 12) -> list[tuple[FrozenCase, Trace]]:
    return [(a_frozen_case(GOOD, JUDGED, f"c{place:02}"), now) for place in range(count)]


def test_what_was_returned_and_is_not_any_more_is_named_with_the_stage_that_lost_it() -> None:
    found = compared(*many(BAD, 1))
    (change,) = found.changes
    assert [(one.judgment, one.stage) for one in change.lost] == [("a#1", "token_budget")]
    assert (change.gained, change.run_id) == ((), "run of c00")
    (back,) = compared((a_frozen_case(BAD, JUDGED), GOOD)).changes
    assert [(one.judgment, one.stage) for one in back.gained] == [("a#1", "token_budget")]
    (gone,) = compared((a_frozen_case(GOOD, JUDGED), a_trace(a_unit("b#1", 1)))).changes
    assert [one.stage for one in gone.lost] == ["not_recalled"]


def test_the_same_traces_differ_by_exactly_nothing() -> None:
    found = compared(*many(GOOD))
    assert {(one.difference, one.p_value, one.interval) for one in found.differences} == {(0.0, None, None)}
    assert found.changes == found.revisions == ()


def test_an_order_whose_stage_did_not_run_has_no_value_and_an_empty_one_has_zero() -> None:
    without = a_trace(a_unit("a#1", 1, dense_rank=None, reranker_rank=None), stages=STAGES - {"vector", "rerank"})
    found = compared((a_frozen_case(GOOD, JUDGED), without))
    assert value(found, "b2_dense_vector", Measure.RR) == value(found, "b4_reranked", Measure.RR) == (None, None)
    assert value(found, "b1_bm25", Measure.RR) == (1.0, 1.0)
    empty = compared((a_frozen_case(GOOD, JUDGED), a_trace()))
    assert value(empty, "b2_dense_vector", Measure.NDCG) == (1.0, 0.0)


def test_a_case_without_a_relevant_judgment_is_not_measured() -> None:
    found = compared((a_frozen_case(GOOD, (a_judgment("a#1", 0),)), BAD), *many(GOOD, 1))
    assert {one.paired for one in found.differences} == {1}


def test_judgments_follow_the_digest_of_their_unit() -> None:
    frozen = a_trace(*(a_unit(f"a#{name}", rank) for rank, name in enumerate(("same", "old", "cut", "dead"), start=1)))
    now = a_trace(
        a_unit("a#same", 1),
        a_unit("a#new", 2, unit_digest="digest of a#old"),
        a_unit("a#cut", 3, unit_digest="another"),
        chunker_revision="2",
    )
    case = a_frozen_case(frozen, [a_judgment(f"a#{name}") for name in ("same", "old", "cut", "dead")])
    followed = CorpusUnits([now]).follow(case, now)
    assert [one.following for one in followed] == list(Following)
    assert [one.unit_key for one in followed][:2] == ["a#same", "a#new"]
    found = compared((case, now))
    assert found.judgments == dict.fromkeys(Following, 1)
    # Two of four are still found: the ideal counts the lost ones.
    assert value(found, "b3_hybrid_rrf", Measure.RECALL) == (1.0, 0.5)
    (change,) = found.changes
    assert [(one.judgment, one.stage) for one in change.lost] == [("a#cut", "changed"), ("a#dead", "gone")]
    assert [one.revision for one in found.revisions] == ["chunker_revision"]


def test_with_the_same_parser_and_chunker_a_unit_that_nobody_recalls_is_the_same_and_not_gone() -> None:
    case = a_frozen_case(GOOD, JUDGED)
    (followed,) = CorpusUnits([a_trace()]).follow(case, a_trace())
    assert followed.following is Following.SAME


def test_of_two_units_with_the_same_bytes_each_takes_one_judgment() -> None:
    twins = [a_unit(f"a#{place}", place, unit_digest="d", start_byte=place) for place in (1, 2)]
    moved = [a_unit(f"a#x{place}", place, unit_digest="d", start_byte=place) for place in (1, 2)]
    now = a_trace(*moved, chunker_revision="2")
    case = a_frozen_case(a_trace(*twins), [a_judgment("a#1"), a_judgment("a#2")])
    assert [one.unit_key for one in CorpusUnits([now]).follow(case, now)] == ["a#x1", "a#x2"]


def test_a_judgment_of_a_whole_resource_counts_once() -> None:
    trace = a_trace(a_unit("a#1", 1), a_unit("a#2", 2))
    found = compared((a_frozen_case(trace, [a_judgment("a"), a_judgment("b")]), trace))
    assert value(found, "returned", Measure.RECALL) == (0.5, 0.5)


def test_a_case_that_was_not_ranked_makes_the_replay_incomplete() -> None:
    found = compared(*many(GOOD, 2), (a_frozen_case(GOOD, JUDGED, "c9"), a_trace(failure="rerank: out_of_memory")))
    assert [one.case_id for one in found.failed] == ["c9"]
    decisions = [one.decide(found) for one in conditions(())]
    assert exit_code(decisions, [found]) is GateExit.INCOMPLETE


@pytest.mark.parametrize(
    ("gate", "outcome"),
    [
        ("nDCG@10>=baseline-0.01", Outcome.FAIL),
        ("nDCG@10>=baseline-1", Outcome.PASS),
        ("MRR >= 0", Outcome.PASS),
        ("RR>=0.5", Outcome.FAIL),
        ("b1_bm25:R@20>=baseline", Outcome.PASS),
        ("b1_bm25 : R@20 >= baseline + 0.1", Outcome.FAIL),
    ],
)
def test_a_gate_decides_by_a_measure_of_an_order_and_a_bar(gate: str, outcome: Outcome) -> None:
    (condition,) = conditions([gate])
    assert condition.decide(compared(*many(BAD))).outcome is outcome


def test_without_a_gate_a_shown_drop_fails_and_one_that_may_be_chance_does_not() -> None:
    for count, expected in ((12, GateExit.FAILED), (3, GateExit.PASSED)):
        found = compared(*many(BAD, count))
        assert exit_code([one.decide(found) for one in conditions(())], [found]) is expected


def test_a_gate_on_what_nobody_measured_is_incomplete() -> None:
    found = compared((a_frozen_case(GOOD, ()), GOOD))
    decisions = [one.decide(found) for one in conditions(["R@20>=baseline"])]
    assert exit_code(decisions, [found]) is GateExit.INCOMPLETE


@pytest.mark.parametrize(
    ("gate", "sentence"),
    [
        ("nDCG@10", "is no condition"),
        ("nDCG@10<=baseline", "is no condition"),
        ("P@5>=baseline", "'P@5' is no measure: there are R@20, nDCG@10, RR, MRR"),
        ("b5:RR>=baseline", "'b5' is no order: there are b1_bm25"),
        ("RR>=baseline-2", "is no number from 0 to 1"),
        ("RR>=1.2.3", "is no number from 0 to 1"),
    ],
)
def test_a_gate_that_means_nothing_is_refused(gate: str, sentence: str) -> None:
    with pytest.raises(OptionInvalid, match=sentence):
        conditions([gate])


def test_holms_correction_multiplies_the_smallest_most() -> None:
    assert holm([0.01, 0.04, 0.03]) == [0.03, 0.06, 0.06]


def a_replay(**fields: Any) -> Replay:
    found = compared(*many(BAD))
    decisions = tuple(one.decide(found) for one in conditions(()))
    made: dict[str, Any] = {
        "result_id": "replay-1",
        "create_time": "2026-01-01T00:00:00Z",
        "product_version": "0",
        "fixture_sha256": "0",
        "case_count": 12,
        "scored_count": 12,
        "exit_code": exit_code(decisions, [found]),
        "decisions": decisions,
        "contestants": (found.model_copy(update=fields),),
    }
    return Replay(**made)


def test_what_is_printed_names_the_lost_cases_and_what_decided(capsys: pytest.CaptureFixture[str]) -> None:
    print_replay(Output(as_json=False), a_replay())
    shown = capsys.readouterr().out
    assert "  lost    a#1  token_budget" in shown
    assert "judged units: same 12, moved 0, changed 0, gone 0" in shown
    assert "FAIL: p returned:R@20 no significant drop, 0.000" in shown


def test_the_files_say_the_same_and_show_data_as_text() -> None:
    replay = a_replay(profile="<script>\x1b")
    page, junit = replay_page(replay), replay_junit(replay)
    assert "<script>" not in page
    assert "\x1b" not in page + junit
    assert page.count("token_budget") == 12
    assert 'failures="3"' in junit
    assert Replay.model_validate_json(json.dumps(replay.model_dump(mode="json"))) == replay
