"""A gRPC server with health and reflection, that stops gracefully and in bounded time."""

import threading
from collections.abc import Callable, Sequence
from concurrent import futures

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from ranktrail_serving.limits import CallLimits
from ranktrail_serving.listener import Address, Listener

REFLECTION_METHOD = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
OPTIONS = (
    # Two servers on one port would share its calls between them.
    ("grpc.so_reuseport", 0),
    # Clients may find out that this process hangs; the default closes the channel of one that asks every few seconds.
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    # Of one caller, above what all callers get: one that opens more waits on its own side.
    ("grpc.max_concurrent_streams", 512),
)
STOP_GRACE_SECONDS = 1.0
STOP_LIMIT_SECONDS = 2.0


class Stopping:
    """Tells long calls that the server stops. A callback added later than that is called at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._next_key = 0
        self._is_set = False

    @property
    def is_set(self) -> bool:
        """Whether the server stops."""
        return self._is_set

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` when the server stops; return what takes it back."""
        with self._lock:
            key = self._next_key
            self._next_key += 1
            if not self._is_set:
                self._callbacks[key] = callback
                return lambda: self._drop(key)
        callback()
        return lambda: None

    def set(self) -> None:
        """Tell everybody."""
        with self._lock:
            self._is_set = True
            callbacks, self._callbacks = list(self._callbacks.values()), {}
        for callback in callbacks:
            callback()

    def _drop(self, key: int) -> None:
        with self._lock:
            self._callbacks.pop(key, None)


class RpcServer:
    """Serves the services that `register` adds to it, on one address."""

    def __init__(
        self,
        address: Address,
        register: Callable[[grpc.Server], None],
        service_names: Sequence[str],
        limits: CallLimits,
        interceptors: Sequence[grpc.ServerInterceptor],
        stopping: Stopping,
        credentials: grpc.ServerCredentials | None = None,
    ) -> None:
        """Bind the address, with `credentials` for TLS; raise StartRefused when it cannot be had."""
        pool = futures.ThreadPoolExecutor(limits.worker_count, thread_name_prefix="rpc")
        self._server = grpc.server(pool, interceptors=list(interceptors), options=list(OPTIONS))
        self._stopping = stopping
        self._health = health.HealthServicer(experimental_non_blocking=True)
        self._service_names = service_names
        register(self._server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        reflection.enable_server_reflection(
            (*service_names, health.SERVICE_NAME, reflection.SERVICE_NAME), self._server
        )
        self._listener = Listener(self._server, address, credentials)

    @property
    def target(self) -> str:
        """Where it listens, as a client names it."""
        return self._listener.target

    def start(self) -> None:
        """Serve, and say so to health checks."""
        for name in self._service_names:
            self._health.set(name, health_pb2.HealthCheckResponse.SERVING)
        self._server.start()

    def stop(self) -> None:
        """Stop accepting, end the streams, give calls under way a second, and let go of the address."""
        self._health.enter_graceful_shutdown()
        self._stopping.set()
        self._server.stop(STOP_GRACE_SECONDS).wait(STOP_LIMIT_SECONDS)
        self._listener.release()
