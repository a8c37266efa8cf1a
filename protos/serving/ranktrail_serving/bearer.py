"""The bearer token that callers over TCP show."""

import hmac
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import grpc

from ranktrail_serving.errors import TokenInvalid, TokenMissing, Unauthenticated
from ranktrail_serving.status import ErrorRow, refusing_handler

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
MaybeHandler: TypeAlias = "grpc.RpcMethodHandler[Any, Any] | None"
HEALTH_METHODS = "/grpc.health.v1."
_SCHEME = "bearer "


def read_or_create_token(path: Path, create: Callable[[], str]) -> str:
    """Return the token in the file, which is made owner-only when there is none; safe beside other processes."""
    if not path.exists():
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(create() + "\n")
        try:
            os.link(draft, path)
        except FileExistsError:
            pass  # another process was first; its token counts
        finally:
            draft.unlink()
    path.chmod(0o600)
    return path.read_text(encoding="ascii").strip()


class TokenInterceptor(grpc.ServerInterceptor):
    """Refuses every call that does not carry the token, but those to the health service."""

    def __init__(self, token: str, row_of: Callable[[Exception], ErrorRow]) -> None:
        self._token = token.encode("utf-8")
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
        same = hmac.compare_digest(given[len(_SCHEME) :].strip().encode("utf-8", "replace"), self._token)
        return None if same else TokenInvalid()
