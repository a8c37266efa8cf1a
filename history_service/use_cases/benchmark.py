"""Measures cases."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from history_service.domain.errors import CaseNotFound, FieldInvalid
from history_service.domain.limits import MAX_REPORT_CASES
from history_service.evaluation.fused_set import RankedUnit
from history_service.evaluation.judged_case import JudgedCase
from history_service.evaluation.report import benchmark_report
from history_service.evaluation.results import BenchmarkReport
from history_service.store import cases, judgments, source_traces
from history_service.store.cases import StoredCase
from history_service.store.connection import Connection
from history_service.store.database import Database

_RESOURCE_ID = RankedUnit._fields.index("resource_id")


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Makes reports; each from one state of the database."""

    database: Database

    def report(
        self, project_id: str | None, case_ids: Sequence[str], *, with_comparisons: bool = True
    ) -> BenchmarkReport:
        """Measure the chosen cases.

        Raise CaseNotFound as `chosen_cases` does, FieldInvalid when they are more than a report can tell of.
        """
        with closing(self._judged(project_id, case_ids)) as judged:
            return benchmark_report(judged, with_comparisons=with_comparisons)

    def _judged(self, project_id: str | None, case_ids: Sequence[str]) -> Generator[JudgedCase]:
        # Ends, and with it the read transaction, before anything is compared.
        with self.database.reading() as db:
            chosen = chosen_cases(db, project_id, case_ids)
            if len(chosen) > MAX_REPORT_CASES:
                problem = f"choose {len(chosen)} cases: choose at most {MAX_REPORT_CASES}"
                raise FieldInvalid("case_ids", problem, MAX_REPORT_CASES)
            yield from judged_cases(db, chosen)


def chosen_cases(db: Connection, project_id: str | None, case_ids: Sequence[str]) -> list[StoredCase]:
    """Return the cases of a project, or all, or of these only those named, cases of one corpus together.

    Raise CaseNotFound when one that is named is not there, or is another project's.
    """
    if not case_ids:
        return cases.all_cases(db, project_id)
    found = cases.cases_by_id(db, sorted(set(case_ids)))
    known = {stored.case.case_id for stored in found if project_id in (None, stored.case.project_id)}
    for case_id in case_ids:
        if case_id not in known:
            raise CaseNotFound(case_id)
    return found


def case_report(db: Connection, stored: StoredCase) -> BenchmarkReport:
    """Measure one case."""
    return benchmark_report(judged_cases(db, [stored]), with_comparisons=False)


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
