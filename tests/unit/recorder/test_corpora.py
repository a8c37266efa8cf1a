"""The corpus spool: what a Run needs of a memory stays until history has it, and not longer."""

import os
import stat
from pathlib import Path

import pytest

from ranker_service.domain.digest import digest_of
from ranker_service.domain.resource import EffectiveMemory
from ranker_service.recorder.corpora import Availability, CorpusLost, CorpusSpool
from tests.fakes.clock import ManualClock
from tests.traces import a_memory, write_bodies

FIRST = {"guide.md": "Guide", "faq.md": "Questions"}
SECOND = {"guide.md": "Guide, second edition", "faq.md": "Questions"}


def a_spool(directory: Path, pending: tuple[str, ...] = (), clock: ManualClock | None = None) -> CorpusSpool:
    spool = CorpusSpool(directory / "spool", clock or ManualClock())
    spool.recover(pending)
    return spool


def register(spool: CorpusSpool, directory: Path, bodies: dict[str, str], project: str = "p") -> EffectiveMemory:
    memory = a_memory(project, bodies)
    spool.register(memory, write_bodies(directory / "memory", bodies))
    return memory


def a_kept_run(spool: CorpusSpool, memory: EffectiveMemory) -> None:
    spool.run_started(memory.project_id)
    spool.run_ended(memory.project_id, memory.hash)


def delete_memory(directory: Path) -> None:
    for path in (directory / "memory").iterdir():
        path.unlink()


def spooled(directory: Path) -> set[str]:
    return {path.name for path in (directory / "spool" / "bodies").iterdir()}


def manifests(directory: Path) -> set[str]:
    return {path.stem for path in (directory / "spool" / "corpora").glob("*.json")}


def digests(*bodies: str) -> set[str]:
    return {digest_of(body.encode()) for body in bodies}


def test_a_registered_memory_is_wanted_until_it_is_stored_and_its_runs_wait_so_long(tmp_path: Path) -> None:
    spool = a_spool(tmp_path)
    changed: list[str] = []
    spool.on_change = changed.append
    memory = register(spool, tmp_path, FIRST)
    assert spool.next_wanted() == memory.hash
    assert spool.availability(memory.hash) is Availability.WAITING
    spool.stored(memory.hash)
    assert spool.next_wanted() is None
    assert spool.availability(memory.hash) is Availability.READY
    assert changed == [memory.hash]


def test_a_memory_that_history_confirmed_is_not_put_again_after_a_restart(tmp_path: Path) -> None:
    spool = a_spool(tmp_path)
    memory = register(spool, tmp_path, FIRST)
    spool.stored(memory.hash)
    again = a_spool(tmp_path)
    register(again, tmp_path, FIRST)
    assert again.next_wanted() is None
    assert again.availability(memory.hash) is Availability.READY


def test_a_memory_that_history_lost_is_put_again_and_one_that_nobody_knows_is_lost(tmp_path: Path) -> None:
    spool = a_spool(tmp_path)
    memory = register(spool, tmp_path, FIRST)
    spool.stored(memory.hash)
    spool.missing(memory.hash)
    assert spool.availability(memory.hash) is Availability.WAITING
    assert spool.next_wanted() == memory.hash
    assert spool.availability("f" * 64) is Availability.READY, "history may know it"
    spool.missing("f" * 64)
    assert spool.availability("f" * 64) is Availability.LOST


def test_a_run_without_a_memory_waits_for_nothing(tmp_path: Path) -> None:
    assert a_spool(tmp_path).availability("") is Availability.READY


def test_a_superseded_memory_that_no_run_needs_is_forgotten(tmp_path: Path) -> None:
    spool = a_spool(tmp_path)
    register(spool, tmp_path, FIRST)
    second = register(spool, tmp_path, SECOND)
    assert manifests(tmp_path) == {second.hash}
    assert spool.next_wanted() == second.hash


def test_a_superseded_memory_stays_while_a_run_of_its_project_is_under_way_or_kept(tmp_path: Path) -> None:
    spool = a_spool(tmp_path)
    first = register(spool, tmp_path, FIRST)
    spool.run_started("p")
    second = register(spool, tmp_path, SECOND)
    assert manifests(tmp_path) == {first.hash, second.hash}
    spool.run_ended("p", first.hash)
    third = register(spool, tmp_path, {})
    assert manifests(tmp_path) == {first.hash, third.hash}
    spool.run_settled(first.hash)
    assert manifests(tmp_path) == {third.hash}


