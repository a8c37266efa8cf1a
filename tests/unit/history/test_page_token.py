"""Page tokens are good for the request they came from and for no other."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from history_service.domain.errors import FieldInvalid, PageTokenInvalid
from history_service.rpc.page_token import make_page_token, page_size_of, read_page_token

SCALAR = st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.text(max_size=20)


@given(st.lists(SCALAR, max_size=5), st.tuples(st.integers(0, 2**62), st.text(max_size=40)))
def test_a_token_gives_back_the_position_it_was_made_of(filters: list[Any], position: tuple[int, str]) -> None:
    token = make_page_token("List", filters, list(position))
    assert read_page_token("List", filters, token, (int, str)) == list(position)


@given(st.lists(SCALAR, max_size=5), st.lists(SCALAR, max_size=5))
def test_a_token_of_other_filters_is_refused(filters: list[Any], others: list[Any]) -> None:
    token = make_page_token("List", filters, [1, 2])
    # True == 1 in Python, but not as filters.
    if repr(filters) != repr(others):
        with pytest.raises(PageTokenInvalid):
            read_page_token("List", others, token, (int, int))
    with pytest.raises(PageTokenInvalid):
        read_page_token("Other", filters, token, (int, int))


@given(
    st.text(min_size=1, max_size=200) | st.binary(min_size=1, max_size=200).map(lambda b: base64.b64encode(b).decode())
)
def test_a_made_up_token_is_refused(token: str) -> None:
    with pytest.raises(PageTokenInvalid):
        read_page_token("List", [], token, (int, int))


@pytest.mark.parametrize("position", [[1], [1, 2, 3], ["1", 2], [True, 2], [1.5, 2], [1, 2**63], [[1], 2]])
def test_a_position_of_another_shape_is_refused_even_with_a_right_check(position: list[Any]) -> None:
    with pytest.raises(PageTokenInvalid):
        read_page_token("List", [], make_page_token("List", [], position), (int, int))


def test_a_changed_token_is_refused() -> None:
    token = make_page_token("List", [], [1, 2])
    for at in range(len(token)):
        changed = token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :]
        with pytest.raises(PageTokenInvalid):
            assert read_page_token("List", [], changed, (int, int)) is None


def test_no_token_is_the_first_page() -> None:
    assert read_page_token("List", [], "", (int, int)) is None


def test_page_sizes() -> None:
    assert [page_size_of(size) for size in (0, 1, 100, 101, 2**31 - 1)] == [50, 1, 100, 100, 100]
    with pytest.raises(FieldInvalid, match="page_size"):
        page_size_of(-1)
