"""One evaluation: cases, their scores without a judge, stored, and then the judge's."""

from collections.abc import Callable, Sequence

from ranktrail_evals.answers import Answerer
from ranktrail_evals.contexts import Retriever
from ranktrail_evals.dataset.model import Record
from ranktrail_evals.judge.port import Judge
from ranktrail_evals.runner import Evaluated, Runner, evaluated


async def evaluate(
    runner: Runner,
    records: Sequence[Record],
    retriever: Retriever,
    answerer: Answerer,
    judge: Judge | None = None,
    store: Callable[[Sequence[Evaluated]], None] = lambda _: None,
) -> list[Evaluated]:
    """Return the scores of each record, in their order.

    `store` is given every score that needs no judge before a judge is asked anything.
    """
    cases = await runner.cases(records, retriever, answerer)
    found = [evaluated(case, judge_configured=judge is not None) for case in cases]
    if judge is not None:
        store(found)
        await runner.judge(found, judge)
    return found
