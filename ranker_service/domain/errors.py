"""Errors that the ranker raises on purpose.

RankerError
├── FieldInvalid               a field of the request is wrong
├── PageTokenInvalid
├── ProjectNotFound
├── IndexNotReady
├── ResourceIdConflict         one id for two paths
├── CommitConflict             the layer's head is another one
├── BlobDigestMismatch         bytes that are not what their header says
├── StageFailed                a stage of a Run failed; carries the stage and a stable code
│   └── ActivationStateInvalid
└── RunFailed                  what a caller is told: the cause and the recorded Run's id
"""

from ranker_service.domain.trace import Stage


class RankerError(Exception):
    """Any error that a caller is told about."""


class FieldInvalid(RankerError):
    """A field of the request is wrong; `limit` is the bound it broke, where there is one."""

    def __init__(self, field: str, problem: str, limit: int | None = None) -> None:
        super().__init__(f"{field} {problem}")
        self.field = field
        self.limit = limit


class PageTokenInvalid(RankerError):
    """A page token that this server did not make for this request."""


class ProjectNotFound(RankerError):
    """Nobody committed to this project."""

    def __init__(self, project_id: str) -> None:
        super().__init__(f"project_id {project_id!r} is not known: commit to it first, as `ranktrail sync` does")
        self.project_id = project_id


class IndexNotReady(RankerError):
    """The project has no complete index yet."""

    def __init__(self, project_id: str) -> None:
        super().__init__(
            f"project_id {project_id!r} has no complete index yet: try again when `ranktrail sync` has ended"
        )
        self.project_id = project_id


class ResourceIdConflict(RankerError):
    """One resource id for two paths."""

    def __init__(self, resource_id: str, path: str, other_path: str) -> None:
        super().__init__(f"resource_id {resource_id!r} is used for {path!r} and {other_path!r}: give each path its own")
        self.resource_id = resource_id
        self.path = path
        self.other_path = other_path


class CommitConflict(RankerError):
    """The layer's head is not the expected parent."""

    def __init__(self, expected: str, current: str) -> None:
        super().__init__(
            f"the layer's head was expected to be {expected or 'none'!r} and is {current or 'none'!r}: "
            "read the layer again and repeat the commit"
        )
        self.expected = expected
        self.current = current


class BlobDigestMismatch(RankerError):
    """A body whose bytes are not those that its header announced."""

    def __init__(self, digest: str, problem: str) -> None:
        super().__init__(f"body of digest {digest}: {problem}")
        self.digest = digest


class StageFailed(RankerError):
    """A stage could not do its work; `code` is a stable word."""

    def __init__(self, stage: Stage, code: str, summary: str) -> None:
        super().__init__(summary)
        self.stage = stage
        self.code = code
        self.summary = summary


class ActivationStateInvalid(StageFailed):
    """The caller's activation state does not decode."""

    def __init__(self, problem: str) -> None:
        super().__init__(
            Stage.ACTIVATION_STATE,
            "invalid_activation_state",
            f"activation_state {problem}: send the next_activation_state of a response, or none",
        )


class RunFailed(RankerError):
    """A Run ended as failed; `cause` says why and `run_id` finds its trace."""

    def __init__(self, run_id: str, cause: RankerError) -> None:
        super().__init__(str(cause))
        self.run_id = run_id
        self.cause = cause
