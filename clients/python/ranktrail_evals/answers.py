"""What answers: a question and its contexts to an answer. A live generator implements Answerer."""

from dataclasses import dataclass
from typing import Protocol

from ranktrail_evals.contexts import Retrieval
from ranktrail_evals.dataset.model import Record


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, and the ids of what it cites: citations offline, contexts live. None: that is not known."""

    text: str | None
    cited_ids: tuple[str | None, ...] | None = None


class AnswerFailed(Exception):
    """One question got no answer from the generator; the others are still asked."""


class Answerer(Protocol):
    """Answers one record at a time; several records at once, up to the run's concurrency."""

    async def answer(self, record: Record, retrieval: Retrieval) -> Answer | None:
        """Return the answer, None where there is none to measure.

        Raises AnswerFailed when this question fails; any other error ends the run. It is cancelled when the case's time
        is over.
        """


class OfflineAnswerer:
    """Answers what the record declares."""

    async def answer(self, record: Record, retrieval: Retrieval) -> Answer | None:  # noqa: ARG002 - the protocol's
        """Return the record's offline answer, and what that cites."""
        if record.offline_answer is None and record.answer_citation_ids is None:
            return None
        return Answer(record.offline_answer, record.answer_citation_ids)


class NoAnswerer:
    """Answers nothing: a live run that has no generator."""

    async def answer(self, record: Record, retrieval: Retrieval) -> Answer | None:  # noqa: ARG002 - the protocol's
        """Return None."""
        return None
