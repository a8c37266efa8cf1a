"""Which citations a retrieval brought: by id in one namespace, else by text, else nobody knows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranktrail_evals.dataset.model import Citation
from ranktrail_evals.join import holds_text, resolve_retrieved_citations, retrieved_matches
from ranktrail_evals.passages import Context

A = Citation(citation_id="a", source="s", text="Turn the red valve a quarter turn.")
B = Citation(citation_id="b", source="s", text="Open the drain tap until it reads zero.")
NO_TEXT = Citation(citation_id="n", source="s")


def resolved(
    ids: list[str | None] | None, *contexts: str | Context, relevant: tuple[str | None, ...] = ("a", "b")
) -> frozenset[str] | None:
    texts = [Context(one) if isinstance(one, str) else one for one in contexts]
    return resolve_retrieved_citations([A, B], relevant, ids, texts)


def test_without_relevant_ids_nothing_can_be_decided() -> None:
    assert resolved(["a"], A.text or "", relevant=()) is None
    assert resolved([], relevant=(None,)) is None


def test_ids_that_overlap_the_declared_ones_decide_even_against_the_text() -> None:
    assert resolved(["a"], B.text or "") == {"a"}


def test_ids_of_another_namespace_leave_it_to_the_text() -> None:
    assert resolved(["unit#1", "unit#2"], "Please turn the red valve a quarter turn, then wait.", "no") == {"a"}


def test_ids_of_another_namespace_whose_texts_hold_nothing_are_a_miss_and_not_undecidable() -> None:
    assert resolved(["unit#1"], "Something else altogether.") == frozenset()


@pytest.mark.parametrize("contexts", [(), ("Turn the red valve a quarter turn.",)])
def test_an_empty_retrieval_brought_nothing_whatever_the_texts_say(contexts: tuple[str, ...]) -> None:
    assert resolved([], *contexts) == frozenset()


def test_without_ids_and_contexts_nothing_can_be_decided() -> None:
    assert resolved(None) is None
    assert resolved([None]) is None
    assert resolved(["unit#1"]) is None


def test_a_relevant_citation_without_text_cannot_be_joined_by_text() -> None:
    contexts = [Context("Turn the red valve a quarter turn.")]
    assert resolve_retrieved_citations([A, NO_TEXT], ["a", "n"], ["u"], contexts) is None
    assert resolve_retrieved_citations([A, NO_TEXT], ["a"], ["u"], contexts) == {"a"}
    wordless = Citation(citation_id="w", source="s", text="…!")
    assert resolve_retrieved_citations([wordless], ["w"], None, contexts) is None


def test_ids_that_are_none_count_on_neither_side() -> None:
    assert resolved([None, "a", None], relevant=(None, "a")) == {"a"}
    assert resolved([None], "Turn the red valve a quarter turn.", relevant=("a", None)) == {"a"}


def test_the_place_of_an_id_that_is_none_stays_a_place() -> None:
    assert retrieved_matches([A, B], ["a"], [None, "a"], []) == (frozenset(), {"a"})


@pytest.mark.parametrize(
    ("context", "passage", "held"),
    [
        ("… TURN the “red valve” now", "turn the red valve", True),
        ("`turn` the **red** valve!", "Turn the red valve.", True),
        ("returned valve", "turned valve now please", False),
        ("Ｔｕｒｎ ｔｈｅ ｖａｌｖｅ", "turn the valve", True),
        ("cafe\u0301 noir", "café noir", True),
        ("co\u00adoperation", "cooperation", True),
        ("one two three", "one two three four five", True),  # 3 of 5 is 0.6
        ("one two", "one two three four five", False),
        ("one one one", "one two three four five", False),
        ("昨日、東京タワーの高さを測った", "東京タワーの高さ", True),
        ("大阪の城", "東京タワーの高さ", False),
    ],
)
def test_a_context_holds_a_passage_in_a_row_or_by_enough_of_its_words(context: str, passage: str, held: bool) -> None:
    assert holds_text(context, passage) is held


def span(text: str, resource: str, start: int, end: int) -> Context:
    return Context(text, None, resource, start, end)


def test_neighbouring_contexts_of_one_resource_hold_a_passage_together() -> None:
    left, right = span("Open the drain tap", "r", 0, 18), span("until it reads zero.", "r", 18, 40)
    halves = Citation(citation_id="b", source="s", text="drain tap is opened slowly until it reads zero")
    for contexts in ([left, right], [right, left]):
        assert resolve_retrieved_citations([halves], ["b"], None, contexts) == {"b"}


@pytest.mark.parametrize(
    "right",
    [
        span("until it reads zero", "other", 18, 40),
        span("until it reads zero", "r", 19, 40),
        Context("until it reads zero"),
    ],
)
def test_contexts_apart_do_not_hold_a_passage_together(right: Context) -> None:
    halves = Citation(citation_id="b", source="s", text="drain tap is opened slowly until it reads zero")
    left = span("open the drain tap", "r", 0, 18)
    assert resolve_retrieved_citations([halves], ["b"], None, [left, right]) == frozenset()


texts = st.text("ab c.東é", max_size=12)


@settings(deadline=None)
@given(
    ids=st.none() | st.lists(st.none() | st.sampled_from(["a", "b", "x"]), max_size=4),
    contexts=st.lists(texts, max_size=3),
    relevant=st.lists(st.sampled_from(["a", "b"]) | st.none(), max_size=3),
)
def test_the_resolution_is_what_the_ranks_brought_and_names_declared_citations_only(
    ids: list[str | None] | None, contexts: list[str], relevant: list[str | None]
) -> None:
    found = [Context(text) for text in contexts]
    whole = resolve_retrieved_citations([A, B], relevant, ids, found)
    ranks = retrieved_matches([A, B], relevant, ids, found)
    assert (whole is None) == (ranks is None)
    if whole is not None and ranks is not None:
        assert whole == {one for brought in ranks for one in brought}
        assert whole <= {"a", "b"}
