"""Scores that cannot be ordered end a Run: NaN compares false both ways, so a sort would leave it anywhere."""

from collections.abc import Iterable
from math import isfinite

from ranker_service.domain.errors import StageFailed
from ranker_service.domain.trace import Stage


def require_finite(scores: Iterable[float], stage: Stage) -> None:
    """Raise StageFailed with code non_finite_score, which says how many, where any of `scores` is NaN or infinite."""
    wrong = sum(not isfinite(score) for score in scores)
    if wrong:
        raise StageFailed(
            stage, "non_finite_score", f"{wrong} of the scores of stage {stage.value} are not finite numbers"
        )
