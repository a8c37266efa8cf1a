"""Calls are timed from their start, cancelled when their time is over, and cost nobody else anything."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from ranktrail_evals.answers import Answer, AnswerFailed, OfflineAnswerer
from ranktrail_evals.contexts import OfflineRetriever, Retrieval, RetrievalFailed
from ranktrail_evals.dataset.model import Record
from ranktrail_evals.evaluation import evaluate
from ranktrail_evals.judge.catalog import JUDGED
from ranktrail_evals.judge.port import JudgeFailed, Verdict
from ranktrail_evals.metrics.catalog import DETERMINISTIC
from ranktrail_evals.passages import Context
from ranktrail_evals.runner import Evaluated, Limits, Runner
from ranktrail_evals.scores import Reason
from tests.unit.evals.made import a_record

LIMITS = Limits(concurrency=4, case_timeout=5, metric_timeout=5)
OFFLINE = (OfflineRetriever(), OfflineAnswerer())
RECORDS = [a_record(record_id=f"r{place}", offline_answer="this one") for place in range(4)]


def runner(limits: Limits = LIMITS) -> Runner:
    return Runner(limits, lambda *_: None)


class ScriptedJudge:
    """Says what a script says of a question's shape and of what it was given."""

    def __init__(self, script: Any = lambda *_: None) -> None:
        self.script = script
        self.asked = 0

    async def ask(self, question: str, material: Mapping[str, Any], shape: type[Verdict]) -> Verdict:
        self.asked += 1
        waited = self.script(shape.__name__, material)
        if waited is not None:
            await waited
        field = next(iter(shape.model_fields))
        good = {"statements": [{"statement": "s", "supported": True}], "questions": ["Which?"], "verdicts": [True]}
        if shape.__name__ == "MadeUpStatements":
            good["statements"] = [{"statement": "s", "made_up": False}]
        return shape.model_validate({field: good[field]})

    async def similarities(self, text: str, others: Sequence[str]) -> list[float]:
        return [1.0] * len(others)


def judged(judge: ScriptedJudge, limits: Limits = LIMITS) -> list[Evaluated]:
    records = [
        a_record(record_id=f"r{place}", offline_answer=f"answer {place}", offline_contexts=["context"])
        for place in range(4)
    ]
    return asyncio.run(evaluate(runner(limits), records, *OFFLINE, judge))


def test_offline_scores_need_no_judge() -> None:
    found = asyncio.run(evaluate(runner(), RECORDS, *OFFLINE))
    assert [one.case.record.record_id for one in found] == ["r0", "r1", "r2", "r3"]
    assert {one.scores["exact_match"] for one in found} == {1.0}
    assert {one.scores["faithfulness"] for one in found} == {Reason.JUDGE_NOT_CONFIGURED}


def test_a_judge_that_sleeps_fails_on_one_metric_of_one_case_and_costs_only_that() -> None:
    def sleeps(shape: str, material: Mapping[str, Any]) -> Any:
        if shape == "MadeUpStatements" and material["text"] == "answer 2":
            return asyncio.sleep(60)
        return None

    limits = Limits(concurrency=4, case_timeout=5, metric_timeout=0.1)
    slow, whole = judged(ScriptedJudge(sleeps), limits), judged(ScriptedJudge())
    for one, other in zip(slow, whole, strict=True):
        expected = dict(other.scores)
        if one.case.record.record_id == "r2":
            expected["hallucination_rate"] = Reason.JUDGE_TIMEOUT
        assert one.scores == expected


def test_a_judge_that_fails_is_an_error_of_its_metric_alone() -> None:
    def fails(shape: str, material: Mapping[str, Any]) -> None:
        if shape == "Questions" and material["text"] == "answer 1":
            raise JudgeFailed("no")

    failing, whole = judged(ScriptedJudge(fails)), judged(ScriptedJudge())
    whole[1].scores["answer_relevancy"] = Reason.JUDGE_ERROR
    assert [one.scores for one in failing] == [one.scores for one in whole]


def test_time_counts_from_the_start_of_a_call_and_not_while_it_queues() -> None:
    """Thirty callers of 30 ms over four places wait up to 200 ms; none of them is out of its 120 ms."""

    class Slow:
        async def retrieve(self, record: Record) -> Retrieval:
            await asyncio.sleep(0.03)
            return Retrieval((), ())

    records = [a_record(record_id=f"r{place}") for place in range(30)]
    begun = time.monotonic()
    limits = Limits(concurrency=4, case_timeout=0.12, metric_timeout=1)
    found = asyncio.run(evaluate(runner(limits), records, Slow(), OfflineAnswerer()))
    assert time.monotonic() - begun > 0.12
    assert all(isinstance(one.case.retrieval, Retrieval) for one in found)


