"""The token file: read for each call, so that replacing it is enough; and never anybody else's."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from ranktrail_serving.bearer import TokenFile
from ranktrail_serving.errors import DirectoryForeign, TokenUnfit

OLD, NEW = "o" * 43, "n" * 43


def a_token_file(path: Path, token: str = OLD) -> TokenFile:
    return TokenFile(path, lambda: token)


def replace_by_rename(path: Path, text: str) -> None:
    draft = path.with_name("draft")
    draft.write_text(text)
    draft.chmod(0o600)
    draft.replace(path)


@pytest.mark.parametrize("replace", [replace_by_rename, lambda path, text: path.write_text(text)])
def test_another_token_in_the_file_counts_at_once(tmp_path: Path, replace: Callable[[Path, str], object]) -> None:
    token = a_token_file(tmp_path / "token")
    for text in (NEW, OLD, NEW):  # of one length, and within one tick of the file system's clock
        replace(tmp_path / "token", text + "\n")
        assert token.current() == text.encode()


@pytest.mark.parametrize("text", ["", "\n", "short", " " * 64])
def test_a_file_without_a_token_lets_nobody_in(tmp_path: Path, text: str) -> None:
    token = a_token_file(tmp_path / "token")
    (tmp_path / "token").write_text(text)
    assert token.current() is None
    with pytest.raises(TokenUnfit, match="remove it"):
        a_token_file(tmp_path / "token")


def test_a_file_that_is_gone_lets_nobody_in(tmp_path: Path) -> None:
    token = a_token_file(tmp_path / "token")
    (tmp_path / "token").unlink()
    assert token.current() is None
    assert token.bearer() is None


def test_a_token_that_others_could_read_is_closed_and_the_log_says_so_without_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "token").write_text(OLD)
    (tmp_path / "token").chmod(0o644)
    assert a_token_file(tmp_path / "token", NEW).current() == OLD.encode()
    assert stat.S_IMODE((tmp_path / "token").stat().st_mode) == 0o600
    assert "token rotate" in caplog.text
    assert OLD not in caplog.text


def test_a_link_in_the_tokens_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text(OLD)
    (tmp_path / "token").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic link"):
        a_token_file(tmp_path / "token")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_a_token_that_belongs_to_somebody_else_is_refused(tmp_path: Path) -> None:
    token = a_token_file(tmp_path / "token")
    os.chown(tmp_path / "token", 65_534, 65_534)
    assert token.current() is None
    with pytest.raises(DirectoryForeign, match="move it away"):
        a_token_file(tmp_path / "token")
