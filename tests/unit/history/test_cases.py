"""Cases in the store: ids, the frozen corpus, and what the database itself forbids."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from history_service.domain.case_id import case_id
from history_service.domain.errors import CaseNotFound, JudgmentConflict, WriteFailed
from tests.unit.history.kept import Store, a_memory

BODIES = {f"doc-{n:04d}": f"body {n}".encode() for n in range(1, 4)}
MEMORY = a_memory(BODIES)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path) as opened:
        opened.put(MEMORY, BODIES)
        yield opened


def test_ids_are_26_characters_in_the_order_of_their_time() -> None:
    ids = [case_id(time_us, bytes(10)) for time_us in (0, 999, 1_000, 1_469_918_176_385_000)]
    assert ids == ["0" * 26, "0" * 26, "0000000001" + "0" * 16, "01ARYZ6S41" + "0" * 16]
    assert case_id(1_000, b"\xff" * 10) == "0000000001" + "Z" * 16
    assert case_id(2**47 * 1_000, bytes(10)) > case_id(2**47 * 1_000 - 1, b"\xff" * 10)


def test_of_many_who_pin_one_run_all_get_the_one_case(store: Store) -> None:
    store.record("run-1", MEMORY)
    answers: list[tuple[str, bool]] = []

    def pin() -> None:
        case, existed = store.create_case.create("run-1", "", "")
        answers.append((case.case_id, existed))

    threads = [threading.Thread(target=pin) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(existed for _, existed in answers) == [False] + [True] * 15
    assert len({case_id for case_id, _ in answers}) == 1


def test_a_run_is_pinned_before_retention_or_not_at_all(store: Store) -> None:
    """A pin and a prune of the same Run, each before the other: the Run is there with its case, or gone."""
    store.prune = type(store.prune)(store.database, store.collect, 1)
    for n in range(30):
        store.record(f"old-{n}", MEMORY)
        store.record(f"new-{n}", MEMORY)
        pruning = threading.Thread(target=store.prune.project, args=("demo",))
        pruning.start()
        try:
            store.create_case.create(f"old-{n}", "", "")
            pinned = True
        except Exception as error:
            assert "is not known" in str(error)  # noqa: PT017 - either outcome is right
            pinned = False
        pruning.join()
        assert (f"old-{n}" in store.run_ids()) == pinned
    assert store.rows("PRAGMA foreign_key_check") == []


def test_a_frozen_corpus_is_the_manifest_of_its_run(store: Store) -> None:
    store.record("run-1", MEMORY)
    case, _ = store.create_case.create("run-1", "", "")
    columns = "position, resource_id, layer, kind, path, title, media_type, digest, size_bytes, parse_state"
    frozen = store.rows(f"SELECT {columns} FROM evaluation_corpus_resources ORDER BY position")  # noqa: S608
    assert frozen == store.rows(f"SELECT {columns} FROM retrieval_run_resources ORDER BY position")  # noqa: S608
    assert (case.corpus_hash, case.resource_count, len(frozen)) == (MEMORY.effective_memory_hash, 3, 3)


def test_a_case_that_could_not_be_made_leaves_nothing(store: Store) -> None:
    store.record("run-1", MEMORY)
    store.record("run-2", MEMORY)
    store.create_case = type(store.create_case)(store.database, store.time, lambda: "the-same-id")
    store.create_case.create("run-1", "", "")
    with pytest.raises(WriteFailed):
        store.create_case.create("run-2", "", "")
    assert store.rows(
        "SELECT run_id FROM retrieval_runs JOIN evaluation_cases ON run_sequence = retrieval_runs.sequence"
    ) == [("run-1",)]
    assert store.rows("SELECT count(*) FROM evaluation_judgments") == [(1,)]


def test_a_missing_case_and_a_stale_version_are_told_apart(store: Store) -> None:
    store.record("run-1", MEMORY)
    case, _ = store.create_case.create("run-1", "", "")
    with pytest.raises(CaseNotFound):
        store.delete_case.delete("nobody", 1)
    with pytest.raises(JudgmentConflict) as conflict:
        store.delete_case.delete(case.case_id, 2)
    assert (conflict.value.expected, conflict.value.current) == (2, 1)
    store.delete_case.delete(case.case_id, 1)
    with pytest.raises(CaseNotFound):
        store.delete_case.delete(case.case_id, 1)
