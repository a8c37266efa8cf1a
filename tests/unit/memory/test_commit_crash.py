"""However a process ends while it commits, the layer is the old or the new one, whole."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ranker_service.domain.resource import Layer
from ranker_service.memory.commits import CommitMode, CommitStore
from tests.unit.memory.commits import add, contents, patch

COMMITTER = """
import sys
from itertools import count
from pathlib import Path
from ranker_service.memory.commits import CommitStore
from tests.unit.memory.commits import contents, patch

store = CommitStore(Path(sys.argv[1]))
first = int(contents(store).get("a", b"0").split()[-1])
for generation in count(first + 1):
    patch(store, {name: f"{name} of generation {generation}".encode() for name in "abc"})
    print(generation, flush=True)
"""


def generation_of(store: CommitStore) -> int:
    """Return the generation that all three resources of the head agree on; 0 before the first commit."""
    found = contents(store)
    generations = {int(body.split()[-1]) for body in found.values()}
    assert len(generations) <= 1
    assert len(found) in (0, 3)
    return generations.pop() if generations else 0


def kill_while_committing(directory: Path, delay_seconds: float) -> int:
    """Run a committer, kill it, and return the last generation whose `publish` returned."""
    root = Path(__file__).parents[3]
    process = subprocess.Popen(
        [sys.executable, "-c", COMMITTER, str(directory)],
        stdout=subprocess.PIPE,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert process.stdout is not None
    acknowledged = process.stdout.readline()
    time.sleep(delay_seconds)
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read().splitlines(keepends=True)
    process.wait()
    process.stdout.close()
    return int([line for line in [acknowledged, *rest] if line.endswith(b"\n")][-1])


def assert_survives_kills(directory: Path, rounds: int) -> None:
    randomness = random.Random(rounds)
    for _ in range(rounds):
        acknowledged = kill_while_committing(directory, randomness.uniform(0.0, 0.06))
        store = CommitStore(directory)
        assert acknowledged <= generation_of(store) <= acknowledged + 1
        assert list((directory / "incoming").iterdir()) == []
        store.collect_garbage()
        generation_of(store)


def test_a_killed_process_leaves_the_old_or_the_new_commit(tmp_path: Path) -> None:
    assert_survives_kills(tmp_path / "store", rounds=4)


@pytest.mark.slow
def test_a_process_killed_at_twenty_instants_loses_no_commit_that_returned(tmp_path: Path) -> None:
    assert_survives_kills(tmp_path / "store", rounds=20)


class Crash(BaseException):
    """The process ends here."""


def crash_at(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """End the process just before its `step`-th sync, rename or creation of a file."""
    left = [step]

    def counted(function: object) -> object:
        def call(*args: object, **kwargs: object) -> object:
            left[0] -= 1
            if left[0] < 0:
                raise Crash
            return function(*args, **kwargs)  # type: ignore[operator]

        return call

    monkeypatch.setattr("os.fsync", counted(os.fsync))
    monkeypatch.setattr("os.open", counted(os.open))
    monkeypatch.setattr(Path, "replace", counted(Path.replace))
    monkeypatch.setattr(Path, "mkdir", counted(Path.mkdir))


def test_a_process_that_ends_at_any_step_of_publishing_leaves_the_old_or_the_new_commit(tmp_path: Path) -> None:
    seen = set()
    for step in range(200):
        store = CommitStore(tmp_path / str(step))
        patch(store, dict.fromkeys("abc", b"1") | {"d": b"2"})
        old = contents(store)
        draft = store.begin(Layer.PROJECT, CommitMode.PATCH)
        for name in "abc":
            add(draft, name, b"2" if name == "a" else f"{name} 2".encode())
        with pytest.MonkeyPatch.context() as monkeypatch:
            crash_at(monkeypatch, step)
            try:
                draft.publish()
                finished = True
            except Crash:
                finished = False
        found = contents(CommitStore(tmp_path / str(step)))
        new = {"a": b"2", "b": b"b 2", "c": b"c 2", "d": b"2"}
        assert found == new if finished else found in (old, new)
        seen.add(found == new)
        if finished:
            break
    assert finished
    assert seen == {False, True}
    assert step > 20
