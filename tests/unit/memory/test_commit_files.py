"""The files of a store are its owner's, are checked before they are trusted, and go when nothing needs them."""

import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ranker_service.domain.digest import digest_of
from ranker_service.domain.resource import Layer, ParseState
from ranker_service.memory import manifests
from ranker_service.memory.commits import CommitMode, CommitStore
from ranker_service.memory.damage import MemoryDamaged
from tests.unit.memory.commits import add, contents, patch


def files_below(directory: Path) -> dict[str, bytes]:
    """Every regular file below `directory`."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "damage", [b"", b"not json", b'{"parser_revision":"parsers.v0","parse_states":["blank"]}', None]
)
def test_parse_states_of_other_parsers_are_made_anew_and_the_commit_stays(
    store: CommitStore, tmp_path: Path, damage: bytes | None
) -> None:
    commit = patch(store, {"a": b"alpha"})
    states = tmp_path / "store" / "commits" / f"{commit.commit_id}.parse_states.json"
    whole = states.read_bytes()
    if damage is None:
        states.unlink()
    else:
        states.write_bytes(damage)
    again = CommitStore(tmp_path / "store")
    assert [r.parse_state for r in again.manifest()] == [ParseState.PARSED]
    assert states.read_bytes() == whole
    assert patch(again, {"a": b"alpha"}).commit_id == commit.commit_id


def test_the_parsers_revision_is_beside_the_manifest_and_not_in_its_id(
    store: CommitStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = patch(store, {"a": b"alpha"})
    monkeypatch.setattr(manifests, "PARSER_REVISION", "parsers.v999")
    assert patch(store, {"a": b"alpha"}).commit_id == commit.commit_id


def test_a_discarded_or_failed_draft_leaves_nothing(store: CommitStore, tmp_path: Path) -> None:
    patch(store, {"a": b"alpha"})
    before = files_below(tmp_path)
    draft = store.begin(Layer.PROJECT, CommitMode.PATCH)
    add(draft, "b", b"beta")
    draft.discard()
    draft.discard()
    assert files_below(tmp_path) == before
    assert list((tmp_path / "store" / "incoming").iterdir()) == []
    for call in (draft.publish, lambda: draft.delete("a"), lambda: add(draft, "c", b"gamma")):
        with pytest.raises(ValueError, match="published or discarded"):
            call()


def test_opening_a_store_sweeps_what_ended_processes_left_and_spares_open_drafts(
    store: CommitStore, tmp_path: Path
) -> None:
    orphan = tmp_path / "store" / "incoming" / "orphan"
    orphan.mkdir()
    (orphan / digest_of(b"x")).write_bytes(b"x")
    with store.begin(Layer.PROJECT, CommitMode.PATCH) as draft:
        add(draft, "a", b"alpha")
        CommitStore(tmp_path / "store")
        assert not orphan.exists()
        draft.publish()
    assert contents(store) == {"a": b"alpha"}


@pytest.mark.parametrize("planted", [b"", b"alph", b"ALPHA", b"alphaalpha"])
def test_a_stored_body_that_is_not_what_its_name_says_is_written_again(store: CommitStore, planted: bytes) -> None:
    path = store.body_path(digest_of(b"alpha"))
    path.parent.mkdir()
    path.write_bytes(planted)
    patch(store, {"a": b"alpha"})
    assert contents(store) == {"a": b"alpha"}


def test_a_damaged_or_missing_body_is_never_returned(store: CommitStore) -> None:
    patch(store, {"a": b"alpha"})
    path = store.body_path(digest_of(b"alpha"))
    path.write_bytes(b"alphA")
    with pytest.raises(MemoryDamaged, match="other bytes"):
        store.read_body(digest_of(b"alpha"))
    path.unlink()
    with pytest.raises(MemoryDamaged, match="cannot be read"):
        store.read_body(digest_of(b"alpha"))


@pytest.mark.parametrize("damage", [b"", b"{}", None])
def test_a_damaged_manifest_is_never_used(store: CommitStore, tmp_path: Path, damage: bytes | None) -> None:
    path = tmp_path / "store" / "commits" / f"{patch(store, {'a': b'alpha'}).commit_id}.json"
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage)
    with pytest.raises(MemoryDamaged, match="manifest"):
        CommitStore(tmp_path / "store").manifest()


def test_a_head_that_is_no_commit_id_is_never_followed(store: CommitStore, tmp_path: Path) -> None:
    for head in (b"", b"../../etc/passwd", b"a" * 64 + b"\n", b"\xff"):
        (tmp_path / "store" / "head").write_bytes(head)
        with pytest.raises(MemoryDamaged, match="head"):
            store.manifest()


@contextmanager
def mask(value: int) -> Iterator[None]:
    before = os.umask(value)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.parametrize("value", [0o000, 0o022, 0o077])
def test_every_directory_and_file_is_the_owners_alone_whatever_the_mask(tmp_path: Path, value: int) -> None:
    root = tmp_path / "data"
    with mask(value):
        (root / "old").mkdir(parents=True, mode=0o755)
        store = CommitStore(root / "old" / "new" / "store")
        patch(store, {"a": b"alpha"})
        with store.begin(Layer.PROJECT, CommitMode.PATCH) as draft:
            add(draft, "b", b"beta")
            modes = {
                path: stat.S_IMODE(path.lstat().st_mode) for path in (root / "old").rglob("*") if path.name != "old"
            }
    assert {modes[path] for path in modes if path.is_dir()} == {0o700}
    assert {modes[path] for path in modes if path.is_file()} == {0o600}
    assert len(modes) > 10


def test_an_existing_open_directory_is_closed(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir(mode=0o755)
    (tmp_path / "store").chmod(0o755)
    CommitStore(tmp_path / "store")
    assert stat.S_IMODE((tmp_path / "store").stat().st_mode) == 0o700


@pytest.mark.parametrize("content", [b"secret", b"alpha"])
def test_a_symbolic_link_planted_for_a_body_is_replaced_and_its_target_unchanged(
    store: CommitStore, tmp_path: Path, content: bytes
) -> None:
    target = tmp_path / "target"
    target.write_bytes(content)
    path = store.body_path(digest_of(b"alpha"))
    path.parent.mkdir()
    path.symlink_to(target)
    with pytest.raises(MemoryDamaged):
        store.read_body(digest_of(b"alpha"))
    patch(store, {"a": b"alpha"})
    assert not path.is_symlink()
    assert path.stat().st_ino != target.stat().st_ino
    assert (store.read_body(digest_of(b"alpha")), target.read_bytes()) == (b"alpha", content)


def test_collection_deletes_what_neither_head_nor_keeper_needs(store: CommitStore) -> None:
    first = patch(store, {"a": b"one", "b": b"same"})
    second = patch(store, {"a": b"two!"})
    patch(store, {"a": b"three"})
    assert store.collect_garbage([digest_of(b"two!")], [first.commit_id]) > 0
    assert [store.read_body(digest_of(body)) for body in (b"one", b"two!", b"three", b"same")]
    freed = store.collect_garbage()
    assert freed >= len(b"one") + len(b"two!")
    for gone in (b"one", b"two!"):
        with pytest.raises(MemoryDamaged):
            store.read_body(digest_of(gone))
    assert contents(store) == {"a": b"three", "b": b"same"}
    assert store.collect_garbage() == 0
    with pytest.raises(MemoryDamaged):
        store.collect_garbage(keep_commits=[second.commit_id])


def test_collection_spares_what_an_open_draft_received_even_where_it_was_stored_before(store: CommitStore) -> None:
    patch(store, {"a": b"old", "b": b"beta"})
    patch(store, {"a": b"new"})
    with store.begin(Layer.PROJECT, CommitMode.PATCH) as draft:
        add(draft, "c", b"old")
        add(draft, "d", b"fresh")
        store.collect_garbage()
        assert not store.body_path(digest_of(b"old")).exists()
        draft.publish()
    assert contents(store) == {"a": b"new", "b": b"beta", "c": b"old", "d": b"fresh"}


def test_commits_and_collections_at_once_lose_nothing(store: CommitStore) -> None:
    done = threading.Event()

    def collect() -> None:
        while not done.is_set():
            store.collect_garbage()

    collector = threading.Thread(target=collect)
    collector.start()
    try:
        for step in range(60):
            patch(store, {"a": f"body {step % 3}".encode(), f"r{step}": f"kept {step % 5}".encode()})
            assert len(contents(store)) == step + 2
    finally:
        done.set()
        collector.join()
