"""The journal: what was kept is there after any end, up to the cap, and gone once history has it."""

import errno
import logging
import os
import stat
from pathlib import Path

import pytest

from ranker_service.recorder.journal import SPENT_BYTES, Journal, JournalFull, JournalInUse, Pending
from ranker_service.recorder.record import RecordDamaged

LIMIT = 10 * 1024 * 1024
FRAMES = [[b"started"], [b"candidates" * 10, b"candidates" * 10], [b"finished"]]


def an_open_journal(directory: Path, limit: int = LIMIT, count: int = 0) -> tuple[Journal, list[Pending]]:
    journal = Journal(directory, limit)
    return journal, [journal.append(f"run-{i}", "a" * 64, FRAMES) for i in range(count)]


def left_open(journal: Journal) -> None:
    """Let go of the directory as a killed process does: nothing is synced, noted or tidied."""
    os.close(journal._lock_file)


def reopened(directory: Path) -> list[str]:
    journal = Journal(directory, LIMIT)
    runs = [journal.read(pending).run_id for pending in journal.recovered()]
    left_open(journal)
    return runs


def test_runs_that_were_not_confirmed_come_back_oldest_first(tmp_path: Path) -> None:
    journal, kept = an_open_journal(tmp_path, count=5)
    journal.acknowledge(kept[1])
    journal.acknowledge(kept[3])
    left_open(journal)
    again = Journal(tmp_path, LIMIT)
    recovered = again.recovered()
    assert [pending.run_id for pending in recovered] == ["run-0", "run-2", "run-4"]
    assert recovered == sorted(recovered)
    assert [pending.effective_memory_hash for pending in recovered] == ["a" * 64] * 3
    assert again.read(recovered[0]).frames == tuple(map(b"".join, FRAMES))
    assert again.pending_count == 3


def test_runs_of_an_earlier_process_are_older_than_those_of_this_one(tmp_path: Path) -> None:
    journal, _ = an_open_journal(tmp_path, count=2)
    left_open(journal)
    again = Journal(tmp_path, LIMIT)
    assert max(again.recovered()) < again.append("later", "", FRAMES)


def test_files_are_for_their_owner_alone_whatever_the_umask_and_however_the_directory_was(tmp_path: Path) -> None:
    directory = tmp_path / "ranker" / "spool"
    previous = os.umask(0o022)
    try:
        directory.mkdir(parents=True)
        journal, kept = an_open_journal(directory, count=2)
        journal.acknowledge(kept[0])
    finally:
        os.umask(previous)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()}
    assert set(modes.values()) == {0o600}, modes
    assert len(modes) == 3


def test_a_link_planted_at_a_segments_name_is_not_written_through(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    spool = tmp_path / "spool"
    journal = Journal(spool, LIMIT)
    (spool / "0000000001.journal").symlink_to(victim)
    with pytest.raises(OSError, match="File exists"):
        journal.append("run", "", FRAMES)
    assert victim.read_bytes() == b"mine"


def test_the_cap_is_reached_exactly_and_one_run_past_it_is_refused(tmp_path: Path) -> None:
    journal, _ = an_open_journal(tmp_path / "measured", count=1)
    one = journal.used_bytes
    journal, kept = an_open_journal(tmp_path / "full", limit=4 * one, count=4)
    assert journal.used_bytes == 4 * one
    with pytest.raises(JournalFull):
        journal.append("run-4", "a" * 64, FRAMES)
    with pytest.raises(JournalFull):
        journal.append("x", "", [])
    assert journal.pending_count == 4
    journal.acknowledge(kept[0])
    journal.append("run-5", "a" * 64, FRAMES)
    left_open(journal)
    assert reopened(tmp_path / "full") == ["run-1", "run-2", "run-3", "run-5"]


def test_what_else_the_spool_holds_counts_against_the_cap(tmp_path: Path) -> None:
    bodies = [0]
    journal = Journal(tmp_path, LIMIT, lambda: bodies[0])
    journal.append("run-0", "", FRAMES)
    bodies[0] = LIMIT
    with pytest.raises(JournalFull):
        journal.append("run-1", "", FRAMES)


def test_a_write_that_fails_half_way_leaves_nothing_of_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal, _ = an_open_journal(tmp_path, count=1)

    def half(descriptor: int, pieces: list[bytes]) -> int:
        return os.write(descriptor, b"".join(pieces)[:50])

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "no space left on device")

    write = os.write
    with monkeypatch.context() as patched:
        patched.setattr(os, "writev", half)
        patched.setattr(os, "write", lambda d, b: write(d, b) if len(b) == 50 else full())
        with pytest.raises(OSError, match="no space"):
            journal.append("torn", "", FRAMES)
    journal.append("run-1", "", FRAMES)
    assert journal.used_bytes == sum(path.stat().st_size for path in tmp_path.glob("*.journal"))
    left_open(journal)
    assert reopened(tmp_path) == ["run-0", "run-1"]


