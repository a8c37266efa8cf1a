"""The vector store: what was appended is there, whole or not at all, whatever ended the process."""

import fcntl
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ranker_service.domain.digest import digest_of
from ranker_service.domain.encoding import TokenVectors, UnitEncoding
from ranker_service.index.directions import VectorRefused
from ranker_service.index.files import IndexDamaged
from ranker_service.index.vector_store import StoreInUse, StoreMismatch, VectorStore

DIMENSION = 12
REVISION = "a model"


def key(n: int) -> str:
    return digest_of(str(n).encode())


def encoding(n: int, tokens: int | None = None) -> UnitEncoding:
    generator = np.random.default_rng(n)
    vector = generator.standard_normal(DIMENSION).astype(np.float32)
    count = n % 7 if tokens is None else tokens
    values = generator.integers(-127, 128, (count, DIMENSION)).astype(np.int8)
    scales = generator.random(count).astype(np.float16)
    return UnitEncoding(vector, TokenVectors(values, scales))


def without_tokens(n: int) -> UnitEncoding:
    return UnitEncoding(encoding(n).vector, None)


def require_holds(store: VectorStore, numbers: list[int]) -> None:
    keys = [key(n) for n in numbers]
    assert store.vectors(keys).tobytes() == np.array([encoding(n).vector for n in numbers]).tobytes()
    for n, found in zip(numbers, store.token_vectors(keys), strict=True):
        expected = encoding(n).token_vectors
        assert expected is not None
        assert np.array_equal(found.values, expected.values)
        assert np.array_equal(found.scales, expected.scales)
        assert (found.values.dtype, found.scales.dtype) == (np.int8, np.float16)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[VectorStore]:
    opened = VectorStore(tmp_path / "vectors", DIMENSION, REVISION)
    yield opened
    opened.close()


def reopened(store: VectorStore, tmp_path: Path) -> VectorStore:
    store.close()
    again = VectorStore(tmp_path / "vectors", DIMENSION, REVISION)
    store.__dict__.update(again.__dict__)
    return store


def test_vectors_come_back_bit_for_bit_in_the_order_asked_for(store: VectorStore, tmp_path: Path) -> None:
    for start in range(0, 100, 9):
        store.append((key(n), encoding(n)) for n in range(start, min(start + 9, 100)))
    numbers = random.Random(3).choices(range(100), k=150)
    require_holds(store, numbers)
    require_holds(reopened(store, tmp_path), numbers)
    assert len(store) == 100


def test_nothing_asked_for_is_nothing(store: VectorStore) -> None:
    store.append([])
    assert store.vectors([]).shape == (0, DIMENSION)
    assert store.token_vectors([]) == []
    assert store.token_vector_bytes([]) == 0


def test_missing_names_each_lacking_key_once_and_in_order(store: VectorStore) -> None:
    store.append([(key(1), encoding(1)), (key(2), without_tokens(2))])
    keys = [key(n) for n in (3, 2, 1, 0, 3)]
    assert store.missing(keys, with_token_vectors=False) == [key(3), key(0)]
    assert store.missing(keys, with_token_vectors=True) == [key(3), key(2), key(0)]


def test_token_vectors_that_were_not_kept_are_an_error_until_they_are_added(store: VectorStore, tmp_path: Path) -> None:
    store.append([(key(2), without_tokens(2))])
    assert store.token_vector_bytes([key(2)]) == 0
    with pytest.raises(IndexDamaged):
        store.token_vectors([key(2)])
    store.append([(key(2), encoding(2))])
    require_holds(store, [2])
    require_holds(reopened(store, tmp_path), [2])


def test_a_key_that_was_never_added_is_an_error(store: VectorStore) -> None:
    for read in (store.vectors, store.token_vectors):
        with pytest.raises(IndexDamaged):
            read([key(0)])


def test_the_size_of_token_vectors_counts_each_unit_once(store: VectorStore) -> None:
    store.append([(key(1), encoding(1, tokens=100))])
    assert store.token_vector_bytes([key(1), key(1)]) == 100 * (2 + DIMENSION)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 0.0])
def test_a_vector_without_a_direction_is_refused_with_its_whole_batch(store: VectorStore, bad: float) -> None:
    vector = np.full(DIMENSION, bad, np.float32)
    with pytest.raises(VectorRefused):
        store.append([(key(1), encoding(1)), (key(2), UnitEncoding(vector, None))])
    assert len(store) == 0


def test_a_vector_of_another_dimension_is_refused(store: VectorStore) -> None:
    with pytest.raises(VectorRefused):
        store.append([(key(1), UnitEncoding(np.ones(DIMENSION + 1, np.float32), None))])


@pytest.mark.parametrize(("dimension", "revision"), [(DIMENSION + 1, REVISION), (DIMENSION, "another model")])
def test_the_store_of_another_model_is_not_opened_and_can_be_begun_anew(
    store: VectorStore, tmp_path: Path, dimension: int, revision: str
) -> None:
    store.append([(key(1), encoding(1))])
    with pytest.raises(StoreMismatch):
        VectorStore(tmp_path / "vectors", dimension, revision)
    anew = VectorStore.open_or_begin_anew(tmp_path / "vectors", dimension, revision)
    assert len(anew) == 0
    anew.close()


@pytest.mark.parametrize("content", [None, b"", b"{", b'{"fields":{},"digest":""}'])
def test_a_store_without_a_whole_sidecar_is_not_opened(
    store: VectorStore, tmp_path: Path, content: bytes | None
) -> None:
    store.append([(key(1), encoding(1))])
    sidecar = tmp_path / "vectors" / "store.json"
    sidecar.unlink()
    if content is not None:
        sidecar.write_bytes(content)
    with pytest.raises(IndexDamaged):
        VectorStore(tmp_path / "vectors", DIMENSION, REVISION)


