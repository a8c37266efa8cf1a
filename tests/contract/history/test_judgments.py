"""Judgments: replaced as a whole, by whoever saw the present version, and never lost."""

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import grpc
import pytest

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from tests import history_cases as cases
from tests.fakes.history_server import ROOT, TIMEOUT, HistoryClient, RunningHistory
from tests.history_builders import a_candidate
from tests.history_cases import a_judgment
from tests.refusals import refused

ROUNDS = 1_000


def _versions(history: HistoryClient, case_id: str, page_size: int = 0) -> list[pb.JudgmentVersion]:
    found: list[pb.JudgmentVersion] = []
    token = ""
    while True:
        request = pb.ListJudgmentVersionsRequest(case_id=case_id, page_size=page_size, page_token=token)
        answer = history.evaluation.ListJudgmentVersions(request, timeout=TIMEOUT)
        found += answer.versions
        token = answer.next_page_token
        if not token:
            return found


def test_a_replaced_set_stands_whole_in_order_with_its_author_and_time(history: RunningHistory) -> None:
    case = cases.pinned(history)
    judgments = [
        a_judgment(5, unit=False, relevance=1, missed=True, notes="nobody found it\0"),
        a_judgment(1, relevance=3),
        a_judgment(1, unit=False, relevance=0, source=pb.EvaluationJudgment.SOURCE_MODEL),
        a_judgment(2, source=pb.EvaluationJudgment.SOURCE_IMPORT),
    ]
    answer = cases.replace(history, case.case_id, 1, *judgments, author="ada ✓")
    found = cases.get(history, case.case_id)
    assert list(found.judgments) == [judgments[2], judgments[1], judgments[3], judgments[0]]
    assert answer.judgment_version == found.evaluation_case.judgment_version == 2
    assert answer.judge_time == found.evaluation_case.judge_time
    assert (found.evaluation_case.judgment_author, found.evaluation_case.judgment_count) == ("ada ✓", 4)
    assert found.evaluation_case.human_judged
    assert list(history.get().judgments) == list(found.judgments)


def test_a_model_or_an_import_does_not_make_a_case_judged_by_a_person(history: RunningHistory) -> None:
    case = cases.pinned(history)
    for version, source in enumerate((pb.EvaluationJudgment.SOURCE_MODEL, pb.EvaluationJudgment.SOURCE_IMPORT), 1):
        cases.replace(history, case.case_id, version, a_judgment(source=source))
        assert not cases.get(history, case.case_id).evaluation_case.human_judged


def test_a_set_can_be_emptied(history: RunningHistory) -> None:
    case = cases.pinned(history)
    cases.replace(history, case.case_id, 1, a_judgment())
    assert cases.replace(history, case.case_id, 2).judgment_version == 3
    found = cases.get(history, case.case_id)
    assert (list(found.judgments), found.evaluation_case.human_judged) == ([], False)


@pytest.mark.parametrize("expected", [-1, 0, 1, 3, 2**63 - 1])
def test_a_set_for_another_version_changes_nothing_and_says_what_stands(history: RunningHistory, expected: int) -> None:
    case = cases.pinned(history)
    first = cases.replace(history, case.case_id, 1, a_judgment(1), author="grace")
    refusal = refused(lambda: cases.replace(history, case.case_id, expected, a_judgment(2)))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.ABORTED, "EVALUATION_JUDGMENT_CONFLICT")
    assert refusal.metadata == {
        "case_id": case.case_id,
        "expected": str(expected),
        "current": "2",
        "author": "grace",
        "update_time": first.judge_time.ToJsonString(),
    }
    assert list(cases.get(history, case.case_id).judgments) == [a_judgment(1)]


def test_a_conflict_with_the_set_that_a_case_begins_with_tells_when_it_was_made(history: RunningHistory) -> None:
    case = cases.pinned(history)
    refusal = refused(lambda: cases.replace(history, case.case_id, 2))
    assert (refusal.metadata["current"], refusal.metadata["author"]) == ("1", "")
    assert refusal.metadata["update_time"] == case.create_time.ToJsonString()


def test_a_request_that_was_answered_gets_that_answer_whatever_the_version(history: RunningHistory) -> None:
    case = cases.pinned(history)
    first = cases.replace(history, case.case_id, 1, a_judgment(1), a_judgment(2), request_id="r")
    assert cases.replace(history, case.case_id, 1, a_judgment(1), a_judgment(2), request_id="r") == first
    cases.replace(history, case.case_id, 2, a_judgment(3))
    for expected in (1, 2, 3):
        assert cases.replace(history, case.case_id, expected, a_judgment(2), a_judgment(1), request_id="r") == first
    assert list(cases.get(history, case.case_id).judgments) == [a_judgment(3)]


