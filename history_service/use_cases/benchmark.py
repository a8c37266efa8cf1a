"""Measures cases."""

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass

from history_service.domain.errors import CaseNotFound, FieldInvalid
from history_service.domain.limits import MAX_REPORT_CASES
from history_service.evaluation.measured_case import MeasuredCase
from history_service.evaluation.report import benchmark_report, report_of
from history_service.evaluation.results import BenchmarkReport
from history_service.store import cases
from history_service.store.cases import StoredCase
from history_service.store.connection import Connection
from history_service.store.database import Database
from history_service.use_cases.judged_cases import judged_cases
from history_service.use_cases.measured_cases import MeasuredCases


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Makes reports; each from one state of the database."""

    database: Database
    measured: MeasuredCases

    def report(
        self, project_id: str | None, case_ids: Sequence[str], *, with_comparisons: bool = True
    ) -> BenchmarkReport:
        """Measure the chosen cases.

        Raise CaseNotFound as `chosen_cases` does, FieldInvalid when they are more than a report can tell of.
        """
        with closing(self._measured(project_id, case_ids)) as measured:
            return report_of(measured, with_comparisons=with_comparisons)

    def _measured(self, project_id: str | None, case_ids: Sequence[str]) -> Generator[MeasuredCase]:
        # Ends, and with it the read transaction, before anything is compared.
        with self.database.reading() as db:
            chosen = chosen_cases(db, project_id, case_ids)
            if len(chosen) > MAX_REPORT_CASES:
                problem = f"choose {len(chosen)} cases: choose at most {MAX_REPORT_CASES}"
                raise FieldInvalid("case_ids", problem, MAX_REPORT_CASES)
            yield from self.measured.of(db, chosen)


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
