"""The bearer token that callers over TCP show."""

import hmac
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import grpc

from ranktrail_serving.errors import DirectoryForeign, TokenInvalid, TokenMissing, TokenUnfit, Unauthenticated
from ranktrail_serving.ownership import require_private_file
from ranktrail_serving.status import ErrorRow, refusing_handler

logger = logging.getLogger(__name__)

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
MaybeHandler: TypeAlias = "grpc.RpcMethodHandler[Any, Any] | None"
HEALTH_METHODS = "/grpc.health.v1."
MIN_TOKEN_BYTES = 32
MAX_TOKEN_BYTES = 4_096
_SCHEME = "bearer "


class TokenFile:
    """The token in a file that only its owner reads; whoever replaces the file replaces the token."""

    def __init__(self, path: Path, create: Callable[[], str]) -> None:
        """Make the file with what `create` returns when there is none; safe beside other processes.

        Raise TokenUnfit when it holds no token, DirectoryForeign when it is somebody else's.
        """
        self._path = path
        if not path.exists():
            _make(path, create())
        if len(self._read()) < MIN_TOKEN_BYTES:
            raise TokenUnfit(f"token file {path} holds no token of {MIN_TOKEN_BYTES} characters: remove it")

    def current(self) -> bytes | None:
        """Return the token as the file holds it now; None, which no caller can show, when it holds none.

        It is read each time, which takes some ten microseconds: times of files are too coarse to tell that one changed.
        """
        try:
            token = self._read()
        except (OSError, DirectoryForeign):
            return None
        return token if len(token) >= MIN_TOKEN_BYTES else None

    def bearer(self) -> str | None:
        """Return the current token as text, to be shown to another service of the same data directory."""
        token = self.current()
        return None if token is None else token.decode("ascii", "replace")

    def _read(self) -> bytes:
        descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if require_private_file(descriptor, f"token file {self._path}"):
                logger.warning("others could read %s: replace it with `ranktrail token rotate`", self._path)
            return os.read(descriptor, MAX_TOKEN_BYTES).strip()
        finally:
            os.close(descriptor)


def _make(path: Path, token: str) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(token + "\n")
    try:
        os.link(draft, path)
    except FileExistsError:
        pass  # another process was first; its token counts
    finally:
        draft.unlink()


class TokenInterceptor(grpc.ServerInterceptor):
    """Refuses every call that does not carry the token of this moment, but those to the health service."""

    def __init__(self, token: TokenFile, row_of: Callable[[Exception], ErrorRow]) -> None:
        self._token = token
        self._row_of = row_of

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], MaybeHandler],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> MaybeHandler:
        """Return the method's handler, or one that refuses."""
        if handler_call_details.method.startswith(HEALTH_METHODS):
            return continuation(handler_call_details)
        error = self._problem(handler_call_details.invocation_metadata)
        if error is None:
            return continuation(handler_call_details)
        return refusing_handler(self._row_of(error), error)

    def _problem(self, metadata: Any) -> Unauthenticated | None:
        given = next((value for key, value in metadata if key == "authorization"), None)
        if not isinstance(given, str) or not given.lower().startswith(_SCHEME):
            return TokenMissing()
        token = self._token.current()
        shown = given[len(_SCHEME) :].strip().encode("utf-8", "replace")
        # In constant time: how long a wrong token takes must not say how much of it is right.
        return None if token is not None and hmac.compare_digest(shown, token) else TokenInvalid()
