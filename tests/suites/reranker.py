"""What every ports.Reranker promises; a test class inherits the suite and gives it `reranker` and `encoder`."""

import math
from collections.abc import Sequence

from ranker_service.domain.ranking import ModelScore, RerankItem
from ranker_service.ports import Encoder, Reranker
from tests.builders import a_unit

QUERY = "what is the capital of france"
TEXTS = (
    "ice floats on water because it is less dense",
    "paris is the capital of france",
    "coffee",
    "a password may be reset on the sign-in page",
    "what is the capital of france",
    "paris is the capital of france and its largest city, and has been for most of the country's history",
)


def items(reranker: Reranker, encoder: Encoder, texts: Sequence[str]) -> list[RerankItem]:
    """Return units of `texts`, with token vectors where the reranker reads them."""
    units = [a_unit(f"{text}.md")._replace(text=text) for text in texts]
    if not reranker.needs_token_vectors:
        return [RerankItem(unit, None) for unit in units]
    encodings = dict(encoder.encode_units(texts, keep_token_vectors=True))
    return [RerankItem(unit, encodings[position].token_vectors) for position, unit in enumerate(units)]


def scores(reranker: Reranker, encoder: Encoder, query: str, texts: Sequence[str]) -> list[ModelScore]:
    """Return what the reranker says of `texts`."""
    return reranker.score(query, encoder.encode_query(query), items(reranker, encoder, texts))


class RerankerSuite:
    """The promises."""

    def test_it_says_what_it_is(self, reranker: Reranker) -> None:
        assert reranker.revision
        assert isinstance(reranker.needs_token_vectors, bool)

    def test_each_item_gets_one_finite_score_in_order(self, reranker: Reranker, encoder: Encoder) -> None:
        found = scores(reranker, encoder, QUERY, TEXTS)
        assert len(found) == len(TEXTS)
        assert all(type(item.score) is float and math.isfinite(item.score) for item in found)

    def test_the_text_that_answers_scores_above_those_that_do_not(self, reranker: Reranker, encoder: Encoder) -> None:
        found = dict(zip(TEXTS, (item.score for item in scores(reranker, encoder, QUERY, TEXTS)), strict=True))
        assert max(found[TEXTS[0]], found[TEXTS[2]], found[TEXTS[3]]) < found[TEXTS[1]] <= found[QUERY]

    def test_a_score_depends_on_nothing_but_its_query_and_item(self, reranker: Reranker, encoder: Encoder) -> None:
        together = scores(reranker, encoder, QUERY, TEXTS)
        assert scores(reranker, encoder, QUERY, TEXTS[::-1]) == together[::-1]
        assert scores(reranker, encoder, QUERY, TEXTS * 3) == together * 3
        assert [scores(reranker, encoder, QUERY, [text])[0] for text in TEXTS] == together

    def test_no_items_are_no_scores(self, reranker: Reranker, encoder: Encoder) -> None:
        assert scores(reranker, encoder, QUERY, []) == []

    def test_what_fits_is_not_called_truncated(self, reranker: Reranker, encoder: Encoder) -> None:
        assert not any(item.truncated for item in scores(reranker, encoder, QUERY, TEXTS))

    def test_a_query_that_was_cut_is_said_of_every_score(self, reranker: Reranker, encoder: Encoder) -> None:
        query = "capital " * 300
        assert all(item.truncated for item in scores(reranker, encoder, query, TEXTS))