def test_no_more_calls_run_at_once_than_the_concurrency_allows() -> None:
    active: list[int] = [0, 0]

    class Counting:
        async def retrieve(self, record: Record) -> Retrieval:
            active[0] += 1
            active[1] = max(active)
            await asyncio.sleep(0.005)
            active[0] -= 1
            return Retrieval((), ())

    records = [a_record(record_id=f"r{place}") for place in range(12)]
    asyncio.run(evaluate(runner(Limits(3, 5, 5)), records, Counting(), OfflineAnswerer()))
    assert active[1] == 3


def test_a_call_that_is_out_of_time_is_really_stopped() -> None:
    stopped: list[str] = []

    class Stuck:
        async def retrieve(self, record: Record) -> Retrieval:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                stopped.append(record.record_id)
                raise
            raise AssertionError

    (found,) = asyncio.run(evaluate(runner(Limits(1, 0.05, 1)), RECORDS[:1], Stuck(), OfflineAnswerer()))
    assert stopped == ["r0"]
    assert found.case.retrieval is Reason.RETRIEVAL_TIMEOUT
    assert found.scores["exact_match"] is Reason.RETRIEVAL_TIMEOUT


def test_a_failed_retrieval_keeps_its_run_and_leaves_the_other_cases_alone() -> None:
    class Failing:
        async def retrieve(self, record: Record) -> Retrieval:
            if record.record_id == "r1":
                raise RetrievalFailed("stage vector", run_id="RUN1")
            return Retrieval((Context("c"),), ("u",), run_id="RUN0")

    found = asyncio.run(evaluate(runner(), RECORDS, Failing(), OfflineAnswerer()))
    assert [one.case.run_id for one in found] == ["RUN0", "RUN1", "RUN0", "RUN0"]
    assert [one.scores["exact_match"] for one in found] == [1.0, Reason.RETRIEVAL_ERROR, 1.0, 1.0]


@pytest.mark.parametrize(
    ("problem", "reason"), [(AnswerFailed("no"), Reason.ANSWER_ERROR), (TimeoutError(), Reason.ANSWER_TIMEOUT)]
)
def test_a_failed_answer_leaves_the_retrieval_measured(problem: Exception, reason: Reason) -> None:
    class Failing:
        async def answer(self, record: Record, retrieval: Retrieval) -> Answer | None:
            raise problem

    record = a_record(citations=[{"citation_id": "a", "text": "t"}], judgments=[{"citation_id": "a", "relevant": True}])
    (found,) = asyncio.run(evaluate(runner(), [record], OfflineRetriever(), Failing()))
    assert found.scores["exact_match"] is reason
    assert found.scores["retrieval_recall"] == 1.0


def test_an_error_that_is_nobody_s_case_ends_the_run_as_itself() -> None:
    class Gone:
        async def retrieve(self, record: Record) -> Retrieval:
            raise ConnectionError("the ranker is gone")

    with pytest.raises(ConnectionError, match="the ranker is gone"):
        asyncio.run(evaluate(runner(), RECORDS, Gone(), OfflineAnswerer()))


def test_every_score_without_a_judge_is_stored_before_the_judge_is_asked() -> None:
    judge = ScriptedJudge()
    stored: list[tuple[int, dict[str, Any]]] = []

    def store(found: Sequence[Evaluated]) -> None:
        stored.extend((judge.asked, dict(one.scores)) for one in found)

    asyncio.run(evaluate(runner(), RECORDS, *OFFLINE, judge, store))
    assert [asked for asked, _ in stored] == [0] * 4
    names = {metric.definition.name for metric in DETERMINISTIC}
    for _, scores in stored:
        assert names <= scores.keys()
        assert {scores[metric.definition.name] for metric in JUDGED} == {Reason.JUDGE_NOT_ASKED}


def test_progress_tells_each_phase_to_its_end() -> None:
    told: list[tuple[str, int, int]] = []
    asyncio.run(evaluate(Runner(LIMITS, lambda *step: told.append(step)), RECORDS, *OFFLINE, ScriptedJudge()))
    assert told[3] == ("retrieve", 4, 4)
    assert told[-1] == ("judge", 20, 20)