def test_a_request_id_does_not_answer_for_another_set_or_another_case(history: RunningHistory) -> None:
    case, other = cases.pinned(history), cases.pinned(history, "run-2")
    cases.replace(history, case.case_id, 1, a_judgment(1), request_id="r")
    refusal = refused(lambda: cases.replace(history, case.case_id, 2, a_judgment(2), request_id="r"))
    assert (refusal.code, refusal.reason, refusal.metadata["field"]) == (
        grpc.StatusCode.INVALID_ARGUMENT,
        "FIELD_INVALID",
        "request_id",
    )
    assert cases.replace(history, other.case_id, 1, a_judgment(2), request_id="r").judgment_version == 2


def test_a_request_that_was_refused_can_be_sent_again_under_its_id(history: RunningHistory) -> None:
    case = cases.pinned(history)
    assert refused(lambda: cases.replace(history, case.case_id, 7, request_id="r")).code is grpc.StatusCode.ABORTED
    wrong = a_judgment(relevance=4)
    assert refused(lambda: cases.replace(history, case.case_id, 1, wrong, request_id="r")).reason == "FIELD_INVALID"
    assert cases.replace(history, case.case_id, 1, a_judgment(), request_id="r").judgment_version == 2


WRONG: list[tuple[list[pb.EvaluationJudgment], dict[str, Any], str]] = [
    ([a_judgment(relevance=4)], {}, "judgments[0].relevance"),
    ([a_judgment(relevance=-1)], {}, "judgments[0].relevance"),
    ([a_judgment(relevance=None)], {}, "judgments[0].relevance"),
    ([a_judgment(1), a_judgment(2, source=None)], {}, "judgments[1].source"),
    ([a_judgment(source=9)], {}, "judgments[0].source"),
    ([a_judgment(notes="n" * 8_193)], {}, "judgments[0].notes"),
    ([a_judgment(resource_id="")], {}, "judgments[0].resource_id"),
    ([a_judgment(7, unit=False)], {}, "judgments[0].resource_id"),
    ([a_judgment(unit_key="doc-0002#body/1/0")], {}, "judgments[0].unit_key"),
    ([a_judgment(4)], {}, "judgments[0].unit_key"),
    ([a_judgment(unit_key="")], {}, "judgments[0].unit_key"),
    ([a_judgment(1, unit=False, missed=True)], {}, "judgments[0].missed"),
    ([a_judgment(1, missed=True)], {}, "judgments[0].missed"),
    ([a_judgment(1), a_judgment(2), a_judgment(1, relevance=0)], {}, "judgments[2]"),
    ([a_judgment(4, unit=False), a_judgment(4, unit=False, missed=True)], {}, "judgments[1]"),
    ([a_judgment(4, unit=False, resource_id=f"r-{n}") for n in range(5_001)], {}, "judgments"),
    ([a_judgment(4, unit=False, resource_id=f"r-{n}", notes="n" * 8_000) for n in range(200)], {}, "judgments"),
    ([], {"author": ""}, "author"),
    ([], {"author": "a" * 257}, "author"),
    ([], {"request_id": ""}, "request_id"),
    ([], {"request_id": "r" * 129}, "request_id"),
]


@pytest.mark.parametrize(("judgments", "changes", "field"), WRONG)
def test_a_set_that_may_not_stand_is_refused_by_name_after_its_case_and_version_were_found(
    history: RunningHistory, judgments: list[pb.EvaluationJudgment], changes: dict[str, Any], field: str
) -> None:
    case = cases.pinned(history)
    refusal = refused(lambda: cases.replace(history, case.case_id, 1, *judgments, **changes))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "FIELD_INVALID")
    assert refusal.metadata["field"] == field
    assert [version.judgment_version for version in _versions(history, case.case_id)] == [1]
    assert cases.get(history, case.case_id).evaluation_case == case
    assert refused(lambda: cases.replace(history, case.case_id, 2, *judgments, **changes)).reason == (
        "EVALUATION_JUDGMENT_CONFLICT"
    )
    assert refused(lambda: cases.replace(history, "nobody", 1, *judgments, **changes)).reason == "CASE_NOT_FOUND"


def test_a_candidate_whose_resource_is_not_in_the_corpus_cannot_be_judged(history: RunningHistory) -> None:
    cases.record(history, candidates=[a_candidate(1), a_candidate(9)])
    case = cases.create(history)
    refusal = refused(lambda: cases.replace(history, case.case_id, 1, a_judgment(9)))
    assert refusal.metadata["field"] == "judgments[0].resource_id"
    assert cases.replace(history, case.case_id, 1, a_judgment(1)).judgment_version == 2


