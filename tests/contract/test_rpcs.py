"""Every RPC over a real socket: success, each of its error reasons, deadline, cancel midway and oversize."""

from queue import SimpleQueue
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.descriptors import contract_methods
from tests.fakes.history_server import eventually
from tests.refusals import refusal_of, refused
from tests.rpc_cases.documented import documented_reasons, reasons_of_method
from tests.rpc_cases.registry import CASES, COVERED, KEPT_OPEN
from tests.rpc_cases.world import World, frozen, responses_of, unending

REFUSALS = [(method, reason) for method in COVERED for reason in CASES[method.full_name].refusals]
MOST_STREAMS = 64
TOO_LARGE = b"\xfa\x7f\xfc\xff\xff\x01" + bytes(4_194_300)
"""Field 2047, which nobody knows, in a message of a few bytes more than 4 MiB."""

each_rpc = pytest.mark.parametrize("method", COVERED, ids=lambda method: method.name)


def _succeeds(world: World, method: MethodDescriptor) -> bool:
    cases = CASES[method.full_name]
    if not cases.endless:
        return cases.answers(world.call(method, cases.requests(world)))
    call = world.begin(method, cases.requests(world))
    first = next(call)
    call.cancel()
    return cases.answers([first])


def _code(method: MethodDescriptor, call: Any) -> grpc.StatusCode:
    """Return how a call ended that must not succeed."""
    try:
        responses_of(method, call)
    except grpc.RpcError as error:
        code: grpc.StatusCode = error.code()
    except grpc.FutureCancelledError:
        code = call.code()
    else:
        raise AssertionError(f"{method.full_name} succeeded")
    return code


def test_every_rpc_has_its_cases_and_nothing_else_has() -> None:
    assert set(CASES) == {method.full_name for method in contract_methods()}


@pytest.mark.parametrize("name", CASES)
def test_the_reasons_that_an_rpc_documents_are_those_that_its_cases_provoke(name: str) -> None:
    assert set(CASES[name].refusals) == reasons_of_method(name) - {"OVERLOADED"}


@each_rpc
def test_a_right_call_succeeds(world: World, method: MethodDescriptor) -> None:
    assert _succeeds(world, method)


@pytest.mark.parametrize(("method", "reason"), REFUSALS, ids=[f"{m.name}-{reason}" for m, reason in REFUSALS])
def test_a_refused_call_says_why_as_documented(world: World, method: MethodDescriptor, reason: str) -> None:
    requests = CASES[method.full_name].refusals[reason](world)
    refusal = refused(lambda: world.call(method, requests))
    documented = documented_reasons()[reason]
    assert refusal.reason == reason
    assert refusal.code.name in documented.codes
    assert documented.always <= set(refusal.metadata) <= documented.always | documented.sometimes
    assert 0 < len(refusal.message) <= 1_024


@pytest.mark.parametrize("method", KEPT_OPEN, ids=lambda method: method.name)
def test_one_stream_too_many_is_overloaded_at_once_and_the_rest_goes_on(world: World, method: MethodDescriptor) -> None:
    over: SimpleQueue[None] = SimpleQueue()
    calls, refusal = [], None
    while refusal is None:
        requests: Any = CASES[method.full_name].requests(world)
        call = world.begin(method, unending(requests, over) if method.client_streaming else requests)
        try:
            next(call)
            calls.append(call)
        except grpc.RpcError as error:
            refusal = error
        assert len(calls) < MOST_STREAMS
    answer = refusal_of(refusal)
    assert (answer.code, answer.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED")
    assert set(answer.metadata) == documented_reasons()["OVERLOADED"].always
    _is_healthy(world, method)
    for call in calls:
        over.put(None)
        call.cancel()
    assert eventually(lambda: _is_admitted(world, method))


def _is_admitted(world: World, method: MethodDescriptor) -> bool:
    try:
        return _succeeds(world, method)
    except grpc.RpcError:
        return False


@each_rpc
def test_a_call_of_more_than_four_mebibytes_is_refused_and_the_next_is_not(
    world: World, method: MethodDescriptor
) -> None:
    assert _code(method, world.begin(method, [TOO_LARGE])) == grpc.StatusCode.RESOURCE_EXHAUSTED
    _is_healthy(world, method)


@pytest.mark.parametrize("module", ["ranker", "history"])
def test_a_call_whose_deadline_passes_ends_with_it_and_leaves_the_server_whole(world: World, module: str) -> None:
    service = getattr(world.stack, module)
    methods = [method for method in COVERED if world.service_of(method) is service]
    requests = {method: list(CASES[method.full_name].requests(world)) for method in methods}
    with frozen(service):
        calls = {method: world.begin(method, requests[method], timeout=0.3) for method in methods}
        codes = {method.full_name: _code(method, call) for method, call in calls.items()}
    assert set(codes.values()) == {grpc.StatusCode.DEADLINE_EXCEEDED}, codes
    assert all(_succeeds(world, method) for method in methods)


@each_rpc
def test_a_call_that_its_caller_cancels_midway_ends_so_and_leaves_the_server_whole(
    world: World, method: MethodDescriptor
) -> None:
    over: SimpleQueue[None] = SimpleQueue()
    requests = list(CASES[method.full_name].requests(world))
    with frozen(world.service_of(method)):
        call = world.begin(method, unending(requests, over) if method.client_streaming else requests)
        call.cancel()
        assert _code(method, call) == grpc.StatusCode.CANCELLED
    over.put(None)
    assert _succeeds(world, method)


@pytest.mark.parametrize("method", [m for m in COVERED if m.client_streaming], ids=lambda method: method.name)
def test_a_stream_that_its_caller_cancels_while_it_is_read_ends_so(world: World, method: MethodDescriptor) -> None:
    over: SimpleQueue[None] = SimpleQueue()
    first = next(iter(CASES[method.full_name].requests(world)))
    call = world.begin(method, unending([first], over))
    _is_healthy(world, method)
    call.cancel()
    over.put(None)
    assert _code(method, call) == grpc.StatusCode.CANCELLED
    assert _succeeds(world, method)


def _is_healthy(world: World, method: MethodDescriptor) -> None:
    channel = world.service_of(method).channel
    assert channel is not None
    health: Any = health_pb2_grpc.HealthStub(channel)
    answer = health.Check(health_pb2.HealthCheckRequest(), timeout=5)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING
