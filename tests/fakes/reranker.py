"""A reranker without a model: the share of the query's words that a unit holds."""

from collections.abc import Sequence

from ranker_service.domain.encoding import QueryEncoding
from ranker_service.domain.ranking import ModelScore, RerankItem


class WordReranker:
    """A ports.Reranker that reads texts, and token vectors only to see that they are there."""

    def __init__(self, *, needs_token_vectors: bool = True) -> None:
        self.needs_token_vectors = needs_token_vectors
        self.revision = "fake.words.v1"
        self.item_counts: list[int] = []

    def score(self, query: str, encoding: QueryEncoding, items: Sequence[RerankItem]) -> list[ModelScore]:
        """Return for each unit the share of the query's words that it holds."""
        self.item_counts.append(len(items))
        assert all((item.token_vectors is not None) == self.needs_token_vectors for item in items)
        words = set(query.casefold().split())
        shares = [len(words & set(item.unit.text.casefold().split())) / len(words) for item in items]
        return [ModelScore(share, truncated=encoding.tokens_encoded < encoding.token_count) for share in shares]
