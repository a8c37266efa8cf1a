"""The four orders of one source trace."""

from history_service.evaluation.fused_set import FusedSet, RankedUnit
from history_service.evaluation.variants import VARIANTS
from tests.unit.evaluation.cases import a_unit

UNITS = [
    a_unit("A#1", bm25_rank=1, lexical_rank=3, rrf_rank=2, reranker_rank=2),
    a_unit("B#1", exact_rank=2, bm25_rank=2, lexical_rank=2, dense_rank=3, rrf_rank=1, reranker_rank=1),
    a_unit("C#1", exact_rank=1, lexical_rank=1, dense_rank=1, rrf_rank=3),
    a_unit("D#1", dense_rank=2, rrf_rank=4),
    a_unit("E#1", bm25_rank=3, rrf_rank=5),
]


def _orders(units: list[RankedUnit]) -> dict[str, list[str]]:
    fused = FusedSet.of(units)
    return {variant.name: [fused.unit_keys[place][0] for place in variant.order(fused)] for variant in VARIANTS}


def test_each_variant_orders_the_fused_set_by_its_own_rank_and_leaves_out_what_has_none() -> None:
    assert _orders(UNITS) == {
        "b1_bm25": ["C", "B", "A", "E"],
        "b2_dense_vector": ["C", "D", "B"],
        "b3_hybrid_rrf": ["B", "A", "C", "D", "E"],
        "b4_reranked": ["B", "A"],
    }


def test_the_order_of_the_rows_is_of_no_account() -> None:
    assert _orders(UNITS[::-1]) == _orders(UNITS)


def test_units_of_one_rank_keep_the_order_of_the_trace() -> None:
    tied = [a_unit("A#1", rrf_rank=2), a_unit("B#1", rrf_rank=1), a_unit("C#1", rrf_rank=1)]
    assert _orders(tied)["b3_hybrid_rrf"] == ["B", "C", "A"]


def test_an_empty_set_has_four_empty_rankings() -> None:
    assert list(_orders([]).values()) == [[], [], [], []]
