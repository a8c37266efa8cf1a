"""Late interaction, against a plain reading of its formula."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ranker_service.domain.encoding import QueryEncoding, TokenVectors
from ranker_service.domain.ranking import RerankItem
from ranker_service.models.encoder import TransformerEncoder
from ranker_service.models.late_interaction import LateInteraction, largest_cosines, power_mean
from ranker_service.models.pooling import quantised, unit_rows
from ranker_service.ports import Encoder, Reranker
from tests.builders import a_unit
from tests.fakes.encoder import WordEncoder
from tests.fakes.reranker import WordReranker
from tests.suites.reranker import RerankerSuite

POWERS = st.floats(1.0, 16.0)


class TestLateInteraction(RerankerSuite):
    """The real reranker over the real encoder (`encoder` is a fixture of this folder)."""

    @pytest.fixture
    def reranker(self) -> Reranker:
        return LateInteraction(3.5)


class TestLateInteractionOverWords(RerankerSuite):
    """The real reranker over an encoder without a model."""

    @pytest.fixture
    def reranker(self) -> Reranker:
        return LateInteraction(3.5)

    @pytest.fixture
    def encoder(self) -> Encoder:
        return WordEncoder()


@pytest.mark.parametrize("needs_token_vectors", [True, False])
class TestWordReranker(RerankerSuite):
    """The fake keeps the promises of the real ones."""

    @pytest.fixture
    def reranker(self, needs_token_vectors: bool) -> Reranker:
        return WordReranker(needs_token_vectors=needs_token_vectors)

    @pytest.fixture
    def encoder(self) -> Encoder:
        return WordEncoder()


def a_query(vectors: NDArray[np.float32], dropped: int = 0) -> QueryEncoding:
    return QueryEncoding(vectors[0], vectors, len(vectors) + dropped, len(vectors))


def some_rows(rng: np.random.Generator, count: int, dimension: int = 24) -> NDArray[np.float32]:
    return unit_rows(rng.standard_normal((count, dimension)).astype(np.float32))


def as_written(query: NDArray[np.float32], unit: TokenVectors, power: float) -> float:
    """Return the power mean over query tokens of the largest cosine, negatives as 0, in plain Python."""
    best = []
    for q in query.tolist():
        products = []
        for values, scale in zip(unit.values.tolist(), unit.scales.tolist(), strict=True):
            products.append(sum(a * b for a, b in zip(q, values, strict=True)) * scale)
        best.append(max(0.0, *products))
    return float((sum(value**power for value in best) / len(best)) ** (1 / power))


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 30), POWERS)
def test_scores_equal_the_formula(seed: int, query_tokens: int, unit_tokens: int, power: float) -> None:
    rng = np.random.default_rng(seed)
    query, unit = some_rows(rng, query_tokens), quantised(some_rows(rng, unit_tokens))
    item = RerankItem(a_unit(), unit)
    [score] = LateInteraction(power).score("", a_query(query), [item])
    assert score.score == pytest.approx(as_written(query, unit, power), rel=1e-5, abs=1e-6)


def test_a_negative_cosine_counts_as_none() -> None:
    query = np.array([[1, 0], [0, 1]], np.float32)
    unit = quantised(np.array([[-1, 0], [-0.6, 0.8]], np.float32))
    [score] = LateInteraction(1.0).score("", a_query(query), [RerankItem(a_unit(), unit)])
    assert score.score == pytest.approx((0 + 0.8) / 2, abs=1e-3)


def test_a_higher_power_weighs_one_exact_hit_above_two_vague_ones() -> None:
    exact, vague = np.array([1.0, 0.2], np.float32), np.array([0.62, 0.62], np.float32)
    assert power_mean(exact, 1.0) < power_mean(vague, 1.0)
    assert power_mean(exact, 4.0) > power_mean(vague, 4.0)
    assert power_mean(exact, 4.0) == pytest.approx(((1.0**4 + 0.2**4) / 2) ** (1 / 4))


@settings(deadline=None)
@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=40), POWERS)
def test_a_power_mean_lies_between_the_least_and_the_greatest(values: list[float], power: float) -> None:
    mean = power_mean(np.array(values, np.float32), power)
    assert min(values) - 1e-6 <= mean <= max(values) + 1e-6


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 260), min_size=1, max_size=8), st.integers(1, 40))
def test_no_unit_changes_a_bit_of_anothers_cosines(seed: int, sizes: list[int], query_tokens: int) -> None:
    rng = np.random.default_rng(seed)
    query = some_rows(rng, query_tokens, 384)
    units = [quantised(some_rows(rng, size, 384)) for size in sizes]
    together = largest_cosines(query, units)
    for unit, own in zip(units, together, strict=True):
        [alone] = largest_cosines(query.copy(), [unit])
        assert alone.tobytes() == own.tobytes()


def test_vectors_that_may_not_be_written_are_read() -> None:
    rng = np.random.default_rng(0)
    query, unit = some_rows(rng, 3), quantised(some_rows(rng, 5))
    frozen = TokenVectors(np.frombuffer(unit.values.tobytes(), np.int8).reshape(5, 24), unit.scales.copy())
    frozen.scales.setflags(write=False)
    query.setflags(write=False)
    assert largest_cosines(query, [frozen])[0].tobytes() == largest_cosines(query.copy(), [unit])[0].tobytes()


@pytest.mark.parametrize("vectors", [None, TokenVectors(np.zeros((0, 4), np.int8), np.zeros(0, np.float16))])
def test_an_item_without_token_vectors_is_an_error_that_names_it(vectors: TokenVectors | None) -> None:
    item = RerankItem(a_unit("guide.md"), vectors)
    with pytest.raises(ValueError, match=r"guide\.md.*no token vectors"):
        LateInteraction(4.0).score("", a_query(np.eye(4, dtype=np.float32)), [item])


def test_the_revision_names_the_power() -> None:
    assert LateInteraction(4.0).revision == "late-interaction.v1 power=4"
    assert LateInteraction(3.5).revision == "late-interaction.v1 power=3.5"


def test_quantised_token_vectors_score_as_exact_ones_do(encoders: dict[str, TransformerEncoder]) -> None:
    encoder = encoders["float32"]
    texts = ("Paris is the capital of France.", "Ice floats on water.", "The deploy job rolls a release back. " * 6)
    encoding = encoder.encode_query("how do I roll back a release")
    units = dict(encoder.encode_units(texts, keep_token_vectors=True))
    for position, text in enumerate(texts):
        exact = encoder.encode_query(text).token_vectors
        wanted = power_mean((encoding.token_vectors @ exact.T).max(axis=1), 3.5)
        item = RerankItem(a_unit()._replace(text=text), units[position].token_vectors)
        assert LateInteraction(3.5).score("", encoding, [item])[0].score == pytest.approx(wanted, abs=0.005)
