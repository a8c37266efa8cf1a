"""Leases: what an upload refers to survives a collection that runs meanwhile."""

import threading
from pathlib import Path

from history_service.store.blobs import BlobStore
from history_service.store.leases import Leases
from tests.history_builders import digest

BODY = b"a body that a collection is about to remove"
DIGEST = digest(BODY)


def _store(store: BlobStore) -> None:
    batch = store.batch()
    batch.begin(DIGEST)
    batch.write(BODY)
    batch.end()
    batch.publish()


def test_a_held_body_is_not_removed_and_a_free_one_is(tmp_path: Path) -> None:
    store, leases = BlobStore(tmp_path / "blobs"), Leases()
    _store(store)
    with leases.hold([DIGEST]), leases.hold([DIGEST]):
        assert not leases.unless_held(DIGEST, lambda: None)
    assert leases.unless_held(DIGEST, lambda: store.remove(DIGEST) and None)
    assert not store.holds(DIGEST, len(BODY))


def test_an_upload_either_finds_the_body_gone_or_keeps_it(tmp_path: Path) -> None:
    """A collection decided to remove a body; an upload of the same body begins before, within or after the removal."""
    for round_number in range(200):
        store, leases = BlobStore(tmp_path / f"blobs{round_number % 2}"), Leases()
        _store(store)
        start = threading.Barrier(2)

        def collect(store: BlobStore = store, leases: Leases = leases, start: threading.Barrier = start) -> None:
            start.wait()
            leases.unless_held(DIGEST, lambda: store.remove(DIGEST) and None)

        collector = threading.Thread(target=collect)
        collector.start()
        start.wait()
        with leases.hold([DIGEST]):
            if not store.holds(DIGEST, len(BODY)):
                _store(store)
            collector.join()
            assert store.read(DIGEST) == BODY
