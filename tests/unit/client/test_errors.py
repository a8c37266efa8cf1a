"""Errors of calls as types that carry what the service said."""

import re
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2

from ranktrail.errors.v1.error_reason_pb2 import ErrorReason
from ranktrail.ranker.v1 import ranker_service_pb2 as ranker_pb2
from ranktrail_cli.exits import Exit, exit_of
from ranktrail_client import errors
from ranktrail_client.client import Client
from tests.fakes.services import FakeRanker, served

REASONS = [name.removeprefix("ERROR_REASON_") for name in ErrorReason.keys() if not name.endswith("UNSPECIFIED")]  # noqa: SIM118


class Ended(grpc.RpcError):
    """A call as it ended."""

    def __init__(
        self, code: grpc.StatusCode, details: str, reason: str = "", domain: str = "ranktrail", **extra: str
    ) -> None:
        self._code, self._details, self._trailers = code, details, []
        if reason:
            detail = any_pb2.Any()
            detail.Pack(error_details_pb2.ErrorInfo(reason=reason, domain=domain, metadata=extra))
            status = status_pb2.Status(code=code.value[0], message=details, details=[detail])
            self._trailers = [("grpc-status-details-bin", status.SerializeToString())]

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return self._details

    def trailing_metadata(self) -> Any:
        return self._trailers


def decoded(*args: Any, **extra: Any) -> errors.RanktrailError:
    return errors.decode(Ended(*args, **extra), "ranker", "unix:/x")


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_of_the_contract_has_a_type_of_its_own(reason: str) -> None:
    error = decoded(grpc.StatusCode.INTERNAL, "what it is", reason, run_id="R")
    assert type(error) is errors.BY_REASON[reason]
    assert (error.reason, error.metadata, error.code, str(error)) == (
        reason,
        {"run_id": "R"},
        grpc.StatusCode.INTERNAL,
        "what it is",
    )
    assert error.run_id == "R"


def test_no_two_reasons_share_a_type_and_none_is_invented() -> None:
    assert sorted(errors.BY_REASON) == sorted(REASONS)
    assert len(set(errors.BY_REASON.values())) == len(REASONS)


def test_the_tree_drawn_in_the_module_is_the_tree_of_the_classes() -> None:
    drawn: list[tuple[str, str]] = []
    above: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"([│├└─ ]*)([A-Z][A-Za-z]+)(?: {2,}|$)", line)
        if match is None:
            continue
        depth, name = len(match[1]), match[2]
        above = [(d, n) for d, n in above if d < depth]
        if above:
            drawn.append((name, above[-1][1]))
        above.append((depth, name))
    classes = [v for v in vars(errors).values() if isinstance(v, type) and issubclass(v, errors.RanktrailError)]
    real = [(kind.__name__, kind.__base__.__name__) for kind in classes if kind is not errors.RanktrailError]
    assert sorted(drawn) == sorted(real)


@pytest.mark.parametrize("code", list(grpc.StatusCode))
def test_a_status_without_a_reason_has_a_type_and_names_the_service(code: grpc.StatusCode) -> None:
    error = decoded(code, "")
    assert isinstance(error, errors.RanktrailError)
    assert error.reason == ""
    assert "ranker" in str(error)
    assert "unix:/x" in str(error)


def test_a_reason_of_another_domain_is_not_ours() -> None:
    error = decoded(grpc.StatusCode.NOT_FOUND, "x", "RUN_NOT_FOUND", domain="example.com")
    assert type(error) is errors.NotFound
    assert error.metadata == {}


def test_a_reason_newer_than_this_client_falls_back_to_its_status() -> None:
    error = decoded(grpc.StatusCode.ABORTED, "moved on", "SOMETHING_NEW")
    assert type(error) is errors.Conflict
    assert (error.reason, str(error)) == ("SOMETHING_NEW", "moved on")


def test_details_that_are_no_status_do_not_hide_the_status() -> None:
    ended = Ended(grpc.StatusCode.NOT_FOUND, "x")
    ended._trailers = [("grpc-status-details-bin", b"\xff\xff\xff")]
    assert type(errors.decode(ended, "ranker", "unix:/x")) is errors.NotFound


def test_a_real_service_s_error_arrives_with_its_reason_and_metadata(tmp_path: Path) -> None:
    with served(tmp_path, FakeRanker(), None), Client.connect(tmp_path) as client:
        request = ranker_pb2.ActivateMemoryRequest(project_id="unknown", query="q")
        with pytest.raises(errors.ProjectNotFound) as caught:
            client.ranker.activate_memory(request)
    assert caught.value.metadata == {"project_id": "unknown", "run_id": "FAILED1"}
    assert caught.value.code is grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("COMMIT_CONFLICT", Exit.CONFLICT),
        ("EVALUATION_JUDGMENT_CONFLICT", Exit.CONFLICT),
        ("RUN_CONFLICT", Exit.CONFLICT),
        ("RUN_NOT_FOUND", Exit.REFUSED),
        ("FIELD_INVALID", Exit.REFUSED),
        ("TOKEN_MISSING", Exit.REFUSED),
        ("RESOURCE_ID_CONFLICT", Exit.REFUSED),
        ("RUN_NOT_SUCCEEDED", Exit.REFUSED),
        ("INDEX_NOT_READY", Exit.INCOMPLETE),
        ("RANKING_FAILED", Exit.INCOMPLETE),
        ("OVERLOADED", Exit.INCOMPLETE),
        ("INTERNAL", Exit.INCOMPLETE),
        ("NOT_IMPLEMENTED", Exit.INCOMPLETE),
    ],
)
def test_a_reason_ends_a_command_with_its_exit_code(reason: str, code: Exit) -> None:
    assert exit_of(decoded(grpc.StatusCode.UNAVAILABLE, "x", reason)) is code


def test_a_service_that_is_not_there_or_does_not_answer_ends_a_command_with_3() -> None:
    assert exit_of(decoded(grpc.StatusCode.UNAVAILABLE, "")) is Exit.UNREACHABLE
    assert exit_of(decoded(grpc.StatusCode.DEADLINE_EXCEEDED, "")) is Exit.UNREACHABLE


def test_a_connection_that_was_given_up_for_silence_is_no_answer_and_not_nobody_there() -> None:
    silent = decoded(grpc.StatusCode.UNAVAILABLE, "connection attempt timed out before receiving SETTINGS frame")
    assert type(silent) is errors.NoAnswer
    assert "did not answer in time" in str(silent)
    assert "ranktrail status" not in str(silent)
    assert type(decoded(grpc.StatusCode.UNAVAILABLE, "connect: connection refused")) is errors.ServiceUnreachable
