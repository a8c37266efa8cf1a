"""Both services under one supervisor, with processes that only answer health checks in their place."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ranktrail_cli import supervised as supervised_module
from ranktrail_cli import supervisor as supervisor_module
from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.supervised import Supervised
from ranktrail_cli.supervisor import Supervisor, is_healthy, make_services
from ranktrail_client.client import Client
from tests.fakes.pretenders import is_alive, pids_of, write_pretenders


class Events:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def serving(self, service: Supervised) -> None:
        self.told.append(f"{service.name} serves")

    def died(self, service: Supervised, exit_code: int, seconds: float) -> None:
        self.told.append(f"{service.name} died {exit_code}")

    def killed(self, service: Supervised) -> None:
        self.told.append(f"{service.name} killed")


class Scene:
    """A data directory, modules that pretend, and a supervisor over them."""

    def __init__(self, data_dir: Path, modules: Path, client: Client) -> None:
        self.data_dir, self.modules, self.client, self.events = data_dir, modules, client, Events()
        write_pretenders(modules)
        self.services = make_services(data_dir, client)
        self.supervisor = Supervisor(self.services, self.events)

    def keep_until(self, condition: Callable[[], bool], seconds: float = 20.0) -> None:
        until = time.monotonic() + seconds
        self.supervisor.keep(lambda: condition() or time.monotonic() > until)
        assert condition()


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    modules, data_dir = tmp_path / "modules", tmp_path / "d"
    modules.mkdir()
    (data_dir / "run").mkdir(parents=True)
    monkeypatch.setenv("PYTHONPATH", str(modules))
    monkeypatch.setattr(supervised_module, "RESTART_DELAYS", (0.1, 0.2))
    monkeypatch.setattr(supervisor_module, "STOP_SECONDS", 5.0)
    with Client.connect(data_dir) as client:
        one = Scene(data_dir, modules, client)
        try:
            yield one
        finally:
            one.supervisor.stop()


def test_both_serve_in_process_groups_of_their_own_and_stop_ranker_first(scene: Scene) -> None:
    scene.supervisor.start()
    assert sorted(scene.events.told) == ["history serves", "ranker serves"]
    for name in ("ranker", "history"):
        pid, group, umask = (scene.data_dir / f"{name}.pids").read_text().split()
        assert pid == group
        assert int(group) != os.getpgid(0)
        assert umask == "77"
    scene.supervisor.stop()
    assert (scene.data_dir / "ends").read_text().split() == ["ranker", "history"]
    assert not is_healthy(scene.client.ranker)


def test_a_service_that_dies_is_started_again_and_the_other_stays(scene: Scene) -> None:
    scene.supervisor.start()
    os.kill(pids_of(scene.data_dir, "history")[0], signal.SIGKILL)
    scene.keep_until(lambda: scene.events.told.count("history serves") == 2)
    assert scene.events.told.count("history died -9") == 1
    assert len(pids_of(scene.data_dir, "ranker")) == 1


def test_deaths_in_a_row_wait_longer_each_time_and_a_steady_life_starts_the_row_anew() -> None:
    service = Supervised("x", "x", (), "unix:/x", lambda: True)

    def die(now: float, served: float) -> float:
        service.process = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
        service.process.wait()
        service.serving_since = now - served
        assert service.take_death(now) == 3
        assert service.process is None
        return service.start_at - now

    assert [die(1000, 1) for _ in range(8)] == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    assert die(1000, supervised_module.STEADY_SECONDS) == 0.5


def test_a_service_that_ends_before_it_served_ends_the_start_with_a_sentence(scene: Scene) -> None:
    write_pretenders(scene.modules, body="sys.exit(7)", names=("history",))
    with pytest.raises(CommandFailed, match="history ended with exit code 7 before it served") as caught:
        scene.supervisor.start()
    assert caught.value.exit_code is Exit.INCOMPLETE


def test_a_service_that_ignores_the_end_is_killed(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor_module, "STOP_SECONDS", 0.3)
    write_pretenders(scene.modules, on_term="None", names=("history",))
    scene.supervisor.start()
    scene.supervisor.stop()
    assert scene.events.told[-1] == "history killed"
    assert not is_alive(pids_of(scene.data_dir, "history")[0])


def test_an_end_that_is_asked_for_twice_does_not_wait(scene: Scene) -> None:
    write_pretenders(scene.modules, on_term="None")
    scene.supervisor.start()
    begun = time.monotonic()
    scene.supervisor.stop(is_hurried=lambda: True)
    assert time.monotonic() - begun < 2
    assert scene.events.told[-2:] == ["ranker killed", "history killed"]
