"""A Run is whole, or it is not recorded."""

from typing import Any

import pytest

from history_service.domain.errors import FieldInvalid
from history_service.domain.run import RunTrace
from history_service.rpc.candidates import candidate_rows
from history_service.rpc.convert import revisions, run_end, run_start
from history_service.use_cases.assemble_run import RunAssembly
from ranktrail.history.v1 import history_service_pb2 as pb
from tests.history_builders import a_candidate, a_failure, a_run
from tests.history_builders import revisions as a_revision


def _assembled(frames: list[pb.RecordRetrievalRunsRequest]) -> RunTrace:
    assembly = RunAssembly("run-1")
    for frame in frames:
        part = frame.WhichOneof("frame")
        if part == "started":
            assembly.start(run_start(frame.run_id, frame.started))
        elif part == "revisions":
            assembly.revise(revisions(frame.revisions))
        elif part == "candidates":
            assembly.add(candidate_rows(frame.candidates), frame.candidates.SerializeToString(deterministic=True))
        else:
            return assembly.finish(run_end(frame.finished))
    raise AssertionError("no last frame")


def _refused(frames: list[pb.RecordRetrievalRunsRequest]) -> str:
    with pytest.raises(FieldInvalid) as error:
        _assembled(frames)
    return error.value.field


def test_the_same_trace_has_the_same_digest_however_it_was_framed() -> None:
    assert _assembled(a_run(candidates=7)).digest == _assembled(a_run(candidates=7, frame_size=2)).digest


@pytest.mark.parametrize(
    "changes",
    [
        {"query": "another"},
        {"project_id": "another"},
        {"candidates": 4},
        {"candidates": [a_candidate(1), a_candidate(2), a_candidate(3, bm25_score=0.5)]},
        {"finished": {"cold": True}},
        {"finished": {"query_token_count": None}},
        {"failure": a_failure()},
        {"revised": a_revision(model_revision="another")},
        {"revised": a_revision(unit_count=1)},
    ],
)
def test_any_difference_is_another_trace(changes: dict[str, Any]) -> None:
    assert _assembled(a_run()).digest != _assembled(a_run(**changes)).digest


def test_missing_repeated_and_reordered_candidate_frames_are_found() -> None:
    frames = a_run(candidates=6, frame_size=2)
    assert _refused(frames[:2] + frames[3:]) == "finished.candidate_count"
    assert _refused([*frames[:3], *frames[2:]]) == "finished.candidate_count"
    swapped = [*frames[:2], frames[3], frames[2], *frames[4:]]
    assert _refused(swapped) == "finished.candidates_digest"
    assert _refused([*frames[:2], *a_run(candidates=[a_candidate(7, token_count=1)] * 6)[2:3], frames[-1]]) == (
        "finished.candidates_digest"
    )


def test_frames_out_of_turn_are_refused() -> None:
    frames = a_run()
    assert _refused(frames[1:]) == "revisions"
    assert _refused(frames[2:]) == "candidates"
    assert _refused(frames[-1:]) == "finished"
    assert _refused([frames[0], frames[0]]) == "started"
    assert _refused([frames[0], frames[1], frames[1]]) == "revisions"


def test_a_unit_stands_once_in_a_run() -> None:
    assert _refused(a_run(candidates=[a_candidate(1), a_candidate(1)])) == "candidates.unit_key"


def test_a_succeeded_run_has_an_effective_memory_and_a_failed_one_may_lack_it() -> None:
    frames = a_run()
    assert _refused([frames[0], *frames[2:]]) == "revisions.effective_memory_hash"
    failed = a_run(failure=a_failure())
    assert _assembled([failed[0], *failed[2:]]).revisions.effective_memory_hash is None


def test_a_run_has_at_most_500_candidates() -> None:
    assert len(_assembled(a_run(candidates=500)).candidates) == 500
    assert _refused(a_run(candidates=501)) == "candidates"


def test_a_run_is_small_enough_to_be_read_in_one_message() -> None:
    big = [a_candidate(n, excerpt="😀" * 1_200, unit_key=f"{n:04}" + "k" * 2_044) for n in range(1, 501)]
    assert _refused(a_run(candidates=big, frame_size=100)) == "candidates"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"state": pb.RetrievalRun.STATE_UNSPECIFIED}, "finished.state"),
        ({"state": pb.RetrievalRun.STATE_RUNNING}, "finished.state"),
        ({"failure": a_failure()}, "finished.failure"),
        ({"complete_time": None}, "finished.complete_time"),
        ({"returned_fragment_count": None}, "finished.returned_fragment_count"),
        ({"returned_token_count": None}, "finished.returned_token_count"),
        ({"returned_token_count": -1}, "finished.returned_token_count"),
        ({"candidates_digest": "x"}, "finished.candidates_digest"),
    ],
)
def test_an_end_that_contradicts_itself_is_refused(changes: dict[str, Any], field: str) -> None:
    assert _refused(a_run(finished=changes)) == field


def test_a_failure_needs_stage_and_code_and_a_bounded_summary() -> None:
    assert _refused(a_run(failure=a_failure(stage=""))) == "finished.failure.stage"
    assert _refused(a_run(failure=a_failure(code=""))) == "finished.failure.code"
    assert _refused(a_run(failure=a_failure(summary="票" * 342))) == "finished.failure.summary"
