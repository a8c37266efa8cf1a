"""What a tool like grpcurl sees: services, their messages and their health, with nothing but the sockets."""

from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from tests.descriptors import contract_files
from tests.rpc_cases.world import TIMEOUT, World

SERVICES = [service for file in contract_files() for service in file.services_by_name.values()]
each_service = pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)


def _channel(world: World, service: ServiceDescriptor) -> grpc.Channel:
    channel = world.service_of(service.methods[0]).channel
    assert channel is not None
    return channel


@each_service
def test_reflection_describes_a_service_as_its_contract_does(world: World, service: ServiceDescriptor) -> None:
    database = ProtoReflectionDescriptorDatabase(_channel(world, service))
    assert service.full_name in database.get_services()
    described = DescriptorPool(database).FindServiceByName(service.full_name)
    contract, seen = FileDescriptorProto(), FileDescriptorProto()
    service.file.CopyToProto(contract)
    described.file.CopyToProto(seen)
    assert seen == contract


@each_service
def test_a_method_known_only_by_reflection_can_be_called(world: World, service: ServiceDescriptor) -> None:
    channel = _channel(world, service)
    pool = DescriptorPool(ProtoReflectionDescriptorDatabase(channel))
    name = "ListEvaluationCases" if service.name == "EvaluationService" else "GetRuntime"
    method = pool.FindServiceByName(service.full_name).FindMethodByName(name)
    request, answer = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
    path = f"/{service.full_name}/{name}"
    call: Any = channel.unary_unary(path, request.SerializeToString, answer.FromString)
    assert type(call(request(), timeout=TIMEOUT)) is answer


@each_service
def test_each_service_is_healthy_and_an_unknown_one_is_not_found(world: World, service: ServiceDescriptor) -> None:
    health: Any = health_pb2_grpc.HealthStub(_channel(world, service))
    for name in ("", service.full_name):
        answer = health.Check(health_pb2.HealthCheckRequest(service=name), timeout=TIMEOUT)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
    with pytest.raises(grpc.RpcError) as error:
        health.Check(health_pb2.HealthCheckRequest(service="nobody.v1.Service"), timeout=TIMEOUT)
    assert error.value.code() == grpc.StatusCode.NOT_FOUND
