"""RecordRetrievalRuns: each finished Run is answered once, and is on disk whole or not at all."""

import threading
import time
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import grpc
import pytest

from ranktrail.history.v1 import history_service_pb2 as pb
from tests.fakes.history_server import TIMEOUT, RunningHistory, error_of, eventually
from tests.history_builders import a_candidate, a_corpus, a_failure, a_run, a_start, revisions

RECORD = "/ranktrail.history.v1.HistoryService/RecordRetrievalRuns"
RUNNING, SUCCEEDED, FAILED = (
    pb.RetrievalRun.STATE_RUNNING,
    pb.RetrievalRun.STATE_SUCCEEDED,
    pb.RetrievalRun.STATE_FAILED,
)


class OpenStream:
    """A recording stream that stays open; frames are sent when they are given."""

    def __init__(self, history: RunningHistory) -> None:
        self._frames: SimpleQueue[pb.RecordRetrievalRunsRequest | None] = SimpleQueue()
        self.call = history.history.RecordRetrievalRuns(iter(self._frames.get, None), timeout=TIMEOUT)

    def send(self, *frames: pb.RecordRetrievalRunsRequest) -> None:
        for frame in frames:
            self._frames.put(frame)

    def answer(self) -> pb.RecordRetrievalRunsResponse:
        return next(self.call)

    def end(self) -> list[pb.RecordRetrievalRunsResponse]:
        self._frames.put(None)
        return list(self.call)


def _states(history: RunningHistory) -> dict[str, int]:
    return {run.run_id: run.state for run in history.list(page_size=100).runs}


def test_a_recorded_run_comes_back_field_by_field(history: RunningHistory) -> None:
    rows = [a_candidate(1), a_candidate(2, bm25_rank=None, bm25_score=None), a_candidate(3, title="")]
    answers = history.record(a_run(candidates=rows))
    assert answers["run-1"].recorded == pb.Recorded(already_recorded=False)
    whole = history.get()
    assert list(whole.candidates) == rows
    run = whole.run
    started, finished = a_run(candidates=rows)[0].started, a_run(candidates=rows)[-1].finished
    for message, names in [
        (
            started,
            ("project_id", "query", "purpose", "activation_state_fingerprint", "ranker_instance_id", "create_time"),
        ),
        (finished, ("state", "complete_time", "cold", "query_token_count", "query_tokens_encoded", "candidate_count")),
        (finished, ("returned_fragment_count", "returned_token_count")),
        (revisions(), ("effective_memory_hash", "index_revision", "parser_revision", "chunker_revision")),
        (revisions(), ("lexical_revision", "model_revision", "vector_index_revision", "reranker_revision")),
        (revisions(), ("ranking_profile", "resource_count", "unit_count")),
    ]:
        for name in names:
            assert getattr(run, name) == getattr(message, name), name
    assert list(run.stage_latencies) == list(finished.stage_latencies)
    assert not run.HasField("failure")
    assert not run.HasField("evaluation_case_id")


def test_a_failed_run_keeps_the_candidates_it_had_and_its_unknown_fields_are_absent(history: RunningHistory) -> None:
    frames = a_run(failure=a_failure(), finished={"query_token_count": None, "query_tokens_encoded": None})
    history.record([frames[0], *frames[2:]])
    whole = history.get()
    assert whole.run.state == FAILED
    assert whole.run.failure == a_failure()
    assert len(whole.candidates) == 3
    absent = ("effective_memory_hash", "index_revision", "resource_count", "unit_count", "query_token_count")
    for name in (*absent, "returned_fragment_count", "ranking_profile"):
        assert not whole.run.HasField(name), name


def test_a_started_run_is_listed_as_running_at_once(history: RunningHistory) -> None:
    stream = OpenStream(history)
    stream.send(a_start())
    assert eventually(lambda: _states(history) == {"run-1": RUNNING})
    run = history.get().run
    for name in ("cold", "complete_time", "candidate_count", "returned_fragment_count", "failure"):
        assert not run.HasField(name), name
    assert history.runtime().running_run_count == 1
    assert history.runtime().recorder_count == 1
    stream.send(*a_run()[1:])
    assert stream.answer().HasField("recorded")
    assert stream.end() == []
    assert _states(history) == {"run-1": SUCCEEDED}


def test_frames_of_many_runs_may_be_mixed(history: RunningHistory) -> None:
    runs = [a_run(f"run-{n}", candidates=n) for n in range(5)]
    longest = max(map(len, runs))
    mixed = [run[at] for at in range(longest) for run in runs if at < len(run)]
    answers = history.record(mixed)
    assert {run_id for run_id, answer in answers.items() if answer.HasField("recorded")} == {
        f"run-{n}" for n in range(5)
    }
    assert [len(history.get(f"run-{n}").candidates) for n in range(5)] == [0, 1, 2, 3, 4]


def test_the_same_trace_again_is_already_recorded_and_another_is_a_conflict(history: RunningHistory) -> None:
    history.record(a_run())
    again = history.record(a_run(frame_size=1))
    assert again["run-1"].recorded.already_recorded
    before = history.get()
    refused = history.record(a_run(candidates=2))["run-1"].refused
    assert (refused.reason, dict(refused.metadata)) == ("RUN_CONFLICT", {"run_id": "run-1"})
    assert history.get() == before
    assert history.runtime().run_count == 1


