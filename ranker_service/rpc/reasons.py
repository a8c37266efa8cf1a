"""What callers are told of the ranker's errors."""

from collections.abc import Mapping

from grpc import StatusCode

from ranker_service.domain import errors
from ranktrail_serving.reasons import rows
from ranktrail_serving.status import ErrorRow

_TRY_AGAIN_CODES = frozenset({"activation_deadline", "index_damaged", "storage_in_use"})


def _field(error: errors.FieldInvalid) -> dict[str, str]:
    return {"field": error.field} | ({} if error.limit is None else {"limit": str(error.limit)})


def _stage(error: errors.StageFailed) -> dict[str, str]:
    return {"stage": error.stage.value, "code": error.code}


OWN_ROWS: Mapping[type[errors.RankerError], ErrorRow] = {
    errors.FieldInvalid: ErrorRow(StatusCode.INVALID_ARGUMENT, "FIELD_INVALID", _field),
    errors.PageTokenInvalid: ErrorRow(
        StatusCode.INVALID_ARGUMENT, "PAGE_TOKEN_INVALID", lambda _error: {"field": "page_token"}
    ),
    errors.ProjectNotFound: ErrorRow(
        StatusCode.NOT_FOUND, "PROJECT_NOT_FOUND", lambda error: {"project_id": error.project_id}
    ),
    errors.IndexNotReady: ErrorRow(
        StatusCode.FAILED_PRECONDITION, "INDEX_NOT_READY", lambda error: {"project_id": error.project_id}
    ),
    errors.ResourceIdConflict: ErrorRow(
        StatusCode.INVALID_ARGUMENT,
        "RESOURCE_ID_CONFLICT",
        lambda error: {"resource_id": error.resource_id, "path": error.path, "other_path": error.other_path},
    ),
    errors.CommitConflict: ErrorRow(
        StatusCode.ABORTED,
        "COMMIT_CONFLICT",
        lambda error: {"expected": error.expected, "current": error.current},
    ),
    errors.BlobDigestMismatch: ErrorRow(
        StatusCode.INVALID_ARGUMENT, "BLOB_DIGEST_MISMATCH", lambda error: {"digest": error.digest}
    ),
    errors.ActivationStateInvalid: ErrorRow(StatusCode.INVALID_ARGUMENT, "INVALID_ACTIVATION_STATE"),
    errors.StageFailed: ErrorRow(StatusCode.INTERNAL, "RANKING_FAILED", _stage),
}
_TRY_AGAIN = ErrorRow(StatusCode.UNAVAILABLE, "RANKING_FAILED", _stage)
_UNREADABLE_QUERY = ErrorRow(StatusCode.INVALID_ARGUMENT, "FIELD_INVALID", lambda _error: {"field": "query"})
_own_row_of = rows(OWN_ROWS)


def row_of(error: Exception) -> ErrorRow:
    """Return the row of an error; a failed Run has that of its cause, and its id in the metadata."""
    if isinstance(error, errors.RunFailed):
        row = row_of(error.cause)
        return ErrorRow(row.code, row.reason, lambda failed: {"run_id": failed.run_id, **row.metadata(failed.cause)})
    if isinstance(error, errors.StageFailed) and error.code in _TRY_AGAIN_CODES:
        return _TRY_AGAIN
    if isinstance(error, errors.StageFailed) and error.code == "query_without_tokens":
        return _UNREADABLE_QUERY
    return _own_row_of(error)
