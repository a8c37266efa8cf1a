"""What a judged metric asks of a judge."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

Verdict = TypeVar("Verdict", bound="Verdicts")


class Verdicts(BaseModel):
    """The shape of a judge's answer; anything else is no answer."""

    model_config = ConfigDict(extra="forbid", strict=True)


class JudgeFailed(Exception):
    """The judge gave no usable answer. The text never holds any of what it said."""


class Judge(Protocol):
    """Answers questions in a given shape."""

    async def ask(self, question: str, material: Mapping[str, Any], shape: type[Verdict]) -> Verdict:
        """Return the judge's answer to `question` about `material`; raise JudgeFailed when it gives none."""

    async def similarities(self, text: str, others: Sequence[str]) -> list[float]:
        """Return how close each of `others` is to `text`, from -1 to 1; raise JudgeFailed when that cannot be told."""