def test_every_version_stays_readable_with_its_author_and_time(history: RunningHistory) -> None:
    case = cases.pinned(history)
    answers = [
        cases.replace(history, case.case_id, version, a_judgment(version), author=f"author {version}")
        for version in range(1, 4)
    ]
    versions = _versions(history, case.case_id)
    assert [version.judgment_version for version in versions] == [4, 3, 2, 1]
    assert [version.author for version in versions] == ["author 3", "author 2", "author 1", ""]
    assert [list(version.judgments) for version in versions] == [[a_judgment(3)], [a_judgment(2)], [a_judgment(1)], []]
    assert [version.judge_time for version in versions[:3]] == [answer.judge_time for answer in answers[::-1]]
    assert versions[3].judge_time == case.create_time
    assert _versions(history, case.case_id, page_size=3) == versions


def test_versions_that_are_large_come_on_pages_that_fit_into_a_message(history: RunningHistory) -> None:
    bodies = {f"doc-{n:04d}": b"" for n in range(1, 130)}
    case = cases.pinned(history, bodies=bodies, candidates=0)
    judgments = [a_judgment(n, unit=False, notes="n" * 8_000) for n in range(1, 130)]
    for version in range(1, 6):
        cases.replace(history, case.case_id, version, *judgments)
    assert [version.judgment_version for version in _versions(history, case.case_id)] == [6, 5, 4, 3, 2, 1]


def test_the_largest_set_stands(history: RunningHistory) -> None:
    bodies = {f"doc-{n:04d}": b"" for n in range(5_000)}
    case = cases.pinned(history, bodies=bodies, candidates=0)
    judgments = [a_judgment(n, unit=False, notes="n" * 150) for n in range(5_000)]
    assert cases.replace(history, case.case_id, 1, *judgments).judgment_version == 2
    assert list(cases.get(history, case.case_id).judgments) == judgments


def test_a_version_token_is_good_for_its_case_only(history: RunningHistory) -> None:
    case, other = cases.pinned(history), cases.pinned(history, "run-2")
    cases.replace(history, case.case_id, 1)
    stub = history.evaluation
    request = pb.ListJudgmentVersionsRequest(case_id=case.case_id, page_size=1)
    token = stub.ListJudgmentVersions(request, timeout=TIMEOUT).next_page_token
    request = pb.ListJudgmentVersionsRequest(case_id=other.case_id, page_token=token)
    assert refused(lambda: stub.ListJudgmentVersions(request, timeout=TIMEOUT)).reason == "PAGE_TOKEN_INVALID"


def test_of_many_who_saw_one_version_exactly_one_replaces_it(history: RunningHistory) -> None:
    case = cases.pinned(history)
    outcomes: list[str] = []

    def judge(number: int) -> None:
        try:
            cases.replace(history, case.case_id, 1, a_judgment(number % 3 + 1), author=f"author {number}")
            outcomes.append("replaced")
        except grpc.RpcError as error:
            outcomes.append(str(error.code()))  # type: ignore[attr-defined]

    threads = [threading.Thread(target=judge, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["StatusCode.ABORTED"] * 15 + ["replaced"]
    assert cases.get(history, case.case_id).evaluation_case.judgment_version == 2


@pytest.mark.slow
def test_two_processes_that_race_for_a_case_lose_no_update(history: RunningHistory) -> None:
    case = cases.pinned(history)
    judges = [_start_judge(history.service.target, case.case_id, author) for author in ("ada", "grace")]
    made = {author: _replaced(judge) for author, judge in zip(("ada", "grace"), judges, strict=True)}
    versions = _versions(history, case.case_id)[:-1]
    assert [version.judgment_version for version in versions] == list(range(2 * ROUNDS + 1, 1, -1))
    for author, rounds in made.items():
        assert len(rounds) == ROUNDS
        for number, version in enumerate(rounds):
            stored = versions[2 * ROUNDS + 1 - version]
            assert (stored.author, stored.judgments[0].notes) == (author, f"{author} {number}")
    assert sorted(version for rounds in made.values() for version in rounds) == list(range(2, 2 * ROUNDS + 2))


def _start_judge(target: str, case_id: str, author: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.fakes.judge", target, case_id, author, str(ROUNDS)]
    return subprocess.Popen(command, cwd=Path(ROOT), stdout=subprocess.PIPE, text=True)


def _replaced(judge: "subprocess.Popen[str]") -> list[int]:
    output, _ = judge.communicate(timeout=200)
    assert judge.returncode == 0
    return list(json.loads(output))
