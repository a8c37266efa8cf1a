"""A record with what was retrieved and answered for it."""

from dataclasses import dataclass

from ranktrail_evals.answers import Answer
from ranktrail_evals.contexts import Retrieval
from ranktrail_evals.dataset.model import Citation, Record
from ranktrail_evals.join import Matches, resolve_retrieved_citations, retrieved_matches
from ranktrail_evals.passages import Context
from ranktrail_evals.scores import Reason

Joined = tuple[tuple[Citation, ...], tuple[str, ...], tuple[str | None, ...] | None, tuple[Context, ...]]


@dataclass(frozen=True, slots=True)
class Case:
    """What metrics see. In place of a retrieval or an answer stands the reason why there is none."""

    record: Record
    retrieval: Retrieval | Reason
    answer: Answer | Reason
    run_id: str | None = None

    @property
    def contexts(self) -> tuple[Context, ...] | Reason:
        """What the answer could use."""
        return self.retrieval if isinstance(self.retrieval, Reason) else self.retrieval.contexts

    @property
    def answer_text(self) -> str | Reason:
        """The answer in words."""
        if isinstance(self.answer, Reason):
            return self.answer
        return Reason.NO_ANSWER if self.answer.text is None else self.answer.text

    def retrieved_citations(self) -> frozenset[str] | Reason:
        """Return the citations that the retrieval brought."""
        joined = self._joined()
        if isinstance(joined, Reason):
            return joined
        found = resolve_retrieved_citations(*joined)
        return Reason.UNDECIDABLE_JOIN if found is None else found

    def retrieved_by_rank(self) -> Matches | Reason:
        """Return the citations that each retrieved thing brought, best first."""
        joined = self._joined()
        if isinstance(joined, Reason):
            return joined
        found = retrieved_matches(*joined)
        return Reason.UNDECIDABLE_JOIN if found is None else found

    def cited_by_answer(self) -> Matches | Reason:
        """Return the citations that each thing the answer cites brought; never empty.

        A live answer cites contexts, which the join turns into citations as it does for the retrieval.
        """
        if isinstance(self.answer, Reason):
            return self.answer
        cited = tuple(dict.fromkeys(one for one in self.answer.cited_ids or () if one is not None))
        if not cited or not self.record.relevant_ids:
            return Reason.MISSING_ANNOTATION
        if not self.record.citation_ids.isdisjoint(cited):
            return retrieved_matches(self.record.citations, self.record.relevant_ids, cited, ()) or ()
        brought, contexts = self.retrieved_by_rank(), self.contexts
        if isinstance(brought, Reason) or isinstance(contexts, Reason):
            return Reason.UNDECIDABLE_JOIN
        # What it cites and was never retrieved brought nothing.
        by_context = {context.context_id: one for context, one in zip(contexts, brought, strict=False)}
        return tuple(by_context.get(one, frozenset()) for one in cited)

    def _joined(self) -> Joined | Reason:
        """Return what the join is asked of the retrieval."""
        if isinstance(self.retrieval, Reason):
            return self.retrieval
        if not self.record.relevant_ids:
            return Reason.MISSING_ANNOTATION
        ids = self.retrieval.ids_in(self.record.citation_ids)
        return self.record.citations, self.record.relevant_ids, ids, self.retrieval.contexts
