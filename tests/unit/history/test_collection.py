"""Collection: what a Run, a case or an upload refers to stays, and nothing else."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from history_service.domain.digest import digest_of
from history_service.domain.errors import WriteFailed
from history_service.store import unreferenced
from history_service.store.blobs import BlobStore
from tests.unit.history.kept import GRACE_US, Store, a_memory

BODIES = {"a": b"body a", "b": b"body b"}
MEMORY = a_memory(BODIES)
DIGESTS = {digest_of(body) for body in BODIES.values()}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path) as opened:
        yield opened


def _delete_runs(store: Store) -> None:
    store.database.write(lambda db: db.execute_sql("DELETE FROM retrieval_runs")).result()


def _everything(store: Store) -> None:
    store.time.us += GRACE_US + 1
    store.collect.everything()


def test_what_a_run_refers_to_stays_and_goes_with_its_last_run(store: Store) -> None:
    store.put(MEMORY, BODIES)
    store.record("one", MEMORY)
    store.record("two", MEMORY)
    _everything(store)
    assert store.files() == store.blob_rows() == DIGESTS
    store.database.write(lambda db: db.execute_sql("DELETE FROM retrieval_runs WHERE run_id = 'one'")).result()
    _everything(store)
    assert (store.files(), store.manifests()) == (DIGESTS, {MEMORY.effective_memory_hash})
    _delete_runs(store)
    _everything(store)
    assert (store.files(), store.blob_rows(), store.manifests()) == (set(), set(), set())


def test_what_only_a_frozen_corpus_refers_to_stays(store: Store) -> None:
    """A case pins its Run, so this is a state that only damage or another release could leave; no body may go."""
    store.put(MEMORY, BODIES)
    store.record("one", MEMORY)
    store.create_case.create("one", "", "")
    memory = MEMORY.effective_memory_hash
    store.database.write(lambda db: db.execute_sql("UPDATE retrieval_runs SET effective_memory_hash = NULL")).result()
    collected = store.collect.manifests([memory])
    _everything(store)
    assert (collected.blob_count, store.manifests()) == (0, set())
    assert store.files() == store.blob_rows() == DIGESTS


def test_a_body_that_two_memories_hold_goes_with_the_last_of_them(store: Store) -> None:
    other = a_memory({"a": b"body a", "c": b"body c"})
    store.put(MEMORY, BODIES)
    store.put(other, {"a": b"body a", "c": b"body c"})
    store.record("one", MEMORY)
    store.record("two", other)
    store.database.write(lambda db: db.execute_sql("DELETE FROM retrieval_runs WHERE run_id = 'one'")).result()
    collected = store.collect.manifests([MEMORY.effective_memory_hash])
    assert (collected.blob_count, collected.blob_bytes) == (1, 6)
    assert store.files() == {digest_of(b"body a"), digest_of(b"body c")}


def test_a_corpus_waits_for_its_first_run_for_a_grace_period(store: Store) -> None:
    store.put(MEMORY, BODIES)
    store.collect.manifests([MEMORY.effective_memory_hash])
    store.collect.everything()
    assert (store.files(), store.manifests()) == (DIGESTS, {MEMORY.effective_memory_hash})
    store.time.us += GRACE_US
    store.collect.everything()
    assert (store.files(), store.manifests()) == (set(), set())


def test_bodies_without_a_row_go_and_what_is_no_body_stays(store: Store) -> None:
    blobs = store.directory / "blobs"
    stray = digest_of(b"stray")
    others = [blobs / stray[:2] / ".draft-1-1", blobs / stray[:2] / "notes.txt", blobs / "zz" / stray]
    for path in (blobs / stray[:2] / stray, *others):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"stray")
    _everything(store)
    assert not (blobs / stray[:2] / stray).exists()
    assert all(path.exists() for path in others)


def test_collecting_twice_changes_nothing(store: Store) -> None:
    store.put(MEMORY, BODIES)
    store.record("one", MEMORY)
    _delete_runs(store)
    assert store.collect.manifests([MEMORY.effective_memory_hash]).blob_count == 2
    assert store.collect.manifests([MEMORY.effective_memory_hash]).blob_count == 0
    assert store.collect.everything().blob_count == 0


PAUSES: list[tuple[Any, str]] = [
    (unreferenced, "is_used"),
    (unreferenced, "delete_manifest"),
    (unreferenced, "delete_blobs"),
    (unreferenced, "stored_among"),
    (BlobStore, "remove"),
]


@pytest.mark.parametrize("recorded_meanwhile", [False, True])
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize(("owner", "name"), PAUSES)
def test_a_corpus_that_is_put_at_any_point_of_a_collection_is_whole_afterwards(
    store: Store, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, full: bool, recorded_meanwhile: bool
) -> None:
    """An upload of the same bodies begins and ends while the collection is about to take the next step.

    Its Run comes meanwhile as well, or only later.
    """
    store.put(MEMORY, BODIES)
    store.record("old", MEMORY)
    _delete_runs(store)
    store.time.us += GRACE_US + 1
    uploads: list[threading.Thread] = []
    step = getattr(owner, name)

    def paused(*arguments: Any) -> Any:
        if not uploads:
            uploads.append(threading.Thread(target=_put, args=(store, recorded_meanwhile)))
            uploads[0].start()
            # The upload may have to wait for the very step that is paused here.
            uploads[0].join(0.3)
        return step(*arguments)

    monkeypatch.setattr(owner, name, paused)
    _collect(store, full)()
    uploads[0].join()
    if not recorded_meanwhile:
        store.record("new", MEMORY)
    _check_whole(store)
    _collect(store, full)()
    _check_whole(store)


def _collect(store: Store, full: bool) -> Callable[[], object]:
    return store.collect.everything if full else lambda: store.collect.manifests([MEMORY.effective_memory_hash])


def _put(store: Store, with_run: bool) -> None:
    store.put(MEMORY, BODIES)
    if with_run:
        store.record("new", MEMORY)


def _check_whole(store: Store) -> None:
    assert store.run_ids() == ["new"]
    assert store.manifests() == {MEMORY.effective_memory_hash}
    assert store.blob_rows() == DIGESTS
    for name, body in BODIES.items():
        assert store.read.body("new", name)[1] == body


def test_an_upload_that_breaks_off_leaves_bodies_for_the_next_attempt_and_then_for_a_full_collection(
    store: Store,
) -> None:
    upload = store.begin_upload(MEMORY)
    for digest in upload.missing():
        upload.add_part(digest, 0, next(body for body in BODIES.values() if digest_of(body) == digest))
    upload._batch.publish()
    _everything(store)
    assert store.files() == DIGESTS
    upload.close()
    again = store.begin_upload(MEMORY)
    assert again.missing() == []
    again.close()
    _everything(store)
    assert store.files() == set()


def test_a_body_that_was_held_when_its_row_went_goes_with_the_next_collection(store: Store) -> None:
    store.put(MEMORY, BODIES)
    store.record("one", MEMORY)
    _delete_runs(store)
    with store.leases.hold(DIGESTS):
        store.collect.manifests([MEMORY.effective_memory_hash])
        assert (store.files(), store.blob_rows()) == (DIGESTS, set())
    store.collect.manifests([])
    assert store.files() == set()


def test_rows_are_gone_before_files_so_that_no_row_ever_lacks_its_body(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put(MEMORY, BODIES)
    store.record("one", MEMORY)
    _delete_runs(store)
    monkeypatch.setattr(BlobStore, "remove", _refuse)
    with pytest.raises(WriteFailed):
        store.collect.manifests([MEMORY.effective_memory_hash])
    assert (store.files(), store.blob_rows()) == (DIGESTS, set())
    assert store.blobs.write_failure_count == 1
    monkeypatch.undo()
    store.collect.manifests([])
    assert store.files() == set()


def _refuse(*_arguments: Any) -> int:
    raise OSError(5, "Input/output error")


def test_a_body_read_while_its_run_goes_is_of_a_run_that_is_not_there_and_not_damaged(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put(MEMORY, BODIES)
    store.record("one", MEMORY)
    read = BlobStore.read

    def late(blobs: BlobStore, digest: str) -> bytes:
        store.clear.clear(None)
        return read(blobs, digest)

    monkeypatch.setattr(BlobStore, "read", late)
    with pytest.raises(Exception, match="run_id 'one' is not known"):
        store.read.body("one", "a")
