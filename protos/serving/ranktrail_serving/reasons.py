"""The table from errors to what callers are told; a service adds the rows of its own errors."""

from collections.abc import Callable, Mapping
from typing import Any

from grpc import StatusCode

from ranktrail_serving import errors
from ranktrail_serving.status import INTERNAL, ErrorRow

RowOf = Callable[[Exception], ErrorRow]


def _overloaded(error: errors.Overloaded) -> dict[str, str]:
    return {"limit": str(error.limit), "retry_after_ms": str(error.retry_after_ms)}


SERVING_ROWS: Mapping[type[Exception], ErrorRow] = {
    errors.RequestUnparsable: ErrorRow(
        StatusCode.INVALID_ARGUMENT, "FIELD_INVALID", lambda error: {"field": error.field}
    ),
    errors.Overloaded: ErrorRow(StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED", _overloaded),
    errors.MethodUnknown: ErrorRow(StatusCode.UNIMPLEMENTED, "NOT_IMPLEMENTED", lambda error: {"method": error.method}),
    errors.TokenMissing: ErrorRow(StatusCode.UNAUTHENTICATED, "TOKEN_MISSING"),
    errors.TokenInvalid: ErrorRow(StatusCode.UNAUTHENTICATED, "TOKEN_INVALID"),
}


def rows(own: Mapping[type[Any], ErrorRow]) -> RowOf:
    """Return what finds the row of an error: that of its class, or of the nearest base with one; else INTERNAL."""
    table = {**SERVING_ROWS, **own}

    def row_of(error: Exception) -> ErrorRow:
        return next((table[kind] for kind in type(error).__mro__ if kind in table), INTERNAL)

    return row_of
