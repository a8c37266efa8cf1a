"""Everything that, with a query, determined a Run's ranking."""

from dataclasses import dataclass

from ranktrail.history.v1.history_service_pb2 import RetrievalRun


@dataclass(frozen=True, slots=True)
class Revision:
    """One of them; `value` is empty where the Run failed before it was known."""

    name: str
    value: str
    note: str = ""


def revisions_of(run: RetrievalRun) -> list[Revision]:
    """Return all of them, in the contract's order."""
    profile = run.ranking_profile
    return [
        Revision("Effective Memory", run.effective_memory_hash, _count(run, "resource_count", "resources")),
        Revision("index", run.index_revision, _count(run, "unit_count", "units")),
        Revision("parser", run.parser_revision),
        Revision("chunker", run.chunker_revision),
        Revision("lexical", run.lexical_revision),
        Revision("model", run.model_revision),
        Revision("vectors", run.vector_index_revision),
        Revision("reranker", run.reranker_revision),
        Revision("profile", profile.name, profile.digest),
    ]


def _count(run: RetrievalRun, field: str, noun: str) -> str:
    return f"{getattr(run, field):,} {noun}" if run.HasField(field) else ""  # type: ignore[arg-type]
