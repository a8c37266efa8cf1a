"""Puts the frames of one Run together and decides whether they are whole."""

import hashlib
from collections.abc import Sequence

from history_service.domain.errors import FieldInvalid
from history_service.domain.limits import MAX_RUN_CANDIDATE_BYTES, MAX_RUN_CANDIDATES
from history_service.domain.run import Candidate, Revisions, RunEnd, RunStart, RunState, RunTrace


class RunAssembly:
    """One Run under way. The first problem is kept until the Run's last frame, since each Run is answered once."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.problem: FieldInvalid | None = None
        self._start: RunStart | None = None
        self._revisions: Revisions | None = None
        self._candidates: list[Candidate] = []
        self._bytes = 0
        self._hash = hashlib.sha256()

    def refuse(self, problem: FieldInvalid) -> None:
        """Keep the first problem, and nothing else of the Run."""
        self.problem = self.problem or problem
        self._candidates.clear()

    def start(self, start: RunStart) -> None:
        """Take the first frame; raise FieldInvalid when it is not the first."""
        if self._start is not None:
            raise FieldInvalid("started", "came twice: send it once, first")
        self._start = start

    def revise(self, revisions: Revisions) -> None:
        """Take the revisions; raise FieldInvalid out of turn."""
        self._require_started("revisions")
        if self._revisions is not None:
            raise FieldInvalid("revisions", "came twice: send them once")
        self._revisions = revisions

    def add(self, candidates: Sequence[Candidate], frame: bytes) -> None:
        """Take a frame of candidates and its bytes; raise FieldInvalid out of turn and beyond the limits."""
        self._require_started("candidates")
        self._hash.update(frame)
        self._bytes += len(frame)
        self._candidates += candidates
        if len(self._candidates) > MAX_RUN_CANDIDATES:
            raise FieldInvalid("candidates", f"are more than {MAX_RUN_CANDIDATES} in a Run", MAX_RUN_CANDIDATES)
        if self._bytes > MAX_RUN_CANDIDATE_BYTES:
            raise FieldInvalid(
                "candidates", f"have more than {MAX_RUN_CANDIDATE_BYTES} bytes in a Run", MAX_RUN_CANDIDATE_BYTES
            )

    def finish(self, end: RunEnd) -> RunTrace:
        """Take the last frame and return the whole trace; raise FieldInvalid when it is not whole."""
        start = self._require_started("finished")
        self._require_whole(end)
        return RunTrace(start, self._revisions or Revisions(), end, tuple(self._candidates))

    def _require_started(self, field: str) -> RunStart:
        if self._start is None:
            raise FieldInvalid(field, "came before started: send started first")
        return self._start

    def _require_whole(self, end: RunEnd) -> None:
        if end.state is RunState.SUCCEEDED and (self._revisions or Revisions()).effective_memory_hash is None:
            raise FieldInvalid("revisions.effective_memory_hash", "is missing: a succeeded Run has one")
        if len(self._candidates) != end.candidate_count:
            sent = len(self._candidates)
            raise FieldInvalid("finished.candidate_count", f"is {end.candidate_count} but {sent} candidates came")
        if self._hash.hexdigest() != end.candidates_digest:
            raise FieldInvalid("finished.candidates_digest", "is not the digest of the candidate frames that came")
        if len({candidate.unit_key for candidate in self._candidates}) != len(self._candidates):
            raise FieldInvalid("candidates.unit_key", "stands twice in one Run")
