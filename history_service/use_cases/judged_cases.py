"""Reads cases as they are measured."""

from collections.abc import Iterable, Iterator

from history_service.evaluation.fused_set import RankedUnit
from history_service.evaluation.judged_case import JudgedCase
from history_service.store import judgments, source_traces
from history_service.store.cases import StoredCase
from history_service.store.connection import Connection

_RESOURCE_ID = RankedUnit._fields.index("resource_id")


def judged_cases(db: Connection, chosen: Iterable[StoredCase]) -> Iterator[JudgedCase]:
    """Read cases as they are measured, one after another; of those of one corpus it is read once."""
    corpus = _Corpus("")
    for stored in chosen:
        case = stored.case
        if case.corpus_hash != corpus.hash:
            corpus = _Corpus(case.corpus_hash)
        units = source_traces.unit_rows(db, stored.run_sequence, RankedUnit._fields)
        latencies, cold = source_traces.times(db, stored.run_sequence)
        yield JudgedCase(
            case_id=case.case_id,
            judgment_version=case.judgment_version,
            judgments=judgments.judgments_of(db, stored.sequence, case.judgment_version),
            units=units,
            corpus=corpus.digests(db, {unit[_RESOURCE_ID] for unit in units}),
            stage_latencies=latencies,
            cold=cold,
        )


class _Corpus:
    """The digests of one corpus, read as they are asked for: a corpus may be far larger than what its Runs found."""

    def __init__(self, corpus_hash: str) -> None:
        self.hash = corpus_hash
        self._asked: set[str] = set()
        self._digests: dict[str, str] = {}

    def digests(self, db: Connection, resource_ids: set[str]) -> dict[str, str]:
        """Return the digests known so far, those of these resources among them."""
        new = resource_ids - self._asked
        if new:
            self._digests.update(source_traces.corpus_digests(db, self.hash, new))
            self._asked |= new
        return self._digests
