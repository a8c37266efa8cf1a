"""What a metric says of one case, and what a metric is."""

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why a metric has no value for a case."""

    MISSING_ANNOTATION = "missing_annotation"
    UNDECIDABLE_JOIN = "undecidable_join"
    NO_ANSWER = "no_answer"
    NO_CONTEXTS = "no_contexts"
    RETRIEVAL_TIMEOUT = "retrieval_timeout"
    RETRIEVAL_ERROR = "retrieval_error"
    ANSWER_TIMEOUT = "answer_timeout"
    ANSWER_ERROR = "answer_error"
    JUDGE_TIMEOUT = "judge_timeout"
    JUDGE_ERROR = "judge_error"
    JUDGE_NOT_CONFIGURED = "judge_not_configured"
    JUDGE_NOT_ASKED = "judge_not_asked"


EVALUATOR_FAILURES = frozenset(
    {
        Reason.RETRIEVAL_TIMEOUT,
        Reason.RETRIEVAL_ERROR,
        Reason.ANSWER_TIMEOUT,
        Reason.ANSWER_ERROR,
        Reason.JUDGE_TIMEOUT,
        Reason.JUDGE_ERROR,
    }
)
"""Reasons that say something of the evaluation and nothing of the case."""

Score = float | Reason
"""A value from 0 to 1, or why there is none."""


class Direction(StrEnum):
    """Which values are better."""

    HIGHER = "higher_is_better"
    LOWER = "lower_is_better"

    @property
    def comparison(self) -> str:
        """How a threshold is written."""
        return ">=" if self is Direction.HIGHER else "<="

    def meets(self, value: float, threshold: float) -> bool:
        """Say whether a value is on the threshold or on its better side."""
        return value >= threshold if self is Direction.HIGHER else value <= threshold


@dataclass(frozen=True, slots=True)
class Definition:
    """A metric: what it measures, by whom it was defined, and from where on it passes.

    `contract` counts the changes of what a value means; values of different contracts are not compared.
    """

    name: str
    direction: Direction
    threshold: float
    meaning: str
    source: str
    contract: int = 1
