"""BM25 where a library's conventions bite: which units are in the list, in which order, with which scores."""

import threading
from pathlib import Path

import numpy as np
import pytest

from ranker_service.domain.ranking import Scored
from ranker_service.index.lexical import LexicalIndex, lexical_revision
from tests.builders import a_profile

SETTINGS = a_profile().index


def ranked(token_lists: list[list[str]], query: list[str], limit: int = 60) -> list[tuple[int, float]]:
    index = LexicalIndex.build(token_lists, SETTINGS)
    return [(unit.row, round(unit.score, 6)) for unit in index.search(query, limit)]


def test_a_term_in_exactly_half_the_units_scores_zero_and_is_still_a_match() -> None:
    token_lists = [["alpha", "x"], ["beta", "y"]]
    assert LexicalIndex.build(token_lists, SETTINGS).scores(["alpha"]).tolist() == [0.0, 0.0]
    assert ranked(token_lists, ["alpha"]) == [(0, 0.0)]


def test_a_match_with_a_negative_score_ranks_and_a_unit_that_shares_nothing_does_not() -> None:
    assert ranked([["deploy", "steps"]], ["deploy"]) == [(0, -0.274653)]
    assert ranked([["a", "b", "d"]] * 3 + [["zz"]], ["a"]) == [(0, -0.097167), (1, -0.097167), (2, -0.097167)]


def test_a_term_of_most_units_outweighs_one_of_half_as_the_library_has_it_and_ties_go_by_row() -> None:
    token_lists = [
        [f"u{n}a", f"u{n}b", f"u{n}c", *(["common"] if n <= 5 else []), *(["mid"] if n >= 5 else [])] for n in range(10)
    ]
    found = [(row, round(score, 4)) for row, score in ranked(token_lists, ["common", "mid"])]
    assert found == [*((n, 0.4345) for n in range(5)), (5, 0.3911), *((n, 0.0) for n in range(6, 10))]


@pytest.mark.parametrize("token_lists", [[], [[]], [[], [], []]])
def test_no_units_and_blank_units_find_nothing(token_lists: list[list[str]], tmp_path: Path) -> None:
    index = LexicalIndex.build(token_lists, SETTINGS)
    assert index.search(["a"], 60) == []
    assert index.scores(["a"]).tolist() == [0.0] * len(token_lists)
    index.save(tmp_path)
    assert LexicalIndex.load(tmp_path).search(["a"], 60) == []


def test_a_blank_unit_counts_in_the_lengths_and_is_never_found() -> None:
    index = LexicalIndex.build([[], ["a", "b"], ["c"]], SETTINGS)
    assert np.round(index.scores(["a"]), 6).tolist() == [0.0, 0.352294, 0.0]
    assert [unit.row for unit in index.search(["a"], 60)] == [1]


@pytest.mark.parametrize("query", [["zz"], []])
def test_a_query_without_a_known_token_finds_nothing(query: list[str]) -> None:
    assert ranked([["a"], ["b"], ["c"]], query) == []


def test_a_repeated_query_token_counts_as_often_as_it_stands() -> None:
    index = LexicalIndex.build([["a", "b"], ["c"], ["d"]], SETTINGS)
    once, thrice = index.search(["a"], 1)[0].score, index.search(["a", "a", "a"], 1)[0].score
    assert thrice == once + once + once


def test_only_allowed_rows_rank_and_every_one_of_them_is_reached() -> None:
    index = LexicalIndex.build([["a", f"w{n}"] for n in range(100)] + [["b"]] * 150, SETTINGS)
    allowed = np.zeros(250, np.bool_)
    allowed[[7, 42, 99, 200]] = True
    assert [unit.row for unit in index.search(["a"], 60, allowed)] == [7, 42, 99]
    assert index.search(["a"], 60, np.zeros(250, np.bool_)) == []
    assert [unit.row for unit in index.search(["a"], 3)] == [0, 1, 2]


@pytest.mark.parametrize("limit", [0, 1, 2, 5, 1000])
def test_the_list_is_never_longer_than_its_limit(limit: int) -> None:
    assert len(ranked([["a", "x"], ["a"], ["a"], ["b"], ["c"], ["d"], ["e"]], ["a"], limit)) == min(limit, 3)


def test_a_loaded_index_answers_as_the_built_one_and_gives_the_tokens_back(tmp_path: Path) -> None:
    token_lists = [["a", "b", "a"], [], ["b", "\u2028é\n"], ["c"]]
    built = LexicalIndex.build(token_lists, SETTINGS)
    built.save(tmp_path)
    loaded = LexicalIndex.load(tmp_path)
    assert loaded.search(["a", "b", "\u2028é\n"], 10) == built.search(["a", "b", "\u2028é\n"], 10)
    assert [loaded.token_list(row) for row in range(4)] == token_lists
    assert (loaded.unit_count, loaded.term_count) == (4, 4)


def test_searches_on_many_threads_do_not_mix_their_sums() -> None:
    words = [f"w{n}" for n in range(40)]
    generator = np.random.default_rng(5)
    index = LexicalIndex.build([[words[i] for i in generator.integers(0, 40, 12)] for _ in range(500)], SETTINGS)
    queries = [[words[i] for i in generator.integers(0, 40, 5)] for _ in range(40)]
    expected = [index.search(query, 20) for query in queries]
    wrong: list[list[Scored]] = []

    def work() -> None:
        for _ in range(10):
            answers = [index.search(query, 20) for query in queries]
            wrong.extend(answer for answer, right in zip(answers, expected, strict=True) if answer != right)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_another_constant_is_another_revision() -> None:
    assert lexical_revision(SETTINGS) != lexical_revision(a_profile(index={"k1": 1.2}).index)