def test_two_streams_with_the_same_run_store_it_once(history: RunningHistory) -> None:
    answers: list[Any] = []
    threads = [threading.Thread(target=lambda: answers.append(history.record(a_run(candidates=50)))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer["run-1"].recorded.already_recorded for answer in answers) == [False, *[True] * 5]
    assert len(history.get().candidates) == 50


def test_starting_a_known_run_again_keeps_its_candidates_and_its_sequence(history: RunningHistory) -> None:
    history.record(a_run())
    before = history.get()
    history.record([a_start()])
    time.sleep(0.5)
    assert history.get() == before


def test_a_run_whose_corpus_is_not_stored_is_refused_until_it_is(history: RunningHistory) -> None:
    corpus = a_corpus({"guide": b"# Guide"})
    frames = a_run(revised=revisions(effective_memory_hash=corpus.hash))
    refused = history.record(frames)["run-1"].refused
    assert (refused.reason, dict(refused.metadata)) == ("CORPUS_NOT_FOUND", {"effective_memory_hash": corpus.hash})
    history.put(corpus)
    assert history.record(frames)["run-1"].HasField("recorded")


def test_a_refused_run_never_ends_the_stream_and_is_never_left_running(history: RunningHistory) -> None:
    wrong = a_run("run-2", finished={"candidates_digest": "0" * 64})
    answers = history.record([*a_run("run-1"), *wrong, *a_run("run-3")])
    assert answers["run-2"].refused.reason == "FIELD_INVALID"
    assert answers["run-2"].refused.metadata["field"] == "finished.candidates_digest"
    assert all(answers[run_id].HasField("recorded") for run_id in ("run-1", "run-3"))
    assert eventually(lambda: _states(history)["run-2"] == FAILED)
    assert history.get("run-2").run.failure.code == "retrieval_interrupted"
    assert not history.get("run-2").candidates


@pytest.mark.parametrize(
    ("started", "field"),
    [
        ({"project_id": ""}, "started.project_id"),
        ({"project_id": "p" * 513}, "started.project_id"),
        ({"query": "q" * 8_193}, "started.query"),
        ({"activation_state_fingerprint": "18446744073709551615"}, "started.activation_state_fingerprint"),
        ({"ranker_instance_id": ""}, "started.ranker_instance_id"),
        ({"create_time": None}, "started.create_time"),
        ({"purpose": ""}, "started.purpose"),
    ],
)
def test_a_run_that_begins_wrong_is_answered_once_at_its_end_and_leaves_nothing(
    history: RunningHistory, started: dict[str, Any], field: str
) -> None:
    answers = list(history.history.RecordRetrievalRuns(iter(a_run(**started)), timeout=TIMEOUT))
    assert [answer.refused.metadata["field"] for answer in answers] == [field]
    assert history.runtime().run_count == 0


@pytest.mark.parametrize("run_id", ["", "a/b", "../x", "r" * 129, "run 1", "run\n"])
def test_a_run_id_that_is_none_is_refused(history: RunningHistory, run_id: str) -> None:
    (answer,) = history.history.RecordRetrievalRuns(iter(a_run(run_id)), timeout=TIMEOUT)
    assert answer.refused.metadata["field"] == "run_id"
    assert history.runtime().run_count == 0


def test_text_with_a_nul_comes_back_byte_for_byte(history: RunningHistory) -> None:
    rows = [a_candidate(1, title="a\0b", heading_path=["x\0", "é"], excerpt="\0")]
    history.record(a_run(query="ab\0cd", candidates=rows))
    whole = history.get()
    assert whole.run.query == "ab\0cd"
    assert list(whole.candidates) == rows


def _with_surrogate(frame: pb.RecordRetrievalRunsRequest, text: str) -> bytes:
    """Replace text in a frame by the bytes of a lone surrogate, which are not UTF-8, and as many as the text has."""
    raw = frame.SerializeToString()
    assert raw.count(text.encode()) == 1
    return raw.replace(text.encode(), b"\xed\xa0\xbd")


@pytest.mark.parametrize("part", ["started", "candidates", "finished"])
def test_a_lone_surrogate_refuses_its_run_and_names_its_field_and_the_stream_goes_on(
    history: RunningHistory, part: str
) -> None:
    changed = {
        "started": (0, "started.query"),
        "candidates": (2, "candidates.candidates[1].title"),
        "finished": (3, "finished.failure.summary"),
    }
    rows = [a_candidate(1), a_candidate(2, title="%%%")]
    frames = a_run(query="%%%", candidates=rows, failure=a_failure(summary="%%%"))
    position, field = changed[part]
    raws = [frame.SerializeToString() for frame in frames]
    raws[position] = _with_surrogate(frames[position], "%%%")
    raws += [frame.SerializeToString() for frame in a_run("run-2")]
    call = history.channel.stream_stream(RECORD, response_deserializer=pb.RecordRetrievalRunsResponse.FromString)
    answers = {answer.run_id: answer for answer in call(iter(raws), timeout=TIMEOUT)}
    assert answers["run-1"].refused.reason == "FIELD_INVALID"
    assert answers["run-1"].refused.metadata["field"] == field
    assert answers["run-2"].HasField("recorded")
    assert eventually(lambda: RUNNING not in _states(history).values())


def test_a_frame_without_a_readable_run_ends_the_stream_and_names_the_field(history: RunningHistory) -> None:
    call = history.channel.stream_stream(RECORD)
    with pytest.raises(grpc.RpcError) as error:
        list(call(iter([b"\x0a\x03\xed\xa0\xbd"]), timeout=TIMEOUT))
    assert error_of(error.value) == (grpc.StatusCode.INVALID_ARGUMENT, "FIELD_INVALID", {"field": "run_id"})


def test_one_unanswered_run_too_many_ends_the_stream(history: RunningHistory) -> None:
    with pytest.raises(grpc.RpcError) as error:
        history.record([a_start(f"run-{n}") for n in range(33)])
    code, reason, metadata = error_of(error.value)
    assert (code, reason, metadata["limit"]) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED", "32")
    assert history.record([frame for n in range(32) for frame in a_run(f"run-{n}")]).keys() == {
        f"run-{n}" for n in range(32)
    }


def test_a_sender_that_reads_no_answers_is_held_to_the_limit(history: RunningHistory) -> None:
    sent: list[int] = []

    def frames() -> Iterator[pb.RecordRetrievalRunsRequest]:
        for n in range(20_000):
            sent.append(n)
            yield from a_run(f"run-{n}", candidates=0)

    call = history.history.RecordRetrievalRuns(frames(), timeout=TIMEOUT)
    assert eventually(lambda: not call.is_active() or len(sent) == 20_000, seconds=TIMEOUT)
    with pytest.raises(grpc.RpcError) as error:
        list(call)
    assert error_of(error.value)[1] == "OVERLOADED"


def test_a_stream_that_ends_early_leaves_a_failed_run_after_the_grace_and_the_whole_trace_heals_it(
    history: RunningHistory,
) -> None:
    frames = a_run()
    assert history.record(frames[:-1]) == {}
    assert list(_states(history)) == ["run-1"]
    assert eventually(lambda: _states(history) == {"run-1": FAILED})
    interrupted = history.get()
    assert (interrupted.run.failure.stage, interrupted.run.failure.code) == ("retrieval", "retrieval_interrupted")
    assert not interrupted.candidates
    assert history.record(frames[:-1]) == {}
    time.sleep(0.5)
    assert history.get() == interrupted
    assert history.record(frames)["run-1"].recorded == pb.Recorded()
    healed = history.get()
    assert healed.run.state == SUCCEEDED
    assert len(healed.candidates) == 3
    assert healed.run.sequence == interrupted.run.sequence
    assert healed.run.change_sequence > interrupted.run.change_sequence
    assert not healed.run.HasField("failure")


def test_only_the_trace_of_the_same_run_heals_it(history: RunningHistory) -> None:
    history.record(a_run()[:-1])
    assert eventually(lambda: _states(history) == {"run-1": FAILED})
    assert history.record(a_run(query="another"))["run-1"].refused.reason == "RUN_CONFLICT"
    assert history.get().run.failure.code == "retrieval_interrupted"


def test_a_run_that_another_stream_took_over_is_not_failed(history: RunningHistory) -> None:
    history.record([a_start()])
    stream = OpenStream(history)
    stream.send(a_start())
    time.sleep(0.6)
    assert _states(history) == {"run-1": RUNNING}
    stream.send(*a_run()[1:])
    assert stream.answer().HasField("recorded")
    stream.end()


def test_a_sender_that_breaks_off_never_leaves_a_succeeded_run(history: RunningHistory) -> None:
    """The server may see a clean end of the stream then: only the last frame's counts and digest say it is whole."""

    def broken(run_id: str) -> Iterator[pb.RecordRetrievalRunsRequest]:
        yield from a_run(run_id, candidates=6, frame_size=2)[:-1]
        raise RuntimeError("the sender broke")

    for n in range(60):
        call = history.history.RecordRetrievalRuns(broken(f"run-{n}"), timeout=TIMEOUT)
        if n % 3 == 0:
            call.cancel()
        with pytest.raises(grpc.RpcError):
            list(call)
    assert eventually(lambda: set(_states(history).values()) <= {FAILED})
    assert all(not history.get(run_id).candidates for run_id in _states(history))


def test_a_sender_that_did_not_wait_for_the_answer_gets_it_when_it_asks_again(history: RunningHistory) -> None:
    frames = a_run(candidates=200)
    for _ in range(5):
        call = history.history.RecordRetrievalRuns(iter(frames), timeout=TIMEOUT)
        call.cancel()
    assert history.record(frames)["run-1"].HasField("recorded")
    assert history.record(frames)["run-1"].recorded.already_recorded
    assert history.runtime().run_count == 1
    assert len(history.get().candidates) == 200
