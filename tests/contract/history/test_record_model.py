"""Any sequence of frames leaves what a simple model says, and nothing else."""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from ranktrail.history.v1 import history_service_pb2 as pb
from tests.fakes.history_server import RunningHistory
from tests.history_builders import a_candidate, a_failure, a_run

VARIANTS = {
    "three": a_run("x", candidates=3, frame_size=1),
    "none": a_run("x", candidates=0),
    "failed": a_run("x", candidates=2, failure=a_failure()),
    "other query": a_run("x", candidates=3, query="another"),
    "lies": a_run("x", candidates=3, finished={"candidate_count": 2}),
    "twice": a_run("x", candidates=[a_candidate(1), a_candidate(1)]),
}
FRAMES = st.tuples(st.integers(0, 3), st.sampled_from(sorted(VARIANTS)), st.sampled_from(["whole", "cut", "no start"]))


def _frames(run_id: str, variant: str, how: str) -> list[pb.RecordRetrievalRunsRequest]:
    frames = [pb.RecordRetrievalRunsRequest() for _ in VARIANTS[variant]]
    for copy, frame in zip(frames, VARIANTS[variant], strict=True):
        copy.CopyFrom(frame)
        copy.run_id = run_id
    return {"whole": frames, "cut": frames[:-1], "no start": frames[1:]}[how]


@dataclass
class Model:
    """What history should hold: for each id the query it began with, and the variant that was recorded."""

    queries: dict[str, str] = field(default_factory=dict)
    recorded: dict[str, str] = field(default_factory=dict)

    def send(self, run_id: str, variant: str, how: str) -> str | None:
        """Return the answer: recorded, again, a reason, or None for no answer."""
        query = VARIANTS[variant][0].started.query
        if how == "no start":
            return "FIELD_INVALID"
        self.queries.setdefault(run_id, query)
        if how == "cut":
            return None
        if variant in ("lies", "twice"):
            return "FIELD_INVALID"
        if self.recorded.get(run_id) == variant:
            return "again"
        if run_id in self.recorded or self.queries[run_id] != query:
            return "RUN_CONFLICT"
        self.recorded[run_id] = variant
        return "recorded"


def _word(answer: pb.RecordRetrievalRunsResponse | None) -> str | None:
    if answer is None:
        return None
    if answer.HasField("refused"):
        return answer.refused.reason
    return "again" if answer.recorded.already_recorded else "recorded"


@settings(max_examples=40, deadline=None)
@given(st.lists(FRAMES, max_size=8))
def test_history_holds_what_the_model_holds(steps: list[tuple[int, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        history, model = RunningHistory(Path(directory) / "data"), Model()
        try:
            for number, variant, how in steps:
                run_id = f"run-{number}"
                answer = history.record(_frames(run_id, variant, how)).get(run_id)
                assert _word(answer) == model.send(run_id, variant, how)
            _compare(history, model)
        finally:
            history.close()


def _compare(history: RunningHistory, model: Model) -> None:
    assert {run.run_id: run.query for run in history.list().runs} == model.queries
    for run_id in model.queries:
        whole = history.get(run_id)
        if run_id not in model.recorded:
            assert whole.run.state == pb.RetrievalRun.STATE_RUNNING
            assert not whole.candidates
            continue
        frames = VARIANTS[model.recorded[run_id]]
        assert whole.run.state == frames[-1].finished.state
        assert list(whole.candidates) == [row for frame in frames for row in frame.candidates.candidates]
