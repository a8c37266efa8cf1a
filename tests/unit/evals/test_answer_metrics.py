"""exact_match and f1 keep what carries meaning, and compare every script."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranktrail_evals.metrics.answer_words import answer_words
from ranktrail_evals.metrics.exact_match import exact_match
from ranktrail_evals.metrics.f1 import f1
from ranktrail_evals.scores import Reason
from tests.unit.evals.made import a_case, a_record


def both(answer: str, *references: str) -> tuple[object, object]:
    first, *others = references
    case = a_case(a_record(reference_answer=first, reference_answers=others), answer=answer)
    return exact_match(case), f1(case)


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        ("A", "A"),
        ("“Paris”", "Paris"),
        ("Paris.", "paris"),
        ("the Eiffel Tower", "Eiffel Tower"),
        ("", ""),
        ("…", ""),
        ("caf\u00e9", "cafe\u0301"),
        ("ＡＢＣ", "abc"),
        ("Straße", "STRASSE"),
        ("state-of-the-art", "state of the art"),
        ("don’t", "don't"),
        ("50 %", "50%"),
        ("−5 °C", "-5 °C"),
        ("हिन्दी", "हिन्दी"),
    ],
)
def test_what_says_the_same_is_the_same(reference: str, answer: str) -> None:
    assert both(answer, reference) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        ("A", ""),
        ("", "A"),
        ("The", "an"),
        ("3.14", "314"),
        ("1,000", "1.000"),
        ("-5", "5"),
        (".5", "5"),
        ("10²", "102"),
        ("½", "1/2 of it"),
        ("$5", "5"),
        ("C++", "C"),
        ("C#", "C"),
        ("vitamin A", "vitamin"),
        ("10-5", "105"),
    ],
)
def test_what_differs_in_meaning_is_not_normalised_away(reference: str, answer: str) -> None:
    assert both(answer, reference)[0] == 0.0


def test_an_empty_answer_to_a_real_question_is_worth_nothing() -> None:
    assert both("", "A") == (0.0, 0.0)


def test_words_are_counted_as_often_as_they_stand() -> None:
    assert both("Paris", "Paris Paris Paris Paris Paris")[1] == pytest.approx(2 * (1 / 5) / (1 + 1 / 5))
    assert both("Paris Paris Paris Paris Paris", "Paris")[1] == pytest.approx(1 / 3)


def test_scripts_without_spaces_are_compared_by_characters() -> None:
    assert both("东京塔", "东京") == (0.0, pytest.approx(0.8))
    assert both("สวัสดี", "สวัสดีครับ")[1] == pytest.approx(2 * 4 / (4 + 7))


def test_no_overlap_is_zero_and_not_undefined() -> None:
    assert both("Rome", "Paris") == (0.0, 0.0)


def test_the_best_of_several_references_counts_and_an_unusable_one_is_left_out() -> None:
    assert both("Paris", "Rome", "…", "Paris") == (1.0, 1.0)
    assert both("", "…", "Paris") == (0.0, 0.0)


def test_no_answer_is_unavailable_and_not_zero() -> None:
    case = a_case(answer=Reason.NO_ANSWER)
    assert (exact_match(case), f1(case)) == (Reason.NO_ANSWER, Reason.NO_ANSWER)


@settings(deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_f1_is_symmetric_bounded_and_one_for_an_exact_match(one: str, other: str) -> None:
    exact, value = both(one, other)
    assert value == both(other, one)[1]
    assert isinstance(value, float)
    assert 0 <= value <= 1
    if exact == 1.0:
        assert value == 1.0


@settings(deadline=None)
@given(st.text(max_size=40))
def test_composed_and_decomposed_text_have_the_same_words(text: str) -> None:
    assert answer_words(unicodedata.normalize("NFC", text)) == answer_words(unicodedata.normalize("NFD", text))
