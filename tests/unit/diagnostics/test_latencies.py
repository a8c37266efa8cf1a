"""Stage latencies over time."""

from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from ranktrail.history.v1.history_service_pb2 import RetrievalRun
from ranktrail.trace.v1.trace_pb2 import StageLatency
from ranktrail_diagnostics.charts.latencies import latency_chart
from ranktrail_diagnostics.latencies import MAX_BUCKETS, LatencyWindow, Percentiles
from tests.history_builders import CREATE_TIME


def a_run(number: int, *, second: int = 0, bm25_us: int = 10, **fields: object) -> RetrievalRun:
    values = {"state": RetrievalRun.STATE_SUCCEEDED, "cold": False} | fields
    stages = [StageLatency(stage="bm25", duration_us=bm25_us), StageLatency(stage="rrf", duration_us=1)]
    time = Timestamp(seconds=CREATE_TIME + second)
    return RetrievalRun(run_id=f"run-{number}", create_time=time, stage_latencies=stages, **values)  # type: ignore[arg-type]


def test_percentiles_are_of_the_nearest_rank() -> None:
    assert Percentiles.of(range(1, 101)) == Percentiles(50, 95, 100)
    assert Percentiles.of([7]) == Percentiles(7, 7, 1)


def test_only_warm_runs_that_succeeded_count_each_once_and_cold_ones_are_told() -> None:
    window = LatencyWindow()
    assert window.add([a_run(1), a_run(2, cold=True), a_run(3, state=RetrievalRun.STATE_FAILED)])
    assert not window.add([a_run(1)])
    timeline = window.timeline()
    assert timeline.stages == {name: Percentiles(us, us, 1) for name, us in (("bm25", 10), ("rrf", 1), ("total", 11))}
    assert timeline.cold_count == 1


@given(st.lists(st.integers(0, 10**8), min_size=1, max_size=60))
def test_buckets_are_few_in_order_and_hold_every_run(seconds: list[int]) -> None:
    window = LatencyWindow()
    window.add(a_run(number, second=second) for number, second in enumerate(seconds))
    buckets = window.timeline().buckets
    assert len(buckets) <= MAX_BUCKETS
    assert [bucket.start for bucket in buckets] == sorted(bucket.start for bucket in buckets)
    assert sum(bucket.stages["total"].count for bucket in buckets) == len(seconds)


def test_the_window_keeps_the_newest() -> None:
    window = LatencyWindow(size=2)
    window.add(a_run(number, second=number, bm25_us=number) for number in range(5))
    assert window.timeline().stages["bm25"] == Percentiles(3, 4, 2)


def test_nothing_is_drawn_of_nothing() -> None:
    assert latency_chart(LatencyWindow().timeline()) is None
