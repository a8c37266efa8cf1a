"""BM25 beside rank_bm25, the library whose scores it promises."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from ranker_service.domain.ranking import rounded
from ranker_service.index.lexical import LexicalIndex
from tests.builders import a_profile

TOKENS = st.sampled_from([*"abcdefgh", "東京", "os.path"])
TEXTS = st.lists(st.lists(TOKENS, max_size=9), min_size=1, max_size=25).filter(any)
CONSTANTS = st.fixed_dictionaries(
    {
        "k1": st.sampled_from([0.5, 1.2, 1.5, 3.0]),
        "b": st.sampled_from([0.0, 0.4, 0.75]),
        "epsilon": st.sampled_from([0.0, 0.25, 1.0]),
    }
)


@settings(deadline=None)
@given(TEXTS, st.lists(st.one_of(TOKENS, st.just("unknown")), max_size=6), CONSTANTS, st.integers(1, 30))
def test_scores_members_and_order_are_those_of_the_library(
    texts: list[list[str]], query: list[str], constants: dict[str, float], limit: int
) -> None:
    peer = BM25Okapi(texts, **constants)
    expected = peer.get_scores(query)
    index = LexicalIndex.build(texts, a_profile(index=constants).index)
    assert np.abs(index.scores(query) - expected).max() <= 1e-9
    matching = [row for row, text in enumerate(texts) if set(text) & set(query)]
    order = sorted(matching, key=lambda row: (-rounded(expected[row]), row))[:limit]
    found = index.search(query, limit)
    assert [unit.row for unit in found] == order
    assert all(abs(unit.score - expected[unit.row]) <= 1e-9 for unit in found)


@settings(deadline=None)
@given(TEXTS, st.lists(TOKENS, min_size=1, max_size=4), st.data())
def test_a_filter_keeps_the_library_s_order_among_the_allowed(
    texts: list[list[str]], query: list[str], data: st.DataObject
) -> None:
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts))))
    index = LexicalIndex.build(texts, a_profile().index)
    everything = [unit for unit in index.search(query, len(texts)) if allowed[unit.row]]
    assert index.search(query, 3, allowed) == everything[:3]
