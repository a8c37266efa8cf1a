"""A caller that stalls holds its place for a limited time."""

from queue import SimpleQueue
from typing import Any

import grpc
import pytest

from history_service import bootstrap
from history_service.rpc import evaluation_servicer, history_servicer
from ranktrail_serving import ceilings, limits
from tests.fakes.history_server import RunningHistory, error_of, eventually
from tests.history_builders import a_corpus


def test_an_upload_that_stalls_gives_its_place_to_the_next(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CEILING_SECONDS", 0.3)
    monkeypatch.setattr(ceilings.CeilingWatch.__init__, "__defaults__", (0.05,))
    history = RunningHistory(tmp_path / "data")
    stalled = []
    for number in range(bootstrap.STREAM_LIMITS[history_servicer.PUT_CORPUS_METHOD]):
        frames: SimpleQueue[Any] = SimpleQueue()
        for frame in a_corpus({"a": f"body {number}".encode()}).manifest_frames():
            frames.put(frame)
        stalled.append((frames, history.history.PutCorpus(iter(frames.get, None))))
    for _, call in stalled:
        next(call)
    with pytest.raises(grpc.RpcError) as error:
        next(history.history.PutCorpus(iter([]), timeout=5))
    assert error_of(error.value)[1] == "OVERLOADED"
    for _, call in stalled:
        with pytest.raises(grpc.RpcError) as error:
            next(call)
        assert error.value.code() is grpc.StatusCode.CANCELLED
    assert eventually(lambda: history.history.PutCorpus(iter([]), timeout=5).code() is grpc.StatusCode.OK)
    assert history.put(a_corpus({"a": b"another"}))[0]
    for frames, _ in stalled:
        frames.put(None)
    history.close()


def test_only_recorders_and_watchers_may_stay_for_good() -> None:
    endless = {method for method, seconds in bootstrap.STREAM_CEILINGS.items() if seconds == float("inf")}
    assert endless == {history_servicer.RECORD_METHOD, history_servicer.WATCH_METHOD}
    assert evaluation_servicer.EXPORT_METHOD not in bootstrap.STREAM_CEILINGS
