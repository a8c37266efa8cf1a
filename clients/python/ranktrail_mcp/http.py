"""The server over HTTP: on loopback, for callers that have the token."""

import hmac
import socket
from collections.abc import Callable

import uvicorn
from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ranktrail_client.errors import Refused

HOST = "127.0.0.1"
PATH = "/mcp"
STOP_SECONDS = 3


class TokenGuard:
    """Refuses a request without the token: a port of loopback is open to every user of the machine."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass on."""
        if scope["type"] == "http":
            given = Headers(scope=scope).get("authorization", "").encode()
            if not hmac.compare_digest(given, self._expected):
                refusal = PlainTextResponse("send the token of this server as Authorization: Bearer TOKEN\n", 401)
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


def http_app(server: MCPServer, port: int, token: str) -> ASGIApp:
    """Return the application; it answers only those who came for a name of loopback, from a page of its own or none."""
    hosts = [f"{name}:{port}" for name in (HOST, "localhost", "[::1]")]
    security = TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts])
    return TokenGuard(server.streamable_http_app(streamable_http_path=PATH, transport_security=security), token)


def bound(port: int) -> socket.socket:
    """Return a listener on loopback; raise Refused when the port cannot be had. 0: any free one."""
    listener = socket.socket()
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise Refused(f"--port {port} cannot be had ({error.strerror}): choose another") from error
    return listener


async def serve_http(server: MCPServer, listener: socket.socket, token: str, on_ready: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; `on_ready` gets the address once the port is open."""
    port = listener.getsockname()[1]
    config = uvicorn.Config(
        http_app(server, port, token),
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    listener.listen()
    on_ready(f"http://{HOST}:{port}{PATH}")
    await uvicorn.Server(config).serve([listener])
