"""A client of the first release, which has nothing but that release's descriptors, works with today's servers."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from tests.descriptors import contract_methods
from tests.rpc_cases.registry import CASES
from tests.rpc_cases.world import World

FIRST_RELEASE = Path(__file__).parent / "first_release.binpb"


def _first_methods() -> list[MethodDescriptor]:
    files = FileDescriptorSet.FromString(FIRST_RELEASE.read_bytes()).file
    pool = DescriptorPool()
    for file in files:
        pool.Add(file)
    found = [pool.FindFileByName(file.name) for file in files]
    services = [service for file in found for service in file.services_by_name.values()]
    return [method for service in services for method in service.methods]


def _as_first(method: MethodDescriptor, requests: Iterable[Message]) -> Iterator[bytes]:
    """Yield today's requests as the first release would have made them."""
    kind = GetMessageClass(method.input_type)
    for request in requests:
        old = kind.FromString(request.SerializeToString())
        old.DiscardUnknownFields()
        yield old.SerializeToString()


def test_every_method_of_the_first_release_is_still_there_and_of_the_same_kind() -> None:
    today = {method.full_name: method for method in contract_methods()}
    for method in _first_methods():
        now = today[method.full_name]
        assert (now.client_streaming, now.server_streaming) == (method.client_streaming, method.server_streaming)


@pytest.mark.parametrize("method", _first_methods(), ids=lambda method: method.name)
def test_a_client_of_the_first_release_is_served(world: World, method: MethodDescriptor) -> None:
    cases = CASES[method.full_name]
    call = world.begin(method, _as_first(method, cases.requests(world)))
    if cases.endless:
        responses = [next(call)]
        call.cancel()
    else:
        responses = list(call) if method.server_streaming else [call.result()]
    assert type(responses[0]) is GetMessageClass(method.output_type)
    assert cases.answers(responses)
