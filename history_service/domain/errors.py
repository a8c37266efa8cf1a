"""Errors that history raises on purpose.

HistoryError
├── FieldInvalid               a field of the request is wrong
├── PageTokenInvalid
├── RunNotFound
├── CaseNotFound
├── ResourceNotFound
├── RunConflict                another trace under the id of a recorded Run
├── RunNotSucceeded            a case cannot be made of it
├── JudgmentConflict           a case's judgments were replaced meanwhile
├── CorpusNotFound             a Run whose Effective Memory is not stored
├── BlobDigestMismatch         bytes that are not what their digest says, as sent
├── BlobCorrupt                the same, as stored
├── FixtureInvalid             an exported set that cannot be read back
├── WriteFailed                the database or the disk refused a write
└── StoreUnusable              the service cannot start; the message says what to do
    ├── DirectoryUnfit
    └── SchemaRefused
"""


class HistoryError(Exception):
    """Any error that somebody is told about."""


class FieldInvalid(HistoryError):
    """A field of the request is wrong; `limit` is the bound it broke, where there is one."""

    def __init__(self, field: str, problem: str, limit: int | None = None) -> None:
        super().__init__(f"{field} {problem}")
        self.field = field
        self.limit = limit


class PageTokenInvalid(HistoryError):
    """A page token that this server did not make for this request."""

    def __init__(self) -> None:
        super().__init__(
            "page_token is not one of this request: send the next_page_token of a page with the same filters"
        )


class RunNotFound(HistoryError):
    """No Run has this id."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"run_id {run_id!r} is not known: it was never recorded, or it was removed")
        self.run_id = run_id


class CaseNotFound(HistoryError):
    """No case has this id."""

    def __init__(self, case_id: str) -> None:
        super().__init__(f"case_id {case_id!r} is not known: it was never made, or it was deleted")
        self.case_id = case_id


class ResourceNotFound(HistoryError):
    """The Run's Effective Memory has no such resource."""

    def __init__(self, resource_id: str) -> None:
        super().__init__(f"resource_id {resource_id!r} is not in the Run's Effective Memory")
        self.resource_id = resource_id


class RunConflict(HistoryError):
    """Another trace is recorded under the id already."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"run_id {run_id!r} is recorded with another trace: give each Run an id of its own")
        self.run_id = run_id


class RunNotSucceeded(HistoryError):
    """A case can be made of a succeeded Run only; `state` is the JSON word of the Run's state."""

    def __init__(self, run_id: str, state: str) -> None:
        advice = "wait for its end" if state == "running" else "choose a Run that succeeded"
        super().__init__(f"run_id {run_id!r} is {state}: {advice}")
        self.run_id = run_id
        self.state = state


class JudgmentConflict(HistoryError):
    """The caller saw another version of a case's judgments than the present one.

    `author` and `update_time_us` are those of the present version.
    """

    def __init__(self, case_id: str, expected: int, current: int, author: str, update_time_us: int) -> None:
        super().__init__(
            f"expected_judgment_version is {expected} and the case is at {current}: "
            "read its judgments again and send yours with that version"
        )
        self.case_id = case_id
        self.expected = expected
        self.current = current
        self.author = author
        self.update_time_us = update_time_us


class CorpusNotFound(HistoryError):
    """A Run's Effective Memory is not stored."""

    def __init__(self, effective_memory_hash: str) -> None:
        super().__init__(
            f"effective_memory_hash {effective_memory_hash} is not stored: put the corpus, then send the Run again"
        )
        self.effective_memory_hash = effective_memory_hash


class BlobDigestMismatch(HistoryError):
    """Bytes that were sent and are not what their digest says."""

    def __init__(self, digest: str, problem: str) -> None:
        super().__init__(f"body of digest {digest}: {problem}")
        self.digest = digest


class BlobCorrupt(HistoryError):
    """Bytes that were stored and are not what their digest says, or are gone."""

    def __init__(self, digest: str, problem: str) -> None:
        super().__init__(f"stored body of digest {digest}: {problem}; put a corpus that holds it to repair it")
        self.digest = digest


class FixtureInvalid(HistoryError):
    """A field of an exported set is wrong; `field` is a path such as `cases[3].query`."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field} {problem}")
        self.field = field


class WriteFailed(HistoryError):
    """The database or the disk refused a write; nothing of it is stored."""


class StoreUnusable(HistoryError):
    """The service cannot start on what it was given."""


class DirectoryUnfit(StoreUnusable):
    """The data directory cannot hold a database safely."""


class SchemaRefused(StoreUnusable):
    """The database is not one that this release can use."""