def test_corpora_that_runs_wait_for_are_put_first(tmp_path: Path) -> None:
    spool = a_spool(tmp_path)
    idle = register(spool, tmp_path, FIRST, "idle")
    busy = register(spool, tmp_path, FIRST, "busy")
    assert spool.next_wanted() == idle.hash
    a_kept_run(spool, busy)
    assert spool.next_wanted() == busy.hash


def test_a_corpus_that_failed_lets_the_others_go_first(tmp_path: Path) -> None:
    clock = ManualClock()
    spool = a_spool(tmp_path, clock=clock)
    first = register(spool, tmp_path, FIRST, "first")
    second = register(spool, tmp_path, FIRST, "second")
    spool.put_off(first.hash, 5.0)
    assert spool.next_wanted() == second.hash
    spool.stored(second.hash)
    assert spool.next_wanted() is None
    clock.elapsed_us += 5_000_000
    assert spool.next_wanted() == first.hash


def test_bodies_are_read_from_the_memory_until_it_lets_them_go_and_then_from_the_spool(tmp_path: Path) -> None:
    spool = a_spool(tmp_path)
    memory = register(spool, tmp_path, FIRST)
    a_kept_run(spool, memory)
    assert spooled(tmp_path) == set()
    spool.retain("p")
    delete_memory(tmp_path)
    register(spool, tmp_path, {})
    for body in FIRST.values():
        with spool.open_body("p", digest_of(body.encode())) as file:
            assert file.read() == body.encode()
    assert spooled(tmp_path) == digests(*FIRST.values())
    spool.stored(memory.hash)
    spool.run_settled(memory.hash)
    assert spooled(tmp_path) == set()


def test_retaining_links_and_copies_nothing(tmp_path: Path) -> None:
    spool = a_spool(tmp_path)
    memory = register(spool, tmp_path, FIRST)
    a_kept_run(spool, memory)
    spool.retain("p")
    name = digest_of(b"Guide")
    assert (tmp_path / "spool" / "bodies" / name).stat().st_ino == (tmp_path / "memory" / name).stat().st_ino
    assert spool.owned_bytes == 0, "the memory still has them"
    delete_memory(tmp_path)
    spool.measure()
    assert spool.owned_bytes == len("Guide") + len("Questions")


def test_where_links_cannot_be_made_bodies_are_copied_for_their_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("links are not supported")

    spool = a_spool(tmp_path)
    memory = register(spool, tmp_path, FIRST)
    a_kept_run(spool, memory)
    monkeypatch.setattr(os, "link", refuse)
    spool.retain("p")
    delete_memory(tmp_path)
    assert spooled(tmp_path) == digests(*FIRST.values())
    for path in (tmp_path / "spool" / "bodies").iterdir():
        assert digest_of(path.read_bytes()) == path.name
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_restart_still_delivers_a_memory_that_was_changed_and_cleared(tmp_path: Path) -> None:
    spool = a_spool(tmp_path)
    memory = register(spool, tmp_path, FIRST)
    a_kept_run(spool, memory)
    spool.retain("p")
    delete_memory(tmp_path)
    register(spool, tmp_path, {})

    again = a_spool(tmp_path, pending=(memory.hash,))
    register(again, tmp_path, {})
    assert again.next_wanted() == memory.hash
    assert again.availability(memory.hash) is Availability.WAITING
    assert again.memory(memory.hash) == memory
    with again.open_body("p", digest_of(b"Guide")) as file:
        assert file.read() == b"Guide"


def test_a_restart_reads_the_bodies_of_an_older_memory_from_the_project_that_still_has_them(tmp_path: Path) -> None:
    spool = a_spool(tmp_path)
    first = register(spool, tmp_path, FIRST)
    a_kept_run(spool, first)
    register(spool, tmp_path, SECOND)
    again = a_spool(tmp_path, pending=(first.hash,))
    register(again, tmp_path, SECOND)
    with again.open_body("p", digest_of(b"Guide")) as file:
        assert file.read() == b"Guide"


