"""Serves the application: a port, uvicorn, and an end that does not wait for browsers that listen."""

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType

import uvicorn
from starlette.applications import Starlette

from ranktrail_client import Client
from ranktrail_client.address import Address, Reach
from ranktrail_client.errors import Refused
from ranktrail_diagnostics.app import create_app
from ranktrail_diagnostics.settings import Settings

STOP_SECONDS = 3


def serve(client: Client, settings: Settings, on_ready: Callable[[Settings], None]) -> None:
    """Serve until SIGINT or SIGTERM; `on_ready` gets the settings with the port in them, once requests are answered.

    Raises Refused for an address that is not loopback without a certificate, or that cannot be had.
    """
    listener = _bound(settings)
    listening = replace(settings, port=listener.getsockname()[1])
    app = create_app(client, listening)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.key,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    _Server(config, app, lambda: on_ready(listening)).run([listener])


def _bound(settings: Settings) -> socket.socket:
    shown = f"{settings.host}:{settings.port}"
    bracketed = f"[{settings.host}]" if ":" in settings.host else settings.host
    reach = Address.parse(f"{bracketed}:{settings.port or 1}").reach
    if reach is not Reach.LOOPBACK and not settings.is_encrypted:
        raise Refused(
            f"--host {settings.host!r} is not loopback: give --certificate and --key to serve others over TLS"
        )
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        raise Refused(f"--host and --port {shown} cannot be had ({error.strerror}): choose others") from error
    return listener


class _Server(uvicorn.Server):
    """Says when it serves, and ends its streams with the first signal."""

    def __init__(self, config: uvicorn.Config, app: Starlette, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._app = app
        self._on_ready = on_ready

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take the signals that ask for an end; unlike uvicorn's own, without sending them again afterwards."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._app.state.broadcast.end()
        super().handle_exit(sig, frame)
