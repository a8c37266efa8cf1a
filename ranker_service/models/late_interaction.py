"""Late interaction: how well the tokens of a unit answer each token of a query.

MaxSim of Khattab and Zaharia, "ColBERT: Efficient and Effective Passage Search via Contextualized Late Interaction over
BERT", SIGIR 2020, with a power mean over the query's tokens in place of their sum, so that exact hits weigh more than
vague ones.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from ranker_service.domain.encoding import QueryEncoding, TokenVectors
from ranker_service.domain.ranking import ModelScore, RerankItem

REVISION = "late-interaction.v1"


class LateInteraction:
    """ports.Reranker over the token vectors that the encoder made anyway."""

    needs_token_vectors = True

    def __init__(self, power: float) -> None:
        self._power = power
        self.revision = f"{REVISION} power={power:g}"

    def score(self, query: str, encoding: QueryEncoding, items: Sequence[RerankItem]) -> list[ModelScore]:  # noqa: ARG002
        """Return the power mean, over the query's tokens, of the largest cosine with a token of the unit; 0 to about 1.

        A negative cosine counts as 0. An item's score depends on nothing but the query and the item. Raise ValueError
        for an item without token vectors.
        """
        vectors = [_vectors_of(item) for item in items]
        truncated = encoding.tokens_encoded < encoding.token_count
        scores = [power_mean(best, self._power) for best in largest_cosines(encoding.token_vectors, vectors)]
        return [ModelScore(score, truncated) for score in scores]


def largest_cosines(query: NDArray[np.float32], units: Sequence[TokenVectors]) -> list[NDArray[np.float32]]:
    """Return for each unit, for each row of `query`, the largest cosine with a row of the unit: arrays (query tokens,).

    One multiplication a unit, whose rounding thus depends on no other unit. Every unit is laid out in the same memory,
    which stays in the CPU's cache, and whose alignment, on which rounding could depend too, is the allocator's.
    """
    if not units:
        return []
    queries = torch.empty(query.shape)
    np.copyto(queries.numpy(), query)
    room = torch.empty((max(len(unit.values) for unit in units), query.shape[1]))
    return [_unit_cosines(queries, unit, room[: len(unit.values)]) for unit in units]


def power_mean(values: NDArray[np.float32], power: float) -> float:
    """Return the mean of order `power` of `values`, negative ones counted as 0."""
    raised = np.maximum(values, 0.0).astype(np.float64) ** power
    return float(raised.mean() ** (1.0 / power))


def _unit_cosines(queries: torch.Tensor, unit: TokenVectors, room: torch.Tensor) -> NDArray[np.float32]:
    np.copyto(room.numpy(), unit.values)
    products = torch.mm(queries, room.T).numpy()
    products *= unit.scales.astype(np.float32)
    best: NDArray[np.float32] = products.max(axis=1)
    return best


def _vectors_of(item: RerankItem) -> TokenVectors:
    if item.token_vectors is None or not len(item.token_vectors.values):
        raise ValueError(f"{item.unit.unit_key} has no token vectors")
    return item.token_vectors
