"""The standard health service, which both services serve."""

from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from ranktrail_client.method import READ_DEADLINE, Method

CHECK = Method(
    HealthCheckRequest, HealthCheckResponse, READ_DEADLINE, repeats=False, path="/grpc.health.v1.Health/Check"
)


def serves(response: HealthCheckResponse) -> bool:
    """Say whether the answer means that calls are served."""
    return response.status == HealthCheckResponse.SERVING