def test_after_a_write_that_could_not_be_undone_the_next_run_is_still_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, _ = an_open_journal(tmp_path, count=1)

    def torn(descriptor: int, pieces: list[bytes]) -> int:
        os.write(descriptor, b"".join(pieces)[:50])
        raise OSError(errno.EIO, "input/output error")

    def stuck(*_: object) -> None:
        raise OSError(errno.EIO, "input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, "writev", torn)
        patched.setattr(os, "ftruncate", stuck)
        with pytest.raises(OSError, match="input/output"):
            journal.append("torn", "", FRAMES)
    journal.append("run-1", "", FRAMES)
    left_open(journal)
    assert reopened(tmp_path) == ["run-0", "run-1"]


def test_segments_whose_runs_are_confirmed_are_deleted_and_the_others_stay(tmp_path: Path) -> None:
    journal = Journal(tmp_path, 16 * 4_096)  # segments of 4 KiB
    kept = [journal.append(f"run-{i}", "", [[bytes(1_800)]]) for i in range(6)]
    segments = sorted({pending.segment for pending in kept})
    assert len(segments) == 3
    for pending in kept:
        if pending.segment != segments[1]:
            journal.acknowledge(pending)
    journal.retire_idle()
    assert [path.stem for path in tmp_path.glob("*.journal")] == [f"{segments[1]:010d}"]
    left_open(journal)
    assert reopened(tmp_path) == [p.run_id for p in kept if p.segment == segments[1]]


def test_a_journal_that_history_keeps_up_with_stays_small(tmp_path: Path) -> None:
    journal = Journal(tmp_path, LIMIT)
    for i in range(40):
        journal.acknowledge(journal.append(f"run-{i}", "", [[bytes(150_000)]]))
        assert journal.used_bytes < SPENT_BYTES + 150_000
    journal.retire_idle()
    assert journal.used_bytes == 0
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_closing_deletes_what_is_confirmed_and_keeps_what_is_not(tmp_path: Path) -> None:
    journal, kept = an_open_journal(tmp_path / "a", count=1)
    journal.acknowledge(kept[0])
    journal.close()
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["lock"]
    journal, _ = an_open_journal(tmp_path / "b", count=1)
    journal.close()
    assert reopened(tmp_path / "b") == ["run-0"]


def test_notes_that_were_torn_or_damaged_only_deliver_their_runs_again(tmp_path: Path) -> None:
    journal, kept = an_open_journal(tmp_path, count=4)
    for pending in kept[:3]:
        journal.acknowledge(pending)
    left_open(journal)
    notes = next(tmp_path.glob("*.acks"))
    whole = notes.read_bytes()
    for cut in range(len(whole) + 1):
        notes.write_bytes(whole[:cut])
        assert reopened(tmp_path) == [f"run-{i}" for i in range(cut // 12, 4)], cut
    for place in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        notes.write_bytes(damaged)
        assert reopened(tmp_path) == [f"run-{i}" for i in sorted({3, place // 8 // 12})], place


def test_notes_go_on_in_step_after_a_torn_one(tmp_path: Path) -> None:
    journal, kept = an_open_journal(tmp_path, count=3)
    journal.acknowledge(kept[0])
    left_open(journal)
    notes = next(tmp_path.glob("*.acks"))
    notes.write_bytes(notes.read_bytes() + b"torn")
    again = Journal(tmp_path, LIMIT)
    again.acknowledge(again.recovered()[0])
    left_open(again)
    assert reopened(tmp_path) == ["run-2"]


def test_notes_without_their_segment_are_swept_so_that_no_later_segment_inherits_them(tmp_path: Path) -> None:
    journal, kept = an_open_journal(tmp_path, count=1)
    journal.acknowledge(kept[0])
    left_open(journal)
    next(tmp_path.glob("*.journal")).unlink()
    again, _ = an_open_journal(tmp_path, count=1)
    left_open(again)
    assert reopened(tmp_path) == ["run-0"]


def test_a_damaged_run_is_skipped_counted_and_logged_and_a_torn_one_is_only_dropped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    journal, kept = an_open_journal(tmp_path, count=3)
    left_open(journal)
    segment = next(tmp_path.glob("*.journal"))
    content = bytearray(segment.read_bytes())
    content[kept[1].offset + 30] ^= 1
    segment.write_bytes(content[:-5])
    with caplog.at_level(logging.INFO):
        again = Journal(tmp_path, LIMIT)
    assert [pending.run_id for pending in again.recovered()] == ["run-0"]
    assert again.damaged_count == 0, "the torn tail begins where the damage does"
    left_open(again)
    segment.write_bytes(content)
    with caplog.at_level(logging.INFO):
        again = Journal(tmp_path, LIMIT)
    assert [pending.run_id for pending in again.recovered()] == ["run-0", "run-2"]
    assert again.damaged_count == 1
    assert "damaged at byte" in caplog.text


def test_a_run_damaged_after_it_was_kept_is_told_when_it_is_read(tmp_path: Path) -> None:
    journal, kept = an_open_journal(tmp_path, count=2)
    segment = next(tmp_path.glob("*.journal"))
    content = bytearray(segment.read_bytes())
    content[kept[0].offset + 40] ^= 8
    segment.write_bytes(content)
    with pytest.raises(RecordDamaged):
        journal.read(kept[0])
    assert journal.read(kept[1]).run_id == "run-1"


def test_a_second_process_cannot_open_the_same_journal(tmp_path: Path) -> None:
    journal, _ = an_open_journal(tmp_path)
    with pytest.raises(JournalInUse, match="stop it first"):
        Journal(tmp_path, LIMIT)
    journal.close()
    Journal(tmp_path, LIMIT).close()


def test_files_that_are_not_the_journals_are_left_alone(tmp_path: Path) -> None:
    for name in ("notes.journal", "notes.acks", "README"):
        (tmp_path / name).write_bytes(b"mine")
    Journal(tmp_path, LIMIT).close()
    assert {path.name for path in tmp_path.iterdir()} == {"notes.journal", "notes.acks", "README", "lock"}


def test_syncing_reaches_every_segment_and_the_directory_and_survives_deletions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    monkeypatch.setattr(
        "ranker_service.recorder.journal._sync", lambda fd: synced.append(Path(f"/proc/self/fd/{fd}").readlink().name)
    )
    journal = Journal(tmp_path, 16 * 4_096)
    kept = [journal.append(f"run-{i}", "", [[bytes(3_000)]]) for i in range(3)]
    journal.sync()
    assert synced == ["0000000001.journal", "0000000002.journal", "0000000003.journal", tmp_path.name]
    synced.clear()
    journal.sync()
    assert synced == []
    journal.append("run-3", "", [[bytes(10)]])
    journal.acknowledge(kept[0])
    journal.sync()
    assert synced == ["0000000003.journal"]
