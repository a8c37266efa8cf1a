"""Every judged metric, in the order in which they are shown."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ranktrail_evals.cases import Case
from ranktrail_evals.judge import answer_relevancy, context_precision, statements
from ranktrail_evals.judge.port import Judge
from ranktrail_evals.scores import Definition, Score


@dataclass(frozen=True, slots=True)
class JudgedMetric:
    """A metric that asks a judge, and its baseline that asks nobody."""

    definition: Definition
    score: Callable[[Case, Judge], Awaitable[Score]]
    lexical: Callable[[Case], Score]


JUDGED = (
    JudgedMetric(statements.FAITHFULNESS, statements.faithfulness, statements.lexical_faithfulness),
    JudgedMetric(statements.HALLUCINATION_RATE, statements.hallucination_rate, statements.lexical_hallucination_rate),
    JudgedMetric(
        answer_relevancy.DEFINITION, answer_relevancy.answer_relevancy, answer_relevancy.lexical_answer_relevancy
    ),
    JudgedMetric(
        context_precision.DEFINITION, context_precision.context_precision, context_precision.lexical_context_precision
    ),
    JudgedMetric(statements.CONTEXT_RECALL, statements.context_recall, statements.lexical_context_recall),
)
