"""Judging by hand: positions, undo, what a judgment holds, and drafts that outlive the process."""

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranktrail.evaluation.v1.evaluation_service_pb2 import EvaluationCase, EvaluationJudgment
from ranktrail.history.v1.history_service_pb2 import GetRetrievalRunResponse
from ranktrail.trace.v1.trace_pb2 import Candidate
from ranktrail_cli.drafts import Drafts
from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.judging import Judging
from ranktrail_client.judgments import parse_judgments

IMPORTED = EvaluationJudgment(
    resource_id="r0", unit_key="r0#1", relevance=1, notes="why", source=EvaluationJudgment.SOURCE_IMPORT
)


def a_judging(*stored: EvaluationJudgment, count: int = 4) -> Judging:
    candidates = [
        Candidate(resource_id=f"r{number // 2}", unit_key=f"r{number // 2}#{number}") for number in range(count)
    ]
    case = EvaluationCase(case_id="C", judgment_version=3)
    return Judging.of(GetRetrievalRunResponse(evaluation_case=case, candidates=candidates, judgments=stored))


def test_judging_begins_at_the_first_candidate_that_nobody_judged() -> None:
    assert a_judging().position == 0
    first = EvaluationJudgment(resource_id="r0", unit_key="r0#0", relevance=0, source=1)
    assert a_judging(first, IMPORTED).position == 2


def test_a_judgment_is_a_person_s_and_keeps_the_notes_that_were_there() -> None:
    judging = a_judging(IMPORTED)
    judging.position = 1
    judging.judge_candidate(3)
    made = judging.judgment_of("r0", "r0#1")
    assert made is not None
    assert (made.relevance, made.source, made.notes) == (3, EvaluationJudgment.SOURCE_HUMAN, "why")
    assert judging.position == 2


def test_a_whole_resource_is_missed_exactly_when_no_unit_of_it_was_found() -> None:
    judging = a_judging()
    judging.judge_resource("r0", 1)
    judging.judge_resource("elsewhere", 2)
    assert {one.resource_id: (one.missed, one.HasField("unit_key")) for one in judging.whole_set()} == {
        "r0": (False, False),
        "elsewhere": (True, False),
    }


def test_nothing_is_judged_past_the_last_candidate() -> None:
    judging = a_judging(count=0)
    judging.judge_candidate(2)
    assert (judging.candidate, judging.is_changed) == (None, False)


steps = st.lists(st.sampled_from(["0", "1", "2", "3", "s", "b", "whole"]), max_size=12)


@given(steps)
def test_undoing_every_judgment_brings_back_what_was_stored(keys: list[str]) -> None:
    judging = a_judging(IMPORTED)
    for key in keys:
        if key == "whole":
            judging.judge_resource("r1", 2)
        elif key in "sb":
            judging.move(1 if key == "s" else -1)
        else:
            judging.judge_candidate(int(key))
    while judging.undo():
        pass
    assert judging.whole_set() == [IMPORTED]
    assert (judging.is_changed, judging.changed_count) == (False, 0)


def test_a_draft_reads_back_is_private_and_is_a_file_that_judge_takes(tmp_path: Path) -> None:
    drafts = Drafts(tmp_path / "judging", "CASE1")
    drafts.keep(3, [IMPORTED])
    assert drafts.find() == (3, [IMPORTED])
    assert parse_judgments(drafts.path(3).read_bytes()) == [IMPORTED]
    assert stat.S_IMODE(drafts.path(3).stat().st_mode) == 0o600
    assert stat.S_IMODE(drafts.folder.stat().st_mode) == 0o700


def test_a_draft_takes_the_place_of_every_other_of_its_case_alone(tmp_path: Path) -> None:
    drafts, others = Drafts(tmp_path, "CASE1"), Drafts(tmp_path, "CASE2")
    others.keep(9, [IMPORTED])
    for version in (3, 12, 5):
        drafts.keep(version, [])
    assert drafts.find() == (5, [])
    drafts.drop()
    assert drafts.find() is None
    assert others.find() == (9, [IMPORTED])


@pytest.mark.parametrize("case_id", ["../../x", "..", "a/b", "%2e", "a\nb"])
def test_a_case_id_that_is_a_path_stays_a_name(tmp_path: Path, case_id: str) -> None:
    drafts = Drafts(tmp_path / "judging", case_id)
    drafts.keep(1, [])
    assert drafts.find() == (1, [])
    assert [path.parent for path in tmp_path.rglob("*.json")] == [tmp_path / "judging"]


def test_a_damaged_draft_is_refused_by_its_path(tmp_path: Path) -> None:
    drafts = Drafts(tmp_path, "C")
    drafts.keep(1, [])
    drafts.path(1).write_bytes(b"[{")
    with pytest.raises(CommandFailed, match=r"C\.1\.json.* is damaged") as caught:
        drafts.find()
    assert caught.value.exit_code is Exit.REFUSED


def test_a_place_that_takes_no_draft_is_told_at_the_first_judgment(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CommandFailed, match="cannot be written"):
        Drafts(tmp_path / "file", "C").keep(1, [])
