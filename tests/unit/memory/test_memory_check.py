"""The ranker's check and copy: what of commits is damaged is named, and a copy is the memory itself."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ranker_service.domain.digest import canonical_json, digest_of
from ranker_service.memory.commits import CommitStore
from ranker_service.memory.memory_check import MemoryFiles
from ranktrail_serving.storage import BackupEnd, BackupFile, BackupPart, BackupStart, Problem, Progress
from tests.unit.memory.commits import contents, patch

BODIES = {"a": b"alpha", "b": b"beta", "empty": b""}
PROJECT = digest_of(b"docs")
LAYER = f"ranker/projects/{PROJECT}/layers/project"
BODY = f"{LAYER}/bodies/{digest_of(b'beta')[:2]}/{digest_of(b'beta')}"


@pytest.fixture
def layer(tmp_path: Path) -> CommitStore:
    """One project's layer, with an older commit behind its head, beside an organization."""
    patch(CommitStore(tmp_path / "ranker" / "organization"), {"o": b"omega"})
    store = CommitStore(tmp_path / LAYER)
    (tmp_path / "ranker" / "projects" / PROJECT / "project.json").write_bytes(canonical_json({"project_id": "docs"}))
    patch(store, {"old": b"old"})
    patch(store, BODIES, "old")
    return store


def problems(data_dir: Path, *, repair: bool = False) -> list[Problem]:
    events = list(MemoryFiles(data_dir / "ranker").check(repair=repair))
    progress = [event for event in events if isinstance(event, Progress)]
    assert progress[-1].done == progress[-1].total
    return [event for event in events if isinstance(event, Problem)]


@pytest.mark.usefixtures("layer")
def test_sound_layers_have_no_problems(tmp_path: Path) -> None:
    assert problems(tmp_path) == problems(tmp_path, repair=True) == []


def test_a_data_directory_without_a_memory_has_no_problems(tmp_path: Path) -> None:
    (tmp_path / "ranker").mkdir(mode=0o700)
    assert problems(tmp_path) == []


@pytest.mark.usefixtures("layer")
@pytest.mark.parametrize(
    ("name", "damage", "kind"),
    [
        (BODY, lambda path: path.write_bytes(b"bet?"), "body_digest"),
        (BODY, lambda path: path.write_bytes(b"be"), "body_size"),
        (BODY, Path.unlink, "body_missing"),
        (f"{LAYER}/head", lambda path: path.write_bytes(b"f" * 64), "head_damaged"),
        (f"{LAYER}/head", lambda path: path.write_bytes(b"none"), "head_damaged"),
        (f"{LAYER}/commits", shutil.rmtree, "head_damaged"),
        (f"ranker/projects/{PROJECT}/project.json", lambda path: path.write_bytes(b"{}"), "identity_damaged"),
        (f"ranker/projects/{PROJECT}/project.json", Path.unlink, "identity_damaged"),
    ],
)
def test_damage_is_named_and_a_repair_leaves_it_alone(
    tmp_path: Path, name: str, damage: Callable[[Path], object], kind: str
) -> None:
    damage(tmp_path / name)
    for _ in range(2):
        (problem,) = problems(tmp_path, repair=True)
        assert (problem.kind, problem.repairable) == (kind, False)
        assert problem.subject.startswith(f"ranker/projects/{PROJECT}")


@pytest.mark.usefixtures("layer")
@pytest.mark.parametrize(("name", "mode"), [(BODY, 0o644), (LAYER, 0o755), (f"{LAYER}/head", 0o666)])
def test_a_mode_that_lets_others_in_is_put_right(tmp_path: Path, name: str, mode: int) -> None:
    (tmp_path / name).chmod(mode)
    assert [(one.kind, one.subject, one.repaired) for one in problems(tmp_path)] == [("mode", name, False)]
    assert [one.repaired for one in problems(tmp_path, repair=True)] == [True]
    assert problems(tmp_path) == []


def copied(parts: list[BackupPart], folder: Path) -> list[Problem]:
    """Write a copy down; return the problems told."""
    assert isinstance(parts[0], BackupStart)
    files: dict[str, bytes] = {}
    name = ""
    for part in parts[1:-1]:
        if isinstance(part, BackupFile):
            name = part.path
            files[name] = b""
        elif isinstance(part, bytes):
            files[name] += part
    assert parts[-1] == BackupEnd(len(files), sum(map(len, files.values())))
    for name, content in files.items():
        (folder / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return [part for part in parts if isinstance(part, Problem)]


def test_a_copy_is_the_memory_with_its_commit_id_and_leaves_nothing_behind(tmp_path: Path, layer: CommitStore) -> None:
    (tmp_path / "ranker" / "profiles").mkdir()
    (tmp_path / "ranker" / "profiles" / "mine.toml").write_text("name = 'mine'")
    backup = MemoryFiles(tmp_path / "ranker").backup()
    parts = [next(backup)]
    # What is copied is held: what a later commit and its collection remove is still sent.
    patch(layer, {"new": b"new"}, "a", "b")
    layer.collect_garbage()
    parts += backup
    assert copied(parts, tmp_path / "copy") == []
    again = CommitStore(tmp_path / "copy" / LAYER)
    assert contents(again) == BODIES
    assert contents(CommitStore(tmp_path / "copy" / "ranker" / "organization")) == {"o": b"omega"}
    assert (tmp_path / "copy" / "ranker" / "profiles" / "mine.toml").read_text() == "name = 'mine'"
    assert list((tmp_path / LAYER / "incoming").iterdir()) == []


@pytest.mark.usefixtures("layer")
def test_a_damaged_body_is_named_and_not_in_the_copy(tmp_path: Path) -> None:
    (tmp_path / BODY).write_bytes(b"bet?")
    (problem,) = copied(list(MemoryFiles(tmp_path / "ranker").backup()), tmp_path / "copy")
    assert (problem.kind, problem.subject) == ("body_digest", BODY)
    assert not (tmp_path / "copy" / BODY).exists()
    assert len([path for path in (tmp_path / "copy" / LAYER / "bodies").rglob("*") if path.is_file()]) == 2


@pytest.mark.usefixtures("layer")
def test_a_copy_that_is_broken_off_leaves_nothing_behind(tmp_path: Path) -> None:
    backup = MemoryFiles(tmp_path / "ranker").backup()
    next(backup)
    assert list((tmp_path / LAYER / "incoming").iterdir())
    backup.close()
    assert list((tmp_path / LAYER / "incoming").iterdir()) == []
