"""Fields are refused by name before anything is done with them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranker_service.domain import limits
from ranker_service.domain.errors import FieldInvalid

CHECKS = {
    "project_id": limits.check_project_id,
    "resource_id": limits.check_resource_id,
    "query_id": limits.check_query_id,
    "kind": limits.check_kind,
    "path": limits.check_path,
    "path_prefix": limits.check_path_prefix,
    "title": limits.check_title,
    "media_type": limits.check_media_type,
    "digest": limits.check_digest,
    "query": limits.check_query,
}


@pytest.mark.parametrize("field", CHECKS)
@pytest.mark.parametrize("surrogate", ["\ud83d", "a\udc00b", "\udfff/x"])
def test_a_surrogate_is_refused_and_the_field_named(field: str, surrogate: str) -> None:
    with pytest.raises(FieldInvalid) as refusal:
        CHECKS[field](surrogate)
    assert refusal.value.field == field


@pytest.mark.parametrize("field", CHECKS)
@given(text=st.text(st.characters(), max_size=40))
def test_any_text_is_either_returned_as_it_is_or_refused_with_the_field_named(field: str, text: str) -> None:
    try:
        returned = CHECKS[field](text)
    except FieldInvalid as error:
        refused = error.field
    else:
        refused = field if returned == text else "changed"
    assert refused == field


@pytest.mark.parametrize(
    ("field", "limit"),
    [
        ("project_id", 512),
        ("resource_id", 512),
        ("query_id", 512),
        ("kind", 64),
        ("path", 1024),
        ("title", 1024),
        ("query", 8192),
        ("path_prefix", 1024),
    ],
)
@pytest.mark.parametrize("character", ["a", "é", "🙂"])
def test_limits_count_bytes_and_the_error_tells_them(field: str, limit: int, character: str) -> None:
    fitting = character * (limit // len(character.encode()))
    assert CHECKS[field](fitting) == fitting
    with pytest.raises(FieldInvalid) as refusal:
        CHECKS[field](fitting + character)
    assert (refusal.value.field, refusal.value.limit) == (field, limit)


@pytest.mark.parametrize(
    "path",
    ["", "/etc/passwd", "../p", "a/../b", "a/..", "./a", "a/./b", "a//b", "a/", "a\\b", "a\0b", "..", ".", "/"],
)
def test_a_path_that_could_leave_its_root_is_refused(path: str) -> None:
    with pytest.raises(FieldInvalid, match=r"^path "):
        limits.check_path(path)


@pytest.mark.parametrize(
    "path", ["a", "a/b.md", "...", "..a/b..", "with space/ü.md", "a/.hidden", "line\nbreak", "東京.md"]
)
def test_any_other_relative_path_is_taken(path: str) -> None:
    assert limits.check_path(path) == path


@pytest.mark.parametrize(
    "digest",
    [
        "../../x",
        "/etc/passwd",
        "a" * 64 + "\n",
        "A" * 64,
        "\u0661" * 64,
        "0x" + "a" * 62,
        "a_" * 32,
        " " + "a" * 63,
        "a" * 63,
        "a" * 65,
        "",
    ],
)
def test_only_64_lower_case_hex_digits_are_a_digest(digest: str) -> None:
    with pytest.raises(FieldInvalid, match=r"^digest "):
        limits.check_digest(digest)


def test_a_project_id_may_look_like_a_path_since_it_never_becomes_one() -> None:
    assert limits.check_project_id("../p") == "../p"


@pytest.mark.parametrize("query", ["", " \n\t", "\ufeff", "\u200b\u2060", "\0"])
def test_a_query_without_anything_to_see_is_blank(query: str) -> None:
    with pytest.raises(FieldInvalid, match="query is blank"):
        limits.check_query(query)


def test_a_nul_inside_a_query_is_kept() -> None:
    assert limits.check_query("ab\0cd") == "ab\0cd"


@pytest.mark.parametrize("media_type", ["", "text", "text/", "/plain", "text/plain\n", "tëxt/plain", "text/pl ain"])
def test_a_media_type_has_two_parts_of_ascii(media_type: str) -> None:
    with pytest.raises(FieldInvalid, match=r"^media_type "):
        limits.check_media_type(media_type)


def test_a_media_type_may_have_parameters() -> None:
    assert limits.check_media_type("text/markdown; charset=utf-8") == "text/markdown; charset=utf-8"


def test_sizes_are_limited_and_not_negative() -> None:
    assert limits.check_resource_size(32 * 1024 * 1024) == 32 * 1024 * 1024
    for size in (-1, 32 * 1024 * 1024 + 1):
        with pytest.raises(FieldInvalid, match=r"^size_bytes "):
            limits.check_resource_size(size)
    assert len(limits.check_frame(bytes(1024 * 1024))) == 1024 * 1024
    with pytest.raises(FieldInvalid, match=r"^body "):
        limits.check_frame(bytes(1024 * 1024 + 1))
    assert len(limits.check_activation_state(bytes(65_536))) == 65_536
    with pytest.raises(FieldInvalid, match=r"^activation_state "):
        limits.check_activation_state(bytes(65_537))


def test_a_request_names_at_most_64_kinds() -> None:
    assert limits.check_kinds(["code"] * 64) == ["code"] * 64
    with pytest.raises(FieldInvalid, match=r"^kinds "):
        limits.check_kinds(["code"] * 65)
    with pytest.raises(FieldInvalid, match=r"^kinds "):
        limits.check_kinds([""])
