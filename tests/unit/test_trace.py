"""Traces: bounded summaries, and latencies in the order of the stages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranker_service.domain.limits import STATUS_MESSAGE_BYTES
from ranker_service.domain.trace import MAX_SUMMARY_BYTES, Failure, RunTrace, Stage, StageLatency


def _summary(text: str) -> str:
    return Failure(Stage.RERANK, "code", text).summary


def test_the_summary_has_the_limit_of_every_error_text() -> None:
    assert MAX_SUMMARY_BYTES == STATUS_MESSAGE_BYTES


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a" * 1_024, "a" * 1_024),
        ("a" * 12_000, "a" * 1_024),
        ("東" * 1_500, "東" * 341),
        ("a" * 1_022 + "東", "a" * 1_022),
        ("a" * 1_021 + "東", "a" * 1_021 + "東"),
        ("😀" * 300, "😀" * 256),
        ("before \ud83d after", "before ? after"),
    ],
)
def test_a_summary_is_cut_at_1024_bytes_on_a_character_boundary(text: str, expected: str) -> None:
    assert _summary(text) == expected


@given(st.text(max_size=2_000))
def test_any_summary_is_utf8_and_bounded(text: str) -> None:
    assert len(_summary(text).encode("utf-8")) <= MAX_SUMMARY_BYTES


def test_latencies_stand_in_the_order_of_the_stages_each_stage_once() -> None:
    trace = RunTrace("run", "project", "query", "activation", "", "instance", 0)
    for stage, duration_us in [(Stage.RECORDING, 5), (Stage.EXACT, 2), (Stage.BM25, 3), (Stage.RECORDING, 7)]:
        trace.add_latency(stage, duration_us)
    assert trace.stage_latencies == [
        StageLatency(Stage.EXACT, 2),
        StageLatency(Stage.BM25, 3),
        StageLatency(Stage.RECORDING, 12),
    ]
