"""The sink: it never raises and never waits, whatever becomes of the disk, and it belongs to one process."""

import errno
import logging
import os
import threading
from collections.abc import Iterator

import pytest

from ranker_service.ports import CorpusKeeper, TraceSink
from ranker_service.recorder.connection import ForeignProcess
from ranker_service.recorder.journal import JournalInUse
from ranker_service.recorder.sink import RecordingOff
from ranker_service.recorder.status import RecorderState
from ranktrail.ranker.v1 import ranker_service_pb2 as pb
from tests.fakes.recording import Rig, a_rig
from tests.traces import a_memory, a_trace

BODIES = {"guide.md": "Guide"}


@pytest.fixture
def rig() -> Iterator[Rig]:
    with a_rig() as made:
        yield made


def test_a_full_journal_drops_new_runs_counts_them_and_says_so_once(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    recorder = rig.open()
    memory = rig.register(BODIES)
    rig.run(memory)
    one = recorder.status().spool_bytes
    recorder.close(0.0)
    rig.open(limit_bytes=4 * one)
    assert rig.recorder is not None
    rig.register(BODIES)
    rig.run(memory, 8)
    status = rig.recorder.status()
    assert (status.pending_run_count, status.dropped_run_count) == (4, 5)
    assert status.spool_bytes == status.spool_limit_bytes == 4 * one
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    rig.history.start(rig.address)
    rig.recorder.start()
    recorder = rig.recorder
    rig.wait(lambda: recorder.status().pending_run_count == 0, "delivery")
    assert rig.history.recorded == rig.sent[:4]
    rig.wait(lambda: recorder.status().spool_bytes == 0, "an empty journal")
    rig.run(memory)
    rig.wait(lambda: rig.history.recorded == [*rig.sent[:4], rig.sent[-1]], "the Run after the drops")
    assert recorder.status().dropped_run_count == 5


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EMFILE, errno.EROFS])
def test_a_disk_that_fails_drops_runs_and_never_reaches_the_caller(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, code: int
) -> None:
    recorder = rig.open()
    memory = rig.register(BODIES)

    def fail(*_: object) -> int:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patched:
        patched.setattr(os, "writev", fail)
        rig.run(memory, 3)
    rig.run(memory, 2)
    status = recorder.status()
    assert (status.dropped_run_count, status.pending_run_count) == (3, 2)
    assert [record.levelname for record in caplog.records if record.levelno >= logging.WARNING] == ["WARNING"]


def test_a_disk_that_takes_no_new_file_drops_runs_and_never_reaches_the_caller(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = rig.open()
    memory = rig.register(BODIES)

    def fail(*_: object) -> int:
        raise OSError(errno.ENOSPC, "no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", fail)
        rig.run(memory, 3)
    rig.run(memory)
    assert (recorder.status().dropped_run_count, recorder.status().pending_run_count) == (3, 1)


def test_a_trace_that_cannot_be_encoded_is_dropped_and_logged(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    recorder = rig.open()
    memory = rig.register(BODIES)
    rig.keep(a_trace("surrogate", memory, query="\ud83d"))
    rig.run(memory)
    assert (recorder.status().dropped_run_count, recorder.status().pending_run_count) == (1, 1)
    assert "surrogate" in caplog.text


def test_runs_kept_from_many_threads_are_all_there_once(rig: Rig) -> None:
    recorder = rig.open()
    recorder.start()
    memory = rig.register(BODIES)
    rig.history.start(rig.address)

    def keep(thread: int) -> None:
        for i in range(25):
            trace = a_trace(f"run-{thread}-{i}", memory)
            recorder.started(trace)
            recorder.finished(trace)

    threads = [threading.Thread(target=keep, args=[thread]) for thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rig.wait(lambda: recorder.status().pending_run_count == 0, "delivery")
    assert sorted(rig.history.recorded) == sorted(f"run-{thread}-{i}" for thread in range(8) for i in range(25))


def test_a_second_recorder_on_the_same_spool_is_refused(rig: Rig) -> None:
    recorder = rig.open()
    with pytest.raises(JournalInUse):
        rig.open()
    rig.recorder = recorder


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_is_refused_and_the_parent_goes_on(rig: Rig) -> None:
    rig.history.start(rig.address)
    recorder = rig.open()
    recorder.start()
    memory = rig.register(BODIES)
    rig.run(memory)
    rig.wait_delivered()
    child = os.fork()
    if child == 0:
        refused = 0
        for use in (recorder.started, recorder.finished):
            try:
                use(a_trace("child", memory))
            except ForeignProcess:
                refused += 1
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    rig.run(memory, 3)
    rig.wait_delivered()


def test_status_is_told_in_the_contracts_words(rig: Rig) -> None:
    recorder = rig.open()
    rig.run(rig.register(BODIES))
    runtime = recorder.runtime()
    assert runtime.state == pb.RecorderRuntime.STATE_WAITING
    assert runtime.pending_run_count == 1
    assert runtime.spool_bytes == recorder.status().spool_bytes > 0
    assert runtime.spool_limit_bytes == 1024**3


def test_recording_that_is_off_keeps_nothing_and_says_so() -> None:
    off = RecordingOff()
    sink: TraceSink = off
    keeper: CorpusKeeper = off.corpora
    memory = a_memory()
    keeper.register(memory, lambda digest: None)  # type: ignore[arg-type, return-value]
    off.start()
    sink.started(a_trace("run", memory))
    sink.finished(a_trace("run", memory))
    keeper.retain("project")
    keeper.release("project")
    off.close()
    assert off.status().state is RecorderState.OFF
    assert off.runtime() == pb.RecorderRuntime(state=pb.RecorderRuntime.STATE_OFF)
