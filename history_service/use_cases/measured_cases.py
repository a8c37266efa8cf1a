"""Measures cases, each once for as long as it stands as it is."""

import threading
from collections.abc import Iterator, Sequence

from history_service.domain.limits import MAX_REPORT_CASES
from history_service.evaluation.measured_case import MeasuredCase, measured
from history_service.store.cases import StoredCase
from history_service.store.connection import Connection
from history_service.use_cases.judged_cases import judged_cases


class MeasuredCases:
    """Keeps the measures of as many cases as a report may have. Safe to use from any thread.

    A case's Run, its corpus and a version of its judgments never change, and no sequence is given out twice: what was
    measured of a version stays right.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[int, MeasuredCase] = {}

    def of(self, db: Connection, chosen: Sequence[StoredCase]) -> Iterator[MeasuredCase]:
        """Yield the measures of cases: first of those that are known, then of the others as they are read."""
        new = []
        for stored in chosen:
            known = self._kept.get(stored.sequence)
            if known is not None and known.report.judgment_version == stored.case.judgment_version:
                yield known
            else:
                new.append(stored)
        for stored, judged in zip(new, judged_cases(db, new), strict=True):
            case = measured(judged)
            self._keep(stored.sequence, case)
            yield case

    def learn(self, db: Connection, stored: StoredCase) -> None:
        """Measure a case that a report may ask for."""
        for _ in self.of(db, [stored]):
            pass

    def _keep(self, sequence: int, case: MeasuredCase) -> None:
        """Keep a case instead of its other version, and of the one that was kept first where there is no room."""
        with self._lock:
            self._kept.pop(sequence, None)
            while len(self._kept) >= MAX_REPORT_CASES:
                del self._kept[next(iter(self._kept))]
            self._kept[sequence] = case
