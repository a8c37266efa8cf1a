"""Commands in this process, with services on real sockets or none."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ranktrail_cli.command_line import run
from tests.fakes.services import FakeHistory, FakeRanker, served
from tests.unit.cli.running import Ended, Run, a_reply, a_run


@pytest.fixture
def ranker() -> FakeRanker:
    return FakeRanker(response=a_reply())


@pytest.fixture
def history() -> FakeHistory:
    return FakeHistory(runs=[a_run()])


@pytest.fixture
def command(
    tmp_path: Path, ranker: FakeRanker, history: FakeHistory, capsys: pytest.CaptureFixture[str]
) -> Iterator[Run]:
    def execute(*arguments: str) -> Ended:
        capsys.readouterr()
        code = run([*arguments, "--data-dir", str(tmp_path)])
        out, err = capsys.readouterr()
        return Ended(code, out, err)

    with served(tmp_path, ranker, history):
        yield execute


@pytest.fixture
def alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run commands where nothing serves."""

    def execute(*arguments: str) -> Ended:
        code = run([*arguments, "--data-dir", str(tmp_path)])
        return Ended(code, *capsys.readouterr())

    return execute
