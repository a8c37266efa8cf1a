"""Judging one case: which candidate is looked at, what was judged, and how to take it back."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self

from ranktrail.evaluation.v1.evaluation_service_pb2 import EvaluationCase, EvaluationJudgment
from ranktrail.history.v1.history_service_pb2 import GetRetrievalRunResponse
from ranktrail.trace.v1.trace_pb2 import Candidate
from ranktrail_client.judgments import Subject, in_order, subject_of

Judgments = dict[Subject, EvaluationJudgment]


@dataclass(slots=True)
class Judging:
    """A person's work on a case; `version` is the one that `stored` is of."""

    case: EvaluationCase
    candidates: Sequence[Candidate]
    version: int
    stored: Judgments
    judgments: Judgments
    position: int = 0
    _done: list[tuple[int, Subject, EvaluationJudgment | None]] = field(default_factory=list)

    @classmethod
    def of(cls, found: GetRetrievalRunResponse) -> Self:
        """Begin with a case's present judgments, at the first candidate that nobody judged."""
        stored = by_subject(found.judgments)
        one = found.evaluation_case
        judging = cls(one, found.candidates, one.judgment_version, stored, dict(stored))
        judging.go_to_unjudged()
        return judging

    @property
    def candidate(self) -> Candidate | None:
        """The candidate that is looked at; None past the last."""
        return self.candidates[self.position] if self.position < len(self.candidates) else None

    @property
    def is_changed(self) -> bool:
        """Whether there is anything to save."""
        return self.judgments != self.stored

    @property
    def changed_count(self) -> int:
        """Subjects that were judged, judged anew, or no longer are."""
        subjects = self.judgments.keys() | self.stored.keys()
        return sum(self.judgments.get(one) != self.stored.get(one) for one in subjects)

    def whole_set(self) -> list[EvaluationJudgment]:
        """Return every judgment, in order."""
        return in_order(self.judgments.values())

    def was_recalled(self, resource_id: str) -> bool:
        """Say whether a unit of the resource is among the candidates."""
        return any(candidate.resource_id == resource_id for candidate in self.candidates)

    def judgment_of(self, resource_id: str, unit_key: str | None = None) -> EvaluationJudgment | None:
        """Return what was judged of a unit, or of a whole resource."""
        return self.judgments.get((resource_id, unit_key))

    def judge_candidate(self, relevance: int) -> None:
        """Judge the candidate that is looked at and go on to the next; nothing past the last."""
        if self.candidate is not None:
            self._judge(self.candidate.resource_id, self.candidate.unit_key, relevance)
            self.position += 1

    def judge_resource(self, resource_id: str, relevance: int) -> None:
        """Judge a whole resource, as missed when no unit of it is a candidate."""
        self._judge(resource_id, None, relevance)

    def move(self, step: int) -> None:
        """Look at another candidate."""
        self.position = min(max(self.position + step, 0), len(self.candidates))

    def undo(self) -> bool:
        """Take the last judgment back and look at what it was of; say whether there was one."""
        if not self._done:
            return False
        self.position, subject, before = self._done.pop()
        if before is None:
            del self.judgments[subject]
        else:
            self.judgments[subject] = before
        return True

    def replace_by(self, judgments: Iterable[EvaluationJudgment]) -> None:
        """Go on with another set, such as an earlier sitting's; there is no undo past it."""
        self.judgments = by_subject(judgments)
        self._done.clear()
        self.go_to_unjudged()

    def go_to_unjudged(self) -> None:
        """Look at the first candidate that was not judged; past the last where each was."""
        unjudged = (
            at for at, one in enumerate(self.candidates) if self.judgment_of(one.resource_id, one.unit_key) is None
        )
        self.position = next(unjudged, len(self.candidates))

    def _judge(self, resource_id: str, unit_key: str | None, relevance: int) -> None:
        subject = (resource_id, unit_key)
        before = self.judgments.get(subject)
        self._done.append((self.position, subject, before))
        self.judgments[subject] = EvaluationJudgment(
            resource_id=resource_id,
            unit_key=unit_key,
            relevance=relevance,
            missed=unit_key is None and not self.was_recalled(resource_id),
            notes="" if before is None else before.notes,
            source=EvaluationJudgment.SOURCE_HUMAN,
        )


def by_subject(judgments: Iterable[EvaluationJudgment]) -> Judgments:
    """Return judgments by what they are of."""
    return {subject_of(one): one for one in judgments}
