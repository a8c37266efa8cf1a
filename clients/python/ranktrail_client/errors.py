"""Errors that a call raises, decoded from the status that a service answered with.

RanktrailError                      has code, reason, metadata and, where a Run was recorded, run_id
├── ServiceUnreachable              nothing serves at the address
│   └── NoAnswer                    something does, and the deadline passed
├── Conflict                        somebody else was faster
│   ├── EvaluationJudgmentConflict
│   ├── CommitConflict
│   └── RunConflict
├── NotFound
│   ├── RunNotFound
│   ├── CaseNotFound
│   ├── ProjectNotFound
│   └── ResourceNotFound
├── Refused                         the request is wrong as it stands
│   ├── FieldInvalid
│   ├── PageTokenInvalid
│   ├── InvalidActivationState
│   ├── FixtureInvalid
│   ├── ResourceIdConflict
│   ├── BlobDigestMismatch
│   ├── RunNotSucceeded
│   └── NotAuthorized
│       ├── TokenMissing
│       ├── TokenInvalid
│       └── NotAllowed
└── Unavailable                     the request is right, and something that it needs is missing or failed
    ├── IndexNotReady
    ├── CorpusNotFound
    ├── RankingFailed
    ├── Overloaded
    ├── BlobCorrupt
    ├── NotImplementedByService
    └── ServiceFault
"""

from collections.abc import Iterator, Mapping
from typing import cast

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2
from grpc_status import rpc_status

DOMAIN = "ranktrail"