@pytest.mark.parametrize("name", ["keys.bin", "vectors.bin", "tokens.bin"])
@pytest.mark.parametrize("share", [0.01, 0.2, 0.99, 1.0])
def test_a_torn_tail_is_dropped_and_written_over(store: VectorStore, tmp_path: Path, name: str, share: float) -> None:
    for n in range(8):
        store.append([(key(n), encoding(n, tokens=5))])
    path = tmp_path / "vectors" / name
    os.truncate(path, int((1 - share) * path.stat().st_size))
    reopened(store, tmp_path)
    kept = len(store)
    assert kept < 8
    assert store.missing([key(n) for n in range(8)], with_token_vectors=True) == [key(n) for n in range(kept, 8)]
    assert store.vectors([key(n) for n in range(kept)]).tobytes() == b"".join(
        encoding(n).vector.tobytes() for n in range(kept)
    )
    store.append([(key(n), encoding(n, tokens=5)) for n in range(kept, 8)])
    assert len(reopened(store, tmp_path)) == 8
    assert store.vectors([key(n) for n in range(8)]).shape == (8, DIMENSION)
    assert [len(found.scales) for found in store.token_vectors([key(n) for n in range(8)])] == [5] * 8


def test_garbage_behind_the_last_whole_record_is_no_record(store: VectorStore, tmp_path: Path) -> None:
    store.append([(key(n), encoding(n)) for n in range(4)])
    for name in ("keys.bin", "vectors.bin", "tokens.bin"):
        with (tmp_path / "vectors" / name).open("ab") as file:
            file.write(bytes(64) + random.Random(1).randbytes(1000))
    assert len(reopened(store, tmp_path)) == 4
    store.append([(key(n), encoding(n)) for n in range(4, 9)])
    require_holds(reopened(store, tmp_path), list(range(9)))


@pytest.mark.parametrize("name", ["vectors.bin", "tokens.bin"])
def test_a_changed_byte_is_noticed_and_the_unit_is_wanted_again(store: VectorStore, tmp_path: Path, name: str) -> None:
    store.append([(key(n), encoding(n, tokens=5)) for n in range(4)])
    path = tmp_path / "vectors" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2 + 3] ^= 1
    path.write_bytes(content)
    keys = [key(n) for n in range(4)]
    with pytest.raises(IndexDamaged):
        store.vectors(keys) if name == "vectors.bin" else store.token_vectors(keys)
    assert store.missing(keys, with_token_vectors=True) == [key(2)]
    store.append([(key(2), encoding(2, tokens=5))])
    assert store.vectors(keys).tobytes() == np.array([encoding(n).vector for n in range(4)]).tobytes()
    assert len(store.token_vectors(keys)) == 4


def test_a_file_that_is_cut_while_it_is_open_is_an_error_and_not_a_crash(store: VectorStore, tmp_path: Path) -> None:
    store.append([(key(n), encoding(n, tokens=5)) for n in range(4)])
    for name, read in (("vectors.bin", store.vectors), ("tokens.bin", store.token_vectors)):
        os.truncate(tmp_path / "vectors" / name, 10)
        with pytest.raises(IndexDamaged):
            read([key(3)])


def test_only_one_store_appends_and_another_reads_what_was_there(store: VectorStore, tmp_path: Path) -> None:
    store.append([(key(1), encoding(1))])
    other = VectorStore(tmp_path / "vectors", DIMENSION, REVISION)
    require_holds(other, [1])
    with pytest.raises(StoreInUse):
        other.append([(key(2), encoding(2))])
    store.append([(key(3), encoding(3))])
    fcntl.flock(store._log, fcntl.LOCK_UN)
    other.append([(key(2), encoding(2))])
    require_holds(other, [1, 2, 3])
    other.close()


def test_threads_read_while_one_appends(store: VectorStore) -> None:
    store.append([(key(0), encoding(0))])
    failures: list[BaseException] = []
    is_done = threading.Event()

    def read() -> None:
        generator = random.Random(threading.get_ident())
        try:
            while not is_done.is_set():
                present = len(store)
                require_holds(store, generator.choices(range(present), k=5))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for n in range(1, 200, 3):
        store.append([(key(m), encoding(m)) for m in range(n, n + 3)])
    is_done.set()
    for thread in threads:
        thread.join()
    assert failures == []


APPENDER = """
import sys
from pathlib import Path
from tests.unit.index.test_vector_store import DIMENSION, REVISION, VectorStore, encoding, key
store = VectorStore(Path(sys.argv[1]), DIMENSION, REVISION)
for n in range(len(store), 1_000_000, 3):
    store.append([(key(m), encoding(m)) for m in range(n, n + 3)])
    print(n + 3, flush=True)
"""


def test_a_killed_writer_loses_nothing_that_it_had_appended(tmp_path: Path) -> None:
    generator = random.Random(7)
    acknowledged = 0
    for _ in range(5):
        command = [sys.executable, "-c", APPENDER, str(tmp_path / "vectors")]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3])
        assert process.stdout is not None
        for _ in range(generator.randrange(1, 30)):
            acknowledged = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        acknowledged = max([acknowledged, *(int(line) for line in process.stdout if line.endswith(b"\n"))])
        process.wait()
        store = VectorStore(tmp_path / "vectors", DIMENSION, REVISION)
        assert len(store) >= acknowledged
        require_holds(store, list(range(len(store))))
        store.close()
