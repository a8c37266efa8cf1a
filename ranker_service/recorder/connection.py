"""The channel to history."""

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import grpc
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from ranktrail.history.v1 import history_service_pb2 as pb

_LOG = logging.getLogger(__name__)
_SERVICE = "/ranktrail.history.v1.HistoryService"
# Keep-alive pings stay off: a default server closes a connection that pings an idle stream more than once in 300 s.
_OPTIONS = [
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 3_000),  # how long a listener that never speaks is given
    ("grpc.max_reconnect_backoff_ms", 5_000),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_retries", 0),
]
_POLL_SECONDS = 0.2
CLOSE_SECONDS = 1.0


class ForeignProcess(RuntimeError):
    """A process uses what another one opened: after a fork, threads and channels are not there."""


@dataclass(frozen=True, slots=True)
class HistoryTarget:
    """Where history is: unix:PATH or HOST:PORT; credentials for TLS; what says the bearer token that TCP needs now."""

    address: str
    credentials: grpc.ChannelCredentials | None = None
    token: Callable[[], str | None] = lambda: None


@dataclass(frozen=True, slots=True)
class CallEnd:
    """How a call ended: its status, the ErrorInfo reason where there is one, and a sentence."""

    code: grpc.StatusCode
    reason: str
    text: str


class Connection:
    """A channel, made and used by one process; a use by another raises ForeignProcess."""

    def __init__(self, target: HistoryTarget) -> None:
        self._process = os.getpid()
        self._token = target.token
        if target.credentials is None:
            self._channel = grpc.insecure_channel(target.address, options=_OPTIONS)
        else:
            self._channel = grpc.secure_channel(target.address, target.credentials, options=_OPTIONS)
        # Frames are serialized already: the identity passes their bytes on.
        self._record: Any = self._channel.stream_stream(
            f"{_SERVICE}/RecordRetrievalRuns", None, pb.RecordRetrievalRunsResponse.FromString
        )
        self._put: Any = self._channel.stream_stream(f"{_SERVICE}/PutCorpus", None, pb.PutCorpusResponse.FromString)
        health: Any = health_pb2_grpc.HealthStub(self._channel)
        self._check = health.Check.future

    def wait_ready(self, stopping: threading.Event, seconds: float) -> bool:
        """Connect, and say whether history answers within so long; give up early when `stopping` is set.

        History's health is asked, since a connection alone does not say that anybody is behind it.
        """
        self.check_process()
        asked = self._check(health_pb2.HealthCheckRequest(), timeout=seconds, wait_for_ready=True)
        while not asked.done():  # its callbacks are not called as long as a frozen peer takes no bytes
            with suppress(grpc.FutureTimeoutError, grpc.FutureCancelledError):
                asked.exception(_POLL_SECONDS)
            if stopping.is_set():
                asked.cancel()
        if asked.code() is grpc.StatusCode.UNIMPLEMENTED:
            return True  # it answers, and serves no health
        if asked.code() is grpc.StatusCode.OK and asked.result().status == health_pb2.HealthCheckResponse.SERVING:
            return True
        stopping.wait(_POLL_SECONDS)
        return False

    def record_runs(self, requests: Iterator[bytes]) -> Any:
        """Open a RecordRetrievalRuns stream of serialized requests."""
        self.check_process()
        return self._record(requests, metadata=self._metadata())

    def put_corpora(self, requests: Iterator[bytes]) -> Any:
        """Open a PutCorpus stream of serialized requests."""
        self.check_process()
        return self._put(requests, metadata=self._metadata())

    def _metadata(self) -> tuple[tuple[str, str], ...]:
        token = self._token()
        return () if token is None else (("authorization", f"Bearer {token}"),)

    def check_process(self) -> None:
        """Raise ForeignProcess in a process that did not make the channel."""
        if os.getpid() != self._process:
            raise ForeignProcess("this channel was made by another process: make it after the fork")

    def close(self) -> None:
        """End every call and close.

        gRPC waits here until what it had begun to write to the socket is gone. A frozen peer never takes it, so the
        wait is left to a thread that ends with the process.
        """
        closing = threading.Thread(target=self._channel.close, name="recorder-closing", daemon=True)
        closing.start()
        closing.join(CLOSE_SECONDS)


def follow(call: Any, take: Callable[[Any], None], gone: Callable[[], bool], stopping: threading.Event) -> CallEnd:
    """Hand each answer of a call to `take` until the call ends, or `gone` says that the peer does not answer any more.

    Answers are read on a thread of their own, so that a silent peer holds nothing up. A call that is still open when
    `stopping` is set is cancelled.
    """
    ends: list[CallEnd] = []
    reader = threading.Thread(target=lambda: ends.append(_read(call, take)), name="recorder-answers", daemon=True)
    reader.start()
    silent = False
    while reader.is_alive():
        reader.join(_POLL_SECONDS)
        silent = silent or (reader.is_alive() and gone())
        if silent or stopping.is_set():
            call.cancel()
    if silent:
        return CallEnd(grpc.StatusCode.DEADLINE_EXCEEDED, "", "history is connected and does not answer")
    return ends[0]


def _read(call: Any, take: Callable[[Any], None]) -> CallEnd:
    try:
        for answer in call:
            take(answer)
    except grpc.RpcError as error:
        return _call_end(error)
    except Exception:
        _LOG.exception("an answer of history could not be taken")
        call.cancel()
        return CallEnd(grpc.StatusCode.INTERNAL, "", "an answer of history could not be taken")
    return CallEnd(grpc.StatusCode.OK, "", "history ended the stream")


def _call_end(error: Any) -> CallEnd:
    reason = ""
    with suppress(ValueError):
        status = rpc_status.from_call(error)
        for detail in status.details if status is not None else ():
            info = error_details_pb2.ErrorInfo()
            if detail.Unpack(info):
                reason = info.reason
    return CallEnd(error.code(), reason, f"history answers {error.code().name}: {error.details()}")
