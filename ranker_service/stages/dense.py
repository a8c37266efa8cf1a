"""Dense: units whose vectors lie nearest to the query's."""

import numpy as np
from numpy.typing import NDArray

from ranker_service.domain.encoding import Vector
from ranker_service.domain.errors import StageFailed
from ranker_service.domain.profile import LegSettings
from ranker_service.domain.ranking import Scored
from ranker_service.domain.trace import Stage
from ranker_service.index.vector import VectorIndex
from ranker_service.stages.finite import require_finite


def rank(
    index: VectorIndex, vector: Vector, settings: LegSettings, allowed: NDArray[np.bool_] | None
) -> tuple[Scored, ...]:
    """Return the units of the highest cosine similarity, at most `settings.limit`.

    `vector` has shape (dimension,) and length one; `allowed` has one flag a row, None allows every row. Raises
    StageFailed where a score is not finite.
    """
    scored = tuple(index.search(vector, settings.limit, allowed))
    require_finite((unit.score for unit in scored), Stage.VECTOR)
    return scored


def require_direction(vector: Vector) -> None:
    """Raise StageFailed where a query's vector is not finite, or is zero and so resembles nothing."""
    if not np.isfinite(vector).all():
        raise StageFailed(Stage.EMBEDDING, "non_finite_vector", "the encoder returned a vector that is not finite")
    if not vector.any():
        raise StageFailed(Stage.EMBEDDING, "zero_vector", "the encoder returned a vector without a direction")
