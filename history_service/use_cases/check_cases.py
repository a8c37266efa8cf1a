"""Checks every case: against the Run that it pins, and against its judgments."""

from collections.abc import Iterator
from dataclasses import dataclass

from history_service.domain.case import JudgmentVersion
from history_service.domain.errors import FieldInvalid
from history_service.domain.run import Run, RunState
from history_service.store import cases, exported, inspected, read_runs
from history_service.store.cases import StoredCase
from history_service.store.connection import Connection
from history_service.store.database import Database
from history_service.use_cases.check_judgments import check_judgments, judgeable
from history_service.use_cases.check_runs import UNREADABLE
from ranktrail_serving.storage import EVENT_EVERY, Event, Problem, Progress

PHASE = "cases"


@dataclass(frozen=True, slots=True)
class CheckCases:
    """Looks at every case, each in one state of the database."""

    database: Database

    def check(self) -> Iterator[Event]:
        """Yield what is wrong, and progress by cases."""
        with self.database.reading() as db:
            case_ids = [stored.case.case_id for stored in cases.all_cases(db, None)]
            lost = inspected.count(db, "evaluation_cases") - len(case_ids)
        if lost:
            yield Problem("reference_broken", "table evaluation_cases", f"{lost} cases lack their Run or their corpus")
        for done, case_id in enumerate(case_ids):
            if done % EVENT_EVERY == 0:
                yield Progress(PHASE, done, len(case_ids))
            with self.database.reading() as db:
                stored = cases.case_by_id(db, case_id)
                problems = [] if stored is None else list(_problems(db, stored))
            yield from problems
        yield Progress(PHASE, len(case_ids), len(case_ids))


def _problems(db: Connection, stored: StoredCase) -> Iterator[Problem]:
    subject = f"case {stored.case.case_id}"
    try:
        run = read_runs.run_by_id(db, stored.case.run_id)
        versions = list(exported.versions_of(db, stored.sequence))
        differing = _differing(stored, run, versions)
        if differing:
            yield Problem("case_differs", subject, f"{', '.join(differing)}: not what its Run and its judgments say")
        yield from _judgment_problems(db, stored, versions, subject)
    except UNREADABLE as error:
        yield Problem("row_unreadable", subject, f"its rows hold what no case holds ({type(error).__name__})")


def _differing(stored: StoredCase, run: Run | None, versions: list[JudgmentVersion]) -> list[str]:
    case, present = stored.case, versions[-1]
    first_is_empty = case.judgment_version == 1
    wanted = {
        "run_id": run is not None and run.state is RunState.SUCCEEDED,
        "project_id": run is not None and run.start.project_id == case.project_id,
        "query": run is not None and run.start.query == case.query,
        "corpus_hash": run is not None and run.revisions.effective_memory_hash == case.corpus_hash,
        "judgment_version": [one.judgment_version for one in versions] == list(range(1, case.judgment_version + 1)),
        "judgment_count": len(present.judgments) == case.judgment_count,
        "human_judged": any(one.source == "human" for one in present.judgments) == case.human_judged,
        "judgment_author": present.author == case.judgment_author,
        "judge_time": case.judge_time_us == (None if first_is_empty else present.judge_time_us),
    }
    return [name for name, is_right in wanted.items() if not is_right]


def _judgment_problems(
    db: Connection, stored: StoredCase, versions: list[JudgmentVersion], subject: str
) -> Iterator[Problem]:
    for version in versions:
        try:
            check_judgments(version.judgments, judgeable(db, stored, version.judgments))
        except FieldInvalid as error:
            yield Problem("judgment_invalid", subject, f"version {version.judgment_version}: {error}")
