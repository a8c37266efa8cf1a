"""Runs cases: what retrieves and answers first, then every metric without a judge, and only then the judge.

Calls wait for a free place and are timed from when they have it. A call that is out of time is cancelled.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ranktrail_evals.answers import Answer, Answerer, AnswerFailed
from ranktrail_evals.cases import Case
from ranktrail_evals.contexts import Retrieval, RetrievalFailed, Retriever
from ranktrail_evals.dataset.model import Record
from ranktrail_evals.judge.catalog import JUDGED, JudgedMetric
from ranktrail_evals.judge.port import Judge, JudgeFailed
from ranktrail_evals.metrics.catalog import DETERMINISTIC
from ranktrail_evals.scores import Reason, Score

T = TypeVar("T")
Progress = Callable[[str, int, int], None]
"""Is told a phase, and how many of how many of its steps are done."""

RETRIEVE_PHASE, JUDGE_PHASE = "retrieve", "judge"


@dataclass(frozen=True, slots=True)
class Limits:
    """How many calls run at once, and the seconds that each may take.

    A retrieval has `case_timeout`, an answer has it too, and each judged metric of a case has `metric_timeout`.
    """

    concurrency: int
    case_timeout: float
    metric_timeout: float


@dataclass(slots=True)
class Evaluated:
    """A case with its scores; those of the judge are added when they are there."""

    case: Case
    scores: dict[str, Score]
    lexical_baselines: dict[str, Score] = field(default_factory=dict)


class Runner:
    """Runs cases under limits; one event loop, any number of times."""

    def __init__(self, limits: Limits, progress: Progress) -> None:
        self._limits = limits
        self._progress = progress
        self._places = asyncio.Semaphore(limits.concurrency)

    async def cases(self, records: Sequence[Record], retriever: Retriever, answerer: Answerer) -> list[Case]:
        """Return the case of each record, in their order.

        A retrieval or an answer that fails or takes too long is a reason in its case; other errors are raised.
        """

        async def made(record: Record) -> Case:
            return await self._case(record, retriever, answerer)

        return await self._all(RETRIEVE_PHASE, [made(record) for record in records])

    async def judge(self, evaluated: Sequence[Evaluated], judge: Judge) -> None:
        """Add the judge's scores to each case. Whatever happens to one of them, the others are asked for."""

        async def add(one: Evaluated, metric: JudgedMetric) -> None:
            one.scores[metric.definition.name] = await self._judged(one.case, metric, judge)

        await self._all(JUDGE_PHASE, [add(one, metric) for one in evaluated for metric in JUDGED])

    async def _case(self, record: Record, retriever: Retriever, answerer: Answerer) -> Case:
        retrieval, run_id = await self._retrieval(record, retriever)
        if isinstance(retrieval, Reason):
            return Case(record, retrieval, retrieval, run_id)
        return Case(record, retrieval, await self._answer(record, retrieval, answerer), run_id)

    async def _retrieval(self, record: Record, retriever: Retriever) -> tuple[Retrieval | Reason, str | None]:
        try:
            found = await self._timed(lambda: retriever.retrieve(record), self._limits.case_timeout)
        except TimeoutError:
            return Reason.RETRIEVAL_TIMEOUT, None
        except RetrievalFailed as error:
            return Reason.RETRIEVAL_ERROR, error.run_id
        return found, found.run_id

    async def _answer(self, record: Record, retrieval: Retrieval, answerer: Answerer) -> Answer | Reason:
        try:
            answer = await self._timed(lambda: answerer.answer(record, retrieval), self._limits.case_timeout)
        except TimeoutError:
            return Reason.ANSWER_TIMEOUT
        except AnswerFailed:
            return Reason.ANSWER_ERROR
        return Reason.NO_ANSWER if answer is None else answer

    async def _judged(self, case: Case, metric: JudgedMetric, judge: Judge) -> Score:
        try:
            return await self._timed(lambda: metric.score(case, judge), self._limits.metric_timeout)
        except TimeoutError:
            return Reason.JUDGE_TIMEOUT
        except JudgeFailed:
            return Reason.JUDGE_ERROR

    async def _timed(self, call: Callable[[], Awaitable[T]], seconds: float) -> T:
        async with self._places, asyncio.timeout(seconds):
            return await call()

    async def _all(self, phase: str, calls: Sequence[Awaitable[T]]) -> list[T]:
        """Return what the calls return; the first error cancels the others, and is raised as itself."""
        done = 0

        async def counted(call: Awaitable[T]) -> T:
            nonlocal done
            result = await call
            done += 1
            self._progress(phase, done, len(calls))
            return result

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(counted(call)) for call in calls]
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return [task.result() for task in tasks]


def evaluated(case: Case, *, judge_configured: bool) -> Evaluated:
    """Return a case with every score that needs no judge; those of a judge are the reason why they are not there."""
    unasked = Reason.JUDGE_NOT_ASKED if judge_configured else Reason.JUDGE_NOT_CONFIGURED
    return Evaluated(
        case,
        {metric.definition.name: metric.score(case) for metric in DETERMINISTIC}
        | {metric.definition.name: unasked for metric in JUDGED},
        {metric.definition.name: metric.lexical(case) for metric in JUDGED},
    )
