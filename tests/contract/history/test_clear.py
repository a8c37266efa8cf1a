"""ClearRetrievalRuns and retention: what may go goes, with the bodies that only it used."""

from pathlib import Path

import grpc
import pytest

from ranktrail.history.v1 import history_service_pb2 as pb
from tests import history_cases as cases
from tests.fakes.history_server import TIMEOUT, RunningHistory, eventually
from tests.history_builders import a_corpus, a_failure, a_run, a_start, revisions
from tests.refusals import refused

SHARED = b"in every memory"


def _clear(history: RunningHistory, project_id: str = "", dry_run: bool = False) -> tuple[int, int, int]:
    request = pb.ClearRetrievalRunsRequest(project_id=project_id, dry_run=dry_run)
    answer = history.history.ClearRetrievalRuns(request, timeout=TIMEOUT)
    return answer.deleted_run_count, answer.deleted_blob_count, answer.deleted_bytes


def _cleared(history: RunningHistory, project_id: str = "") -> tuple[int, int, int]:
    """Clear, and see that the dry run before said the same and changed nothing."""
    before = (history.list(page_size=100), history.runtime().blob_count, _files(history))
    announced = _clear(history, project_id, dry_run=True)
    assert (history.list(page_size=100), history.runtime().blob_count, _files(history)) == before
    assert _clear(history, project_id) == announced
    return announced


def _files(history: RunningHistory) -> set[str]:
    blobs = history.data_dir / "history" / "evaluation-corpora" / "blobs"
    return {path.name for path in blobs.glob("??/*")}


def _listed(history: RunningHistory) -> list[str]:
    return sorted(run.run_id for run in history.list(page_size=100).runs)


def test_clear_takes_what_no_case_pins_and_what_does_not_run_with_the_bodies_that_only_they_used(
    history: RunningHistory,
) -> None:
    cases.pinned(history, "pinned", bodies={"shared": SHARED, "pinned": b"pinned"}, candidates=0)
    cases.record(history, "gone", bodies={"shared": SHARED, "gone": b"gone!"}, candidates=0)
    cases.record(history, "gone-too", bodies={"shared": SHARED, "gone": b"gone!", "empty": b""}, candidates=0)
    history.record(a_run("failed", failure=a_failure()))
    history.record([a_start("interrupted")])
    assert eventually(lambda: history.get("interrupted").run.state == pb.RetrievalRun.STATE_FAILED)
    assert _cleared(history) == (4, 2, 5)
    assert _listed(history) == ["pinned"]
    assert _files(history) == set(a_corpus({"shared": SHARED, "pinned": b"pinned"}).bodies)
    assert history.runtime().blob_count == 2
    assert _cleared(history) == (0, 0, 0)


def test_clear_leaves_a_run_that_is_running(history: RunningHistory) -> None:
    frames = a_run("long", candidates=5)
    answers = history.history.RecordRetrievalRuns(_clearing_between(history, frames), timeout=TIMEOUT)
    assert next(answers).HasField("recorded")
    assert len(history.get("long").candidates) == 5


def _clearing_between(history: RunningHistory, frames: list[pb.RecordRetrievalRunsRequest]):  # type: ignore[no-untyped-def]  # noqa: ANN202
    yield frames[0]
    assert eventually(lambda: _listed(history) == ["long"])
    assert _cleared(history) == (0, 0, 0)
    yield from frames[1:]


def test_clear_of_one_project_leaves_the_others_and_what_they_share(history: RunningHistory) -> None:
    cases.record(history, "mine", bodies={"shared": SHARED, "own": b"own"}, candidates=0, project_id="p")
    cases.record(history, "theirs", bodies={"shared": SHARED}, candidates=0, project_id="q")
    assert _cleared(history, "nobody") == (0, 0, 0)
    assert _cleared(history, "p") == (1, 1, 3)
    assert _listed(history) == ["theirs"]
    assert _cleared(history) == (1, 1, len(SHARED))
    assert _files(history) == set()


def test_what_a_case_pins_can_be_cleared_once_the_case_is_deleted(history: RunningHistory) -> None:
    case = cases.pinned(history)
    assert _cleared(history) == (0, 0, 0)
    cases.delete(history, case.case_id)
    assert _cleared(history) == (1, 6, sum(map(len, cases.BODIES.values())))
    assert _files(history) == set()


