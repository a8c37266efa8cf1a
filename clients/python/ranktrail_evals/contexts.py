"""What retrieves: a record's question to the contexts that an answer may use.

A live retriever implements Retriever; the runner, the metrics and the result know nothing else of it.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from ranktrail_evals.dataset.model import Record
from ranktrail_evals.passages import Context


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What was retrieved, best first.

    `ids` are in whatever namespace the retriever has; None: it has none; empty: nothing was retrieved. `other_ids` name
    the same things in further namespaces, such as their resources or digests, each as long as `ids`. A live retriever
    has an id for each context. `run_id` is the recorded Run, where there is one.
    """

    contexts: tuple[Context, ...]
    ids: tuple[str | None, ...] | None
    run_id: str | None = None
    other_ids: tuple[tuple[str | None, ...], ...] = ()

    def ids_in(self, declared: Collection[str]) -> tuple[str | None, ...] | None:
        """Return the ids of the first namespace that some of the `declared` ids belong to, else `ids`."""
        shared = (ids for ids in (self.ids, *self.other_ids) if ids is not None and not set(ids).isdisjoint(declared))
        return next(shared, self.ids)


class RetrievalFailed(Exception):
    """One question was not answered by the retriever; the others are still asked. `run_id` is the failed Run's."""

    def __init__(self, message: str, run_id: str | None = None) -> None:
        super().__init__(message)
        self.run_id = run_id


class Retriever(Protocol):
    """Retrieves for one record at a time; several records at once, up to the run's concurrency."""

    async def retrieve(self, record: Record) -> Retrieval:
        """Return what `record.question` retrieves.

        Raises RetrievalFailed when this question fails; any other error ends the run. It is cancelled when the case's
        time is over.
        """


class OfflineRetriever:
    """Retrieves what the record declares."""

    async def retrieve(self, record: Record) -> Retrieval:
        """Return the declared ids and contexts: by default every citation, and the texts of what was retrieved."""
        ids = record.offline_retrieved_citation_ids
        if ids is None:
            ids = tuple(citation.citation_id for citation in record.citations)
        if record.offline_contexts is not None:
            return Retrieval(tuple(Context(text) for text in record.offline_contexts), ids)
        texts = {citation.citation_id: citation.text for citation in record.citations}
        held = ((one, texts[one]) for one in ids)
        return Retrieval(tuple(Context(text, one) for one, text in held if text is not None), ids)
