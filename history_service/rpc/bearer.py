"""The bearer token that callers over TCP show."""

import hmac
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import grpc

from history_service.domain.errors import TokenInvalid, TokenMissing, Unauthenticated
from history_service.rpc.status import ErrorRow, grpc_status

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
MaybeHandler: TypeAlias = "grpc.RpcMethodHandler[Any, Any] | None"
_SCHEME = "bearer "


def read_or_create_token(path: Path, create: Callable[[], str]) -> str:
    """Return the token in the file, which is made owner-only when there is none; safe beside other processes."""
    if not path.exists():
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        os.write(descriptor, f"{create()}\n".encode("ascii"))
        os.close(descriptor)
        try:
            os.link(draft, path)
        except FileExistsError:
            pass  # another process was first; its token counts
        finally:
            draft.unlink()
    path.chmod(0o600)
    return path.read_text(encoding="ascii").strip()


class TokenInterceptor(grpc.ServerInterceptor):
    """Refuses every call that does not carry the token."""

    def __init__(self, token: str, row_of: Callable[[Exception], ErrorRow]) -> None:
        self._token = token.encode("utf-8")
        self._row_of = row_of

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], MaybeHandler],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> MaybeHandler:
        """Return the method's handler, or one that refuses."""
        error = self._problem(handler_call_details.invocation_metadata)
        return continuation(handler_call_details) if error is None else self._refusal(error)

    def _problem(self, metadata: Any) -> Unauthenticated | None:
        given = next((value for key, value in metadata if key == "authorization"), None)
        if not isinstance(given, str) or not given.lower().startswith(_SCHEME):
            return TokenMissing()
        same = hmac.compare_digest(given[len(_SCHEME) :].strip().encode("utf-8", "replace"), self._token)
        return None if same else TokenInvalid()

    def _refusal(self, error: Unauthenticated) -> Handler:
        def refuse(_requests: Any, context: grpc.ServicerContext) -> Any:
            context.abort_with_status(grpc_status(self._row_of(error), error))

        # A stream handler does not wait for a request, so it refuses every kind of call at once.
        return grpc.stream_stream_rpc_method_handler(refuse)
