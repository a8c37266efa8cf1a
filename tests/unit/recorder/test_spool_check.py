"""The check of the spool: damaged records, manifests and bodies are named; what is being written is not."""

from pathlib import Path

import pytest

from ranker_service.domain.digest import digest_of
from ranker_service.recorder.journal import Journal
from ranker_service.recorder.spool_check import SpoolCheck
from ranktrail_serving.storage import Problem

LIMIT = 2**30


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    """Three undelivered Runs and a body of theirs."""
    journal = Journal(tmp_path / "ranker" / "spool", LIMIT)
    for number in range(3):
        journal.append(f"run-{number}", digest_of(b"memory"), [[b"frame " * 50]])
    journal.close()
    folder = tmp_path / "ranker" / "spool"
    for name in ("bodies", "corpora"):
        (folder / name).mkdir(mode=0o700)
    body = folder / "bodies" / digest_of(b"body")
    body.write_bytes(b"body")
    body.chmod(0o600)
    return folder


def problems(spool: Path, *, repair: bool = False) -> list[Problem]:
    check = SpoolCheck(spool, spool.parent.parent)
    return [event for event in check.check(repair=repair) if isinstance(event, Problem)]


def segment(spool: Path) -> Path:
    (path,) = spool.glob("*.journal")
    return path


def test_a_sound_spool_has_no_problems(spool: Path) -> None:
    assert problems(spool) == []
    assert problems(spool.parent / "nothing here") == []


def test_a_damaged_record_is_named_with_its_place(spool: Path) -> None:
    content = bytearray(segment(spool).read_bytes())
    content[len(content) // 2] ^= 1
    segment(spool).write_bytes(content)
    (problem,) = problems(spool, repair=True)
    assert (problem.kind, problem.subject) == ("journal_damaged", f"ranker/spool/{segment(spool).name}")
    assert str(len(content) // 3) in problem.detail
    assert segment(spool).read_bytes() == content


def test_a_record_that_has_no_end_yet_is_no_problem(spool: Path) -> None:
    segment(spool).write_bytes(segment(spool).read_bytes()[:-10])
    assert problems(spool) == []


def test_a_damaged_body_and_a_damaged_manifest_are_named(spool: Path) -> None:
    (spool / "bodies" / digest_of(b"body")).write_bytes(b"bodx")
    manifest = spool / "corpora" / f"{digest_of(b'memory')}.json"
    manifest.write_bytes(b'{"project_id": "docs", "resources": []}')
    manifest.chmod(0o600)
    assert [one.kind for one in problems(spool)] == ["manifest_digest", "body_digest"]


def test_a_mode_that_lets_others_in_is_put_right(spool: Path) -> None:
    segment(spool).chmod(0o644)
    assert [one.repaired for one in problems(spool, repair=True)] == [True]
    assert problems(spool) == []
