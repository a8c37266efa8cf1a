"""The gRPC server: where it listens, who may call, how it starts and stops."""

import hmac
import os
import secrets
import socket
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
from google.rpc import code_pb2
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from ranker_service.rpc.status import StatusInterceptor, refusing

WORKERS = 64
STOP_GRACE_SECONDS = 2.0
MAX_SOCKET_PATH_BYTES = 107
_OPTIONS = [("grpc.so_reuseport", 0)]
_HEALTH_METHODS = "/grpc.health.v1.Health/"


class AddressRefused(Exception):
    """The server must not, or cannot, listen there; the text says why."""


class Server:
    """A gRPC server on one address. `register` adds the servicers; call `start` once, `stop` once."""

    def __init__(self, address: str, run_directory: Path, services: Mapping[str, Callable[[grpc.Server], None]]) -> None:
        interceptors: list[grpc.ServerInterceptor] = [HealthInterceptor(), StatusInterceptor()]
        if not address.startswith("unix:"):
            interceptors.insert(0, TokenInterceptor(ensure_token(run_directory)))
        self._server = grpc.server(ThreadPoolExecutor(WORKERS), interceptors=interceptors, options=_OPTIONS)
        self._health = health.HealthServicer(experimental_non_blocking=True)
        self._services = services
        for register in services.values():
            register(self._server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        names = (*services, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, self._server)
        _bind(self._server, address)

    def start(self) -> None:
        """Begin to serve, and say so by the health service."""
        self._server.start()
        for name in ("", *self._services):
            self._health.set(name, health_pb2.HealthCheckResponse.SERVING)

    def stop(self) -> None:
        """Take no more calls, give those under way two seconds, then end them."""
        self._health.enter_graceful_shutdown()
        self._server.stop(STOP_GRACE_SECONDS).wait()


def _bind(server: grpc.Server, address: str) -> None:
    """Listen at unix:PATH or on loopback. The data directory's lock must be held: it is what makes a socket file stale."""
    if address.startswith("unix:"):
        path = Path(address.removeprefix("unix:"))
        if len(os.fsencode(path)) > MAX_SOCKET_PATH_BYTES:
            raise AddressRefused(f"{path} is longer than the {MAX_SOCKET_PATH_BYTES} bytes that a socket path may have")
        path.unlink(missing_ok=True)
    elif not _is_loopback(address):
        raise AddressRefused(f"address {address} is not loopback, which needs TLS: use unix:PATH or 127.0.0.1:PORT")
    try:
        server.add_insecure_port(address)
    except RuntimeError as error:
        raise AddressRefused(f"cannot listen at {address}: is another server there?") from error


def _is_loopback(address: str) -> bool:
    host = address.rsplit(":", 1)[0].strip("[]")
    if host in {"localhost", "::1"}:
        return True
    try:
        return socket.inet_aton(host)[0] == 127 and host.count(".") == 3  # noqa: PLR2004 - 127.0.0.0/8
    except OSError:
        return False


def ensure_token(run_directory: Path) -> str:
    """Return the data directory's bearer token; make one, owner-only, where there is none."""
    path = run_directory / "token"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text("ascii").strip()
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(32))
    return path.read_text("ascii")


class HealthInterceptor(grpc.ServerInterceptor):
    """Runs health calls on threads of their own, so that they are answered however busy the server is."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(2)

    def intercept_service(self, continuation: Any, handler_call_details: grpc.HandlerCallDetails) -> Any:
        """Give health methods their own pool."""
        handler = continuation(handler_call_details)
        if handler is None or not handler_call_details.method.startswith(_HEALTH_METHODS) or not handler.unary_unary:
            return handler

        def check(request: Any, context: grpc.ServicerContext) -> Any:
            return handler.unary_unary(request, context)

        check.experimental_thread_pool = self._pool  # type: ignore[attr-defined]
        return grpc.unary_unary_rpc_method_handler(check, handler.request_deserializer, handler.response_serializer)


class TokenInterceptor(grpc.ServerInterceptor):
    """Lets only callers with the bearer token in."""

    def __init__(self, token: str) -> None:
        self._expected = f"Bearer {token}".encode()

    def intercept_service(self, continuation: Any, handler_call_details: grpc.HandlerCallDetails) -> Any:
        """Refuse a call without the token; health is for everybody."""
        if handler_call_details.method.startswith(_HEALTH_METHODS):
            return continuation(handler_call_details)
        sent = dict(handler_call_details.invocation_metadata or ()).get("authorization")
        if sent is None:
            return refusing(code_pb2.UNAUTHENTICATED, "TOKEN_MISSING", "authorization is missing: send 'Bearer' and the token")
        value = sent if isinstance(sent, bytes) else sent.encode()
        if not hmac.compare_digest(value, self._expected):
            message = "authorization holds another token: read run/token in the data directory"
            return refusing(code_pb2.UNAUTHENTICATED, "TOKEN_INVALID", message)
        return continuation(handler_call_details)
