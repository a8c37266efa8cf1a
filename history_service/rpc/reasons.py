"""What callers are told of history's errors."""

from collections.abc import Mapping

from grpc import StatusCode

from history_service.domain import errors
from history_service.rpc.fields import timestamp
from ranktrail_serving.reasons import rows
from ranktrail_serving.status import INTERNAL, ErrorRow


def _field(error: errors.FieldInvalid) -> dict[str, str]:
    return {"field": error.field} | ({} if error.limit is None else {"limit": str(error.limit)})


def _conflict(error: errors.JudgmentConflict) -> dict[str, str]:
    return {
        "case_id": error.case_id,
        "expected": str(error.expected),
        "current": str(error.current),
        "author": error.author,
        "update_time": timestamp(error.update_time_us).ToJsonString(),
    }


OWN_ROWS: Mapping[type[errors.HistoryError], ErrorRow] = {
    errors.FieldInvalid: ErrorRow(StatusCode.INVALID_ARGUMENT, "FIELD_INVALID", _field),
    errors.PageTokenInvalid: ErrorRow(
        StatusCode.INVALID_ARGUMENT, "PAGE_TOKEN_INVALID", lambda _error: {"field": "page_token"}
    ),
    errors.RunNotFound: ErrorRow(StatusCode.NOT_FOUND, "RUN_NOT_FOUND", lambda error: {"run_id": error.run_id}),
    errors.CaseNotFound: ErrorRow(StatusCode.NOT_FOUND, "CASE_NOT_FOUND", lambda error: {"case_id": error.case_id}),
    errors.RunNotSucceeded: ErrorRow(
        StatusCode.FAILED_PRECONDITION,
        "RUN_NOT_SUCCEEDED",
        lambda error: {"run_id": error.run_id, "state": error.state},
    ),
    errors.JudgmentConflict: ErrorRow(StatusCode.ABORTED, "EVALUATION_JUDGMENT_CONFLICT", _conflict),
    errors.ResourceNotFound: ErrorRow(
        StatusCode.NOT_FOUND, "RESOURCE_NOT_FOUND", lambda error: {"resource_id": error.resource_id}
    ),
    errors.RunConflict: ErrorRow(StatusCode.ALREADY_EXISTS, "RUN_CONFLICT", lambda error: {"run_id": error.run_id}),
    errors.CorpusNotFound: ErrorRow(
        StatusCode.FAILED_PRECONDITION,
        "CORPUS_NOT_FOUND",
        lambda error: {"effective_memory_hash": error.effective_memory_hash},
    ),
    errors.BlobDigestMismatch: ErrorRow(
        StatusCode.INVALID_ARGUMENT, "BLOB_DIGEST_MISMATCH", lambda error: {"digest": error.digest}
    ),
    errors.BlobCorrupt: ErrorRow(StatusCode.DATA_LOSS, "BLOB_CORRUPT", lambda error: {"digest": error.digest}),
    errors.FixtureInvalid: ErrorRow(
        StatusCode.INVALID_ARGUMENT, "FIXTURE_INVALID", lambda error: {"field": error.field}
    ),
    errors.WriteFailed: INTERNAL,
}

row_of = rows(OWN_ROWS)
"""Returns the row of an error; anything that is not in the table is INTERNAL."""