def test_a_restart_sweeps_manifests_and_bodies_that_no_run_needs(tmp_path: Path) -> None:
    spool = a_spool(tmp_path)
    memory = register(spool, tmp_path, FIRST)
    a_kept_run(spool, memory)
    spool.retain("p")
    (tmp_path / "spool" / "bodies" / "half.tmp").write_bytes(b"half")
    a_spool(tmp_path)
    assert manifests(tmp_path) == set()
    assert spooled(tmp_path) == set()


def test_releasing_a_deleted_project_keeps_what_its_runs_need_and_forgets_the_rest(tmp_path: Path) -> None:
    spool = a_spool(tmp_path)
    memory = register(spool, tmp_path, FIRST)
    other = register(spool, tmp_path, SECOND, "other")
    spool.release("other")
    assert manifests(tmp_path) == {memory.hash}
    with pytest.raises(CorpusLost):
        spool.memory(other.hash)
    a_kept_run(spool, memory)
    spool.release("p")
    delete_memory(tmp_path)
    assert manifests(tmp_path) == {memory.hash}
    with spool.open_body("p", digest_of(b"Guide")) as file:
        assert file.read() == b"Guide"


def test_a_body_that_is_nowhere_loses_a_superseded_corpus_but_a_present_one_is_tried_again(tmp_path: Path) -> None:
    clock = ManualClock()
    spool = a_spool(tmp_path, clock=clock)
    first = register(spool, tmp_path, FIRST)
    a_kept_run(spool, first)
    delete_memory(tmp_path)
    with pytest.raises(CorpusLost, match="neither in the memory nor in the spool"):
        spool.open_body("p", digest_of(b"Guide"))
    spool.lose(first.hash, "a body is missing")
    assert spool.availability(first.hash) is Availability.WAITING
    assert spool.next_wanted() is None
    clock.elapsed_us += 61_000_000
    assert spool.next_wanted() == first.hash
    register(spool, tmp_path, {})
    spool.lose(first.hash, "a body is missing")
    assert spool.availability(first.hash) is Availability.LOST
    register(spool, tmp_path, FIRST)
    assert spool.availability(first.hash) is Availability.WAITING, "the memory has it again"


@pytest.mark.parametrize("damage", [b"", b"{}", b"not json", b'{"project_id":"p","resources":[[1]]}', None])
def test_a_damaged_manifest_is_never_taken_for_its_memory(tmp_path: Path, damage: bytes | None) -> None:
    spool = a_spool(tmp_path)
    memory = register(spool, tmp_path, FIRST)
    other = register(spool, tmp_path, SECOND, "other")
    path = tmp_path / "spool" / "corpora" / f"{memory.hash}.json"
    path.write_bytes((path.parent / f"{other.hash}.json").read_bytes() if damage is None else damage)
    again = a_spool(tmp_path, pending=(memory.hash,))
    with pytest.raises(CorpusLost):
        again.memory(memory.hash)
    assert again.availability(memory.hash) is Availability.READY, "history may have it"


def test_a_manifest_that_cannot_be_written_is_kept_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left on device")

    spool = a_spool(tmp_path)
    monkeypatch.setattr("ranker_service.recorder.corpora.replace_file", full)
    first = register(spool, tmp_path, FIRST)
    a_kept_run(spool, first)
    register(spool, tmp_path, SECOND)
    assert spool.memory(first.hash) == first


def test_the_spool_is_for_its_owner_alone(tmp_path: Path) -> None:
    previous = os.umask(0o022)
    try:
        spool = a_spool(tmp_path)
        memory = register(spool, tmp_path, FIRST)
        spool.stored(memory.hash)
    finally:
        os.umask(previous)
    for path in (tmp_path / "spool").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_the_record_of_confirmed_memories_is_bounded_and_survives_garbage(tmp_path: Path) -> None:
    record = tmp_path / "spool" / "corpora" / "confirmed"
    record.parent.mkdir(parents=True)
    record.write_bytes("".join(f"{i:064x}\n" for i in range(12_000)).encode() + b"\xff garbage\n../../x\n" + b"a" * 30)
    spool = a_spool(tmp_path)
    kept = record.read_text().splitlines()
    assert len(kept) == 10_000
    assert kept[-1] == f"{11_999:064x}"
    memory = register(spool, tmp_path, FIRST)
    spool.stored(memory.hash)
    assert record.read_text().splitlines()[-1] == memory.hash
