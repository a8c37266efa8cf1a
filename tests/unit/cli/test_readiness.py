"""A command that comes while `ranktrail up` is still starting waits for the services."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ranktrail_cli import readiness
from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.readiness import wait_until_serving
from ranktrail_cli.supervisor_lock import is_supervised, locked
from ranktrail_client.client import Client
from tests.fakes.services import FakeHistory, FakeRanker, served
from tests.unit.cli.running import Run, a_reply, a_run


@pytest.fixture
def starting(tmp_path: Path) -> Iterator[Callable[[float], None]]:
    """Start both services some seconds from now, under a lock that is held already."""
    end, threads = threading.Event(), []

    def serve(delay: float) -> None:
        time.sleep(delay)
        with served(tmp_path, FakeRanker(response=a_reply()), FakeHistory(runs=[a_run()])):
            end.wait()

    def begin(delay: float) -> None:
        threads.append(threading.Thread(target=serve, args=(delay,)))
        threads[0].start()

    with locked(tmp_path):
        yield begin
        end.set()
        for thread in threads:
            thread.join()


@pytest.mark.parametrize("arguments", [("activate", "q", "--project", "p"), ("runs", "list"), ("profiles", "list")])
def test_a_command_waits_for_services_that_are_starting_and_says_so_once(
    alone: Run, starting: Callable[[float], None], arguments: tuple[str, ...]
) -> None:
    starting(0.5)
    ended = alone(*arguments, "--json")
    assert ended.code == Exit.DONE
    assert ended.json
    assert ended.err == f"the {'history' if arguments[0] == 'runs' else 'ranker'} is starting\n"


def test_a_sync_waits_too(alone: Run, tmp_path: Path, starting: Callable[[float], None]) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("x")
    starting(0.5)
    ended = alone("sync", str(tmp_path / "notes"), "--project", "p")
    assert (ended.code, ended.err) == (Exit.DONE, "the ranker is starting\n")
    assert "added 1" in ended.out


def test_a_service_that_never_comes_to_serve_ends_the_wait(
    alone: Run, starting: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "PATIENCE_SECONDS", 0.3)
    ended = alone("runs", "list")
    assert ended.code == Exit.UNREACHABLE
    assert ended.err.splitlines()[0] == "the history is starting"
    assert "does not serve after" in ended.err.splitlines()[1]


def test_a_wait_ends_with_the_supervisor(tmp_path: Path) -> None:
    remarks: list[str] = []
    with Client.connect(tmp_path) as client:
        with locked(tmp_path):

            def sleep(_: float) -> None:
                raise TimeoutError

            with pytest.raises(TimeoutError):
                wait_until_serving(client.ranker, "ranker", tmp_path, remarks.append, sleep=sleep)
        assert remarks == ["the ranker is starting"]
        wait_until_serving(client.ranker, "ranker", tmp_path, remarks.append)
    assert remarks == ["the ranker is starting"]


def test_asking_whether_a_folder_is_supervised_turns_no_supervisor_away(tmp_path: Path) -> None:
    assert not is_supervised(tmp_path)
    end = threading.Event()

    def ask() -> None:
        while not end.is_set():
            is_supervised(tmp_path)
            time.sleep(0.001)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        for _ in range(100):
            with locked(tmp_path):
                assert is_supervised(tmp_path)
    finally:
        end.set()
        thread.join()


def test_a_second_lock_is_refused(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(CommandFailed, match="another `ranktrail up`"), locked(tmp_path):
        pass
