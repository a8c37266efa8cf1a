"""Every documented error reason is seen on a wire, and every one that is sent is documented."""

import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import grpc
import pytest

import history_service.rpc.reasons
import ranker_service.rpc.reasons
from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail_serving.reasons import SERVING_ROWS
from ranktrail_serving.status import ErrorRow
from tests.fakes.history_server import TIMEOUT, RunningHistory
from tests.history_builders import a_run, revisions
from tests.refusals import Refusal, refused
from tests.rpc_cases.documented import documented_reasons
from tests.rpc_cases.registry import CASES, KEPT_OPEN

UNSENT = {"NOT_ALLOWED"}
"""A token opens everything so far, so no gRPC call can ask for more than its token allows."""
TABLES: list[Any] = [SERVING_ROWS, history_service.rpc.reasons.OWN_ROWS, ranker_service.rpc.reasons.OWN_ROWS]


def _token(tmp_path: Path, metadata: Callable[[str], tuple[tuple[str, str], ...]]) -> Refusal:
    with closing(RunningHistory(tmp_path, "--address", "127.0.0.1:0")) as history:
        shown = metadata((tmp_path / "run" / "token").read_text().strip())
        return refused(lambda: history.history.GetRuntime(pb.GetRuntimeRequest(), timeout=TIMEOUT, metadata=shown))


def _token_missing(tmp_path: Path) -> Refusal:
    return _token(tmp_path, lambda _token: ())


def _token_invalid(tmp_path: Path) -> Refusal:
    return _token(tmp_path, lambda token: (("authorization", f"Bearer {hashlib.sha256(token.encode()).hexdigest()}"),))


def _internal(tmp_path: Path) -> Refusal:
    with closing(RunningHistory(tmp_path)) as history:
        with closing(sqlite3.connect(tmp_path / "history" / "local.db")) as database:
            database.execute("ALTER TABLE retrieval_runs RENAME TO elsewhere")
        return refused(lambda: history.get("run-1"))


def _not_implemented(tmp_path: Path) -> Refusal:
    with closing(RunningHistory(tmp_path)) as history:
        call: Any = history.channel.unary_unary("/ranktrail.history.v1.HistoryService/OfTomorrow")
        return refused(lambda: call(b"", timeout=TIMEOUT))


ANYWHERE: dict[str, Callable[[Path], Refusal]] = {
    "TOKEN_MISSING": _token_missing,
    "TOKEN_INVALID": _token_invalid,
    "INTERNAL": _internal,
    "NOT_IMPLEMENTED": _not_implemented,
}
OUTCOMES: dict[str, list[pb.RecordRetrievalRunsRequest]] = {
    "RUN_CONFLICT": [*a_run(), *a_run(query="another")],
    "CORPUS_NOT_FOUND": a_run(revised=revisions(effective_memory_hash="0" * 64, resource_count=1)),
    "FIELD_INVALID": a_run(finished={"candidate_count": 9}),
}
"""Reasons within RecordRetrievalRuns, which answers for one Run and goes on."""


@pytest.mark.parametrize("reason", ANYWHERE)
def test_a_reason_that_any_method_may_have_is_sent_as_documented(tmp_path: Path, reason: str) -> None:
    refusal = ANYWHERE[reason](tmp_path)
    documented = documented_reasons()[reason]
    assert refusal.reason == reason
    assert documented.codes == {refusal.code.name}
    assert set(refusal.metadata) == documented.always


@pytest.mark.parametrize("reason", OUTCOMES)
def test_a_run_that_is_not_recorded_is_answered_with_a_documented_reason(tmp_path: Path, reason: str) -> None:
    with closing(RunningHistory(tmp_path)) as history:
        answers = list(history.history.RecordRetrievalRuns(iter(OUTCOMES[reason]), timeout=TIMEOUT))
    refusals = [answer.refused for answer in answers if answer.HasField("refused")]
    documented = documented_reasons()[reason]
    assert [refusal.reason for refusal in refusals] == [reason]
    assert documented.always <= set(refusals[0].metadata) <= documented.always | documented.sometimes


def test_every_documented_reason_is_provoked_by_a_test() -> None:
    provoked = {reason for cases in CASES.values() for reason in cases.refusals} | set(ANYWHERE) | set(OUTCOMES)
    provoked |= {"OVERLOADED"} if KEPT_OPEN else set()
    assert provoked == set(documented_reasons()) - UNSENT


def test_every_reason_that_a_service_can_send_is_documented_with_its_code() -> None:
    rows = [row for table in TABLES for row in table.values()]
    documented = documented_reasons()
    assert all(isinstance(row, ErrorRow) and row.code.name in documented[row.reason].codes for row in rows)
    assert {row.reason for row in rows} | {"INTERNAL"} == set(documented) - UNSENT


def test_an_unknown_method_is_refused_whatever_kind_of_call_it_is(tmp_path: Path) -> None:
    path = "/ranktrail.history.v1.HistoryService/OfTomorrow"
    with closing(RunningHistory(tmp_path)) as history:
        channel: Any = history.channel
        calls: list[Callable[[], Any]] = [
            lambda: channel.unary_unary(path)(b"", timeout=TIMEOUT),
            lambda: list(channel.unary_stream(path)(b"", timeout=TIMEOUT)),
            lambda: channel.stream_unary(path)(iter([b""]), timeout=TIMEOUT),
            lambda: list(channel.stream_stream(path)(iter([b""]), timeout=TIMEOUT)),
        ]
        for call in calls:
            refusal = refused(call)
            assert (refusal.code, refusal.metadata) == (grpc.StatusCode.UNIMPLEMENTED, {"method": path})