def test_a_corpus_that_was_put_and_waits_for_its_run_is_not_cleared(history: RunningHistory) -> None:
    corpus = a_corpus({"new": b"new"})
    history.put(corpus)
    assert _cleared(history) == (0, 0, 0)
    revised = revisions(effective_memory_hash=corpus.hash)
    assert history.record(a_run(revised=revised))["run-1"].HasField("recorded")
    history.put(corpus)
    assert _cleared(history) == (1, 0, 0)
    assert history.record(a_run("run-2", revised=revised))["run-2"].HasField("recorded")
    assert _cleared(history) == (1, 1, 3)


def test_a_run_of_a_cleared_corpus_is_refused_until_the_corpus_is_put_again(history: RunningHistory) -> None:
    cases.record(history)
    _clear(history)
    corpus = a_corpus(cases.BODIES)
    frames = a_run("run-2", revised=revisions(effective_memory_hash=corpus.hash))
    assert history.record(frames)["run-2"].refused.reason == "CORPUS_NOT_FOUND"
    assert len(history.put(corpus)[0]) == 6
    assert history.record(frames)["run-2"].HasField("recorded")


def test_a_cleared_run_is_not_found_and_may_be_recorded_anew(history: RunningHistory) -> None:
    cases.record(history)
    _clear(history)
    assert refused(history.get).reason == "RUN_NOT_FOUND"
    assert refused(lambda: cases.create(history)).reason == "RUN_NOT_FOUND"
    cases.record(history, query="another question")
    assert history.get().run.query == "another question"


def test_a_project_id_that_is_none_is_refused(history: RunningHistory) -> None:
    refusal = refused(lambda: _clear(history, "p" * 513))
    assert (refusal.code, refusal.reason, refusal.metadata) == (
        grpc.StatusCode.INVALID_ARGUMENT,
        "FIELD_INVALID",
        {"field": "project_id", "limit": "512"},
    )


def test_a_case_its_trace_and_its_report_are_the_same_after_a_clear_and_a_restart(tmp_path: Path) -> None:
    history = RunningHistory(tmp_path / "data")
    case = cases.pinned(history)
    cases.replace(history, case.case_id, 1, cases.a_judgment(), cases.a_judgment(5, unit=False, missed=True))
    cases.record(history, "run-2", bodies={"other": b"other"}, candidates=0)
    before = history.get()
    assert before.HasField("report")
    _clear(history)
    assert history.get() == before
    history.close()
    history = RunningHistory(tmp_path / "data")
    assert history.get() == before
    assert _files(history) == set(a_corpus(cases.BODIES).bodies)
    history.close()


@pytest.fixture
def short_history(tmp_path: Path) -> RunningHistory:
    return RunningHistory(tmp_path / "data", "--retain-runs", "3")


def test_each_finished_run_leaves_the_newest_runs_of_its_project_and_their_bodies(
    short_history: RunningHistory,
) -> None:
    history = short_history
    for n in range(6):
        bodies = {"doc": f"body {n}".encode(), "shared": SHARED}
        cases.record(history, f"p-{n}", bodies=bodies, candidates=0, project_id="p")
        if n == 1:
            cases.create(history, "p-1")
    cases.record(history, "q-0", bodies={"doc": b"q"}, candidates=0, project_id="q")
    kept = ["p-1", "p-3", "p-4", "p-5"]
    assert eventually(lambda: _listed(history) == [*kept, "q-0"])
    bodies = a_corpus({name: f"body {name[2:]}".encode() for name in kept} | {"s": SHARED, "q": b"q"}).bodies
    assert eventually(lambda: _files(history) == set(bodies))
    history.close()


def test_a_run_that_is_unpinned_counts_among_the_newest_again(short_history: RunningHistory) -> None:
    history = short_history
    case = cases.pinned(history, "oldest")
    for n in range(3):
        cases.record(history, f"run-{n}")
    cases.delete(history, case.case_id)
    assert _listed(history) == ["run-0", "run-1", "run-2"]
    history.close()


def test_fewer_runs_are_kept_from_the_next_start_on(tmp_path: Path) -> None:
    history = RunningHistory(tmp_path / "data")
    for n in range(5):
        cases.record(history, f"run-{n}")
    history.close()
    history = RunningHistory(tmp_path / "data", "--retain-runs", "2")
    assert eventually(lambda: _listed(history) == ["run-3", "run-4"])
    history.close()