class RanktrailError(Exception):
    """Any error of a call; `str()` is one sentence that names the field and the fix.

    `code` is the gRPC status code, `reason` a value of errors.v1.ErrorReason without its prefix, and `metadata` what
    stands beside that value in the contract. All three are empty for an error that never reached a service.
    """

    def __init__(
        self,
        message: str,
        *,
        code: grpc.StatusCode | None = None,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.metadata = dict(metadata or {})

    @property
    def run_id(self) -> str | None:
        """The Run that the failed request left behind, where there is one."""
        return self.metadata.get("run_id")


class ServiceUnreachable(RanktrailError):
    """Nothing serves at the address."""


class NoAnswer(ServiceUnreachable):
    """The deadline passed before the service answered."""


class Conflict(RanktrailError):
    """Somebody else changed the same thing first."""


class EvaluationJudgmentConflict(Conflict):
    """The case's judgments have another version than expected."""


class CommitConflict(Conflict):
    """The layer's head is not the expected parent."""


class RunConflict(Conflict):
    """Another trace stands under the Run's id."""


class NotFound(RanktrailError):
    """What the request names is not there."""


class RunNotFound(NotFound):
    """No Run has this id."""


class CaseNotFound(NotFound):
    """No case has this id."""


class ProjectNotFound(NotFound):
    """Nobody committed to this project."""


class ResourceNotFound(NotFound):
    """The resource is not in that memory."""


class Refused(RanktrailError):
    """The request is wrong as it stands; repeating it does not help."""


class FieldInvalid(Refused):
    """A field is wrong; the metadata names it, and the limit it broke."""


class PageTokenInvalid(Refused):
    """The page token belongs to another request."""


class InvalidActivationState(Refused):
    """The activation state is not one that a ranker made."""


class FixtureInvalid(Refused):
    """The document is not an evaluation set."""


class ResourceIdConflict(Refused):
    """One resource id for two paths."""


class BlobDigestMismatch(Refused):
    """A body is not what its header announced."""


class RunNotSucceeded(Refused):
    """Only a succeeded Run can do this."""


class NotAuthorized(Refused):
    """The service does not let this caller in."""


class TokenMissing(NotAuthorized):
    """The call carried no token."""


class TokenInvalid(NotAuthorized):
    """The call carried another service's token."""


class NotAllowed(NotAuthorized):
    """The token does not allow this."""


class Unavailable(RanktrailError):
    """Something that the request needs is missing or failed."""


class IndexNotReady(Unavailable):
    """The project has no complete index yet."""


class CorpusNotFound(Unavailable):
    """The Run's corpus has not been stored yet."""


class RankingFailed(Unavailable):
    """A stage failed; the metadata names the Run, the stage and a stable code."""


class Overloaded(Unavailable):
    """A limit on streams, memory or callers is reached."""


class BlobCorrupt(Unavailable):
    """A stored body is damaged."""


class NotImplementedByService(Unavailable):
    """This release of the service does not serve the method."""


class ServiceFault(Unavailable):
    """A defect in the service; its log says more."""


BY_REASON: dict[str, type[RanktrailError]] = {
    "RUN_NOT_FOUND": RunNotFound,
    "CASE_NOT_FOUND": CaseNotFound,
    "PROJECT_NOT_FOUND": ProjectNotFound,
    "RESOURCE_NOT_FOUND": ResourceNotFound,
    "EVALUATION_JUDGMENT_CONFLICT": EvaluationJudgmentConflict,
    "COMMIT_CONFLICT": CommitConflict,
    "RESOURCE_ID_CONFLICT": ResourceIdConflict,
    "RUN_NOT_SUCCEEDED": RunNotSucceeded,
    "INDEX_NOT_READY": IndexNotReady,
    "FIELD_INVALID": FieldInvalid,
    "PAGE_TOKEN_INVALID": PageTokenInvalid,
    "INVALID_ACTIVATION_STATE": InvalidActivationState,
    "FIXTURE_INVALID": FixtureInvalid,
    "BLOB_DIGEST_MISMATCH": BlobDigestMismatch,
    "BLOB_CORRUPT": BlobCorrupt,
    "RUN_CONFLICT": RunConflict,
    "CORPUS_NOT_FOUND": CorpusNotFound,
    "RANKING_FAILED": RankingFailed,
    "OVERLOADED": Overloaded,
    "TOKEN_MISSING": TokenMissing,
    "TOKEN_INVALID": TokenInvalid,
    "NOT_ALLOWED": NotAllowed,
    "INTERNAL": ServiceFault,
    "NOT_IMPLEMENTED": NotImplementedByService,
}

# For a status without a reason of ours, such as one that gRPC itself made, or a reason newer than this client.
BY_CODE: dict[grpc.StatusCode, type[RanktrailError]] = {
    grpc.StatusCode.UNAVAILABLE: ServiceUnreachable,
    grpc.StatusCode.DEADLINE_EXCEEDED: NoAnswer,
    grpc.StatusCode.ABORTED: Conflict,
    grpc.StatusCode.ALREADY_EXISTS: Conflict,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.INVALID_ARGUMENT: Refused,
    grpc.StatusCode.OUT_OF_RANGE: Refused,
    grpc.StatusCode.UNAUTHENTICATED: NotAuthorized,
    grpc.StatusCode.PERMISSION_DENIED: NotAuthorized,
    grpc.StatusCode.UNIMPLEMENTED: NotImplementedByService,
}


def decode(error: grpc.RpcError, service: str, address: str) -> RanktrailError:
    """Return the typed error for what a call to `service` at `address` ended with."""
    code, details = error.code(), error.details() or ""
    reason, metadata = _error_info(error)
    if reason:
        kind = BY_REASON.get(reason, BY_CODE.get(code, Unavailable))
        message = details
    else:
        kind = NoAnswer if _is_silent(code, details) else BY_CODE.get(code, Unavailable)
        message = _sentence(kind, service, address, details)
    return kind(message, code=code, reason=reason, metadata=metadata)


def _is_silent(code: grpc.StatusCode, details: str) -> bool:
    """Say whether gRPC gave a connection up because nobody spoke on it, which it tells as UNAVAILABLE."""
    return code is grpc.StatusCode.UNAVAILABLE and "timed out" in details


def _error_info(error: grpc.RpcError) -> tuple[str, dict[str, str]]:
    for info in _error_infos(error):
        if info.domain == DOMAIN:
            return info.reason, dict(info.metadata)
    return "", {}


def _error_infos(error: grpc.RpcError) -> Iterator[error_details_pb2.ErrorInfo]:
    try:
        status = rpc_status.from_call(cast("grpc.Call", error))
    except (ValueError, DecodeError):  # the details contradict the status, or are none; the status stands
        return
    for detail in status.details if status is not None else ():
        info = error_details_pb2.ErrorInfo()
        if detail.Unpack(info):
            yield info


def _sentence(kind: type[RanktrailError], service: str, address: str, details: str) -> str:
    if kind is ServiceUnreachable:
        return (
            f"{service} cannot be reached at {address}: start it with `ranktrail up`, or name the address it serves at"
        )
    if kind is NoAnswer:
        return f"{service} at {address} did not answer in time: try again later, or end it and start it again"
    if kind is NotImplementedByService:
        return f"{service} at {address} does not serve this method: use a newer release of it"
    return f"{service} at {address} answered: {details or 'nothing more'}"
