"""The flusher: writes reach the disk within 50 ms, in groups, and failures are told once."""

import logging
import threading
import time

import pytest

from ranker_service.recorder.flusher import Flusher


class Disk:
    """Stands for a journal; a sync takes `seconds`."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.broken = False
        self.synced: list[float] = []
        self.idle = threading.Event()
        self.gathered = threading.Event()

    def sync(self) -> None:
        if self.broken:
            raise OSError("broken")
        time.sleep(self.seconds)
        self.synced.append(time.monotonic())

    def retire_idle(self) -> None:
        self.idle.set()


def test_a_write_is_synced_within_fifty_milliseconds_and_neighbours_share_the_sync() -> None:
    disk = Disk()
    flusher = Flusher(disk, disk.gathered.set)  # type: ignore[arg-type]
    flusher.start()
    delays = []
    for _ in range(20):
        written = time.monotonic()
        before = len(disk.synced)
        for _ in range(5):
            flusher.written()
        while len(disk.synced) == before:
            time.sleep(0.001)
        delays.append(disk.synced[before] - written)
    flusher.stop()
    assert sorted(delays)[len(delays) // 2] < 0.05
    assert len(disk.synced) <= 40
    assert disk.gathered.is_set()


def test_failing_syncs_are_logged_once_until_one_succeeds(caplog: pytest.LogCaptureFixture) -> None:
    disk = Disk()
    disk.broken = True
    flusher = Flusher(disk, disk.gathered.set)  # type: ignore[arg-type]
    flusher.start()
    with caplog.at_level(logging.INFO):
        for _ in range(5):
            flusher.written()
            time.sleep(0.03)
        disk.broken = False
        flusher.written()
        time.sleep(0.05)
        flusher.stop()
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert disk.synced


def test_an_idle_journal_is_tidied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ranker_service.recorder.flusher.IDLE_SECONDS", 0.02)
    disk = Disk()
    flusher = Flusher(disk, disk.gathered.set)  # type: ignore[arg-type]
    flusher.start()
    assert disk.idle.wait(2)
    flusher.stop()
