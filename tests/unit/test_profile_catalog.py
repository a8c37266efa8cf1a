"""The catalog of profiles: what ships, what a directory adds, and what is refused by name."""

import re
from pathlib import Path

import pytest

from ranker_service.domain.limits import PROFILE_TOML_BYTES
from ranker_service.domain.profile import Profile, ProfileInvalid
from ranker_service.profiles.catalog import DEFAULT_PROFILE, PACKAGE_SOURCE, ProfileCatalog

(_PACKAGED,) = [entry for entry in ProfileCatalog.load().entries() if entry.profile.name == DEFAULT_PROFILE]


def _put(directory: Path, file: str, name: str, old: str = "depth = 24", new: str = "depth = 24") -> None:
    assert old in _PACKAGED.toml
    text = _PACKAGED.toml.replace(f'name = "{DEFAULT_PROFILE}"', f'name = "{name}"').replace(old, new)
    (directory / file).write_text(text, "utf-8")


def test_the_packaged_default_is_there_with_its_text_and_a_digest() -> None:
    assert _PACKAGED.source == PACKAGE_SOURCE
    assert 'name = "activation.v1"' in _PACKAGED.toml
    assert len(_PACKAGED.profile.digest) == 64
    assert ProfileCatalog.load().default() is not None


def test_a_directory_adds_profiles_in_name_order(tmp_path: Path) -> None:
    _put(tmp_path, "one.toml", "wide.v1", new="depth = 48")
    _put(tmp_path, "two.toml", "aaa")
    (tmp_path / "notes.txt").write_text("not a profile")
    catalog = ProfileCatalog.load(tmp_path)
    assert [(entry.profile.name, entry.source) for entry in catalog.entries()] == [
        ("aaa", "two.toml"),
        (DEFAULT_PROFILE, PACKAGE_SOURCE),
        ("wide.v1", "one.toml"),
    ]
    wide = catalog.find("wide.v1")
    assert wide is not None
    assert wide.rerank.depth == 48
    assert wide.digest != catalog.default().digest


def test_the_digest_changes_with_a_constant_and_not_with_a_comment() -> None:
    digest = _PACKAGED.profile.digest
    assert Profile.from_toml(_PACKAGED.toml + "# a comment").digest == digest
    assert Profile.from_toml(_PACKAGED.toml.replace("depth = 24", "depth = 25")).digest != digest


def test_an_unknown_name_is_not_found_and_cannot_be_the_default(tmp_path: Path) -> None:
    assert ProfileCatalog.load(tmp_path).find("other") is None
    with pytest.raises(ProfileInvalid, match=r"'other' is not known: use one of activation\.v1"):
        ProfileCatalog.load(tmp_path, "other")


def test_another_default_can_be_chosen(tmp_path: Path) -> None:
    _put(tmp_path, "mine.toml", "mine")
    assert ProfileCatalog.load(tmp_path, "mine").default().name == "mine"


def test_a_directory_that_is_not_there_adds_nothing(tmp_path: Path) -> None:
    assert len(ProfileCatalog.load(tmp_path / "absent").entries()) == len(ProfileCatalog.load().entries())


def test_a_name_that_is_taken_is_left_out_with_both_sources(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    _put(tmp_path, "mine.toml", DEFAULT_PROFILE)
    assert ProfileCatalog.load(tmp_path).default() == _PACKAGED.profile
    assert "mine.toml: name 'activation.v1' is taken by package" in caplog.text


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"not toml [", "the file is not TOML"),
        (b"name = 'x\xff'", "is not UTF-8"),
        (b"#" * (PROFILE_TOML_BYTES + 1), "has more than 65536 bytes"),
        (_PACKAGED.toml.replace("depth = 24", "depth = -1").encode(), "rerank.depth must be a whole number"),
    ],
)
def test_a_wrong_file_is_left_out_by_its_name_unless_it_is_to_be_the_default(
    tmp_path: Path, content: bytes, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "wrong.toml").write_bytes(content)
    assert ProfileCatalog.load(tmp_path).entries() == (_PACKAGED,)
    assert re.search(f"wrong.toml: .*{problem}", caplog.text)
    with pytest.raises(ProfileInvalid, match=f"wrong.toml: .*{problem}"):
        ProfileCatalog.load(tmp_path, "wrong")


def test_a_file_that_cannot_be_read_is_left_out_by_its_name(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "folder.toml").mkdir()
    assert ProfileCatalog.load(tmp_path).entries() == (_PACKAGED,)
    assert "folder.toml: cannot be read" in caplog.text
