"""Exact identity: units that the query names by resource id, path, file name, title or heading."""

import numpy as np
from numpy.typing import NDArray

from ranker_service.domain.profile import ExactSettings
from ranker_service.domain.ranking import ExactHit
from ranker_service.index.identity import IdentityIndex


def rank(
    index: IdentityIndex, query: str, settings: ExactSettings, allowed: NDArray[np.bool_] | None
) -> tuple[ExactHit, ...]:
    """Return the units that the query names, by priority and then row, at most `settings.limit`.

    `allowed` has one flag a row; None allows every row.
    """
    return tuple(index.search(query, allowed, settings.limit, settings.min_prefix_characters))
