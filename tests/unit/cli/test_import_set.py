"""`ranktrail import` where it ends before anything was kept."""

from pathlib import Path
from typing import Any

import pytest

from ranktrail.ranker.v1 import ranker_service_pb2 as ranker_pb2
from tests.collections import a_collection
from tests.fakes.services import FakeRanker
from tests.unit.cli.running import Run

TO_PROJECT = ("--project", "p", "--format", "beir")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "a folder needs --project and --format"),
        (["--project", "p"], "a folder needs --project and --format"),
        (["--format", "beir"], "a folder needs --project and --format"),
        (["--project", "p", "--format", "trec"], "Invalid value for '--format'"),
        (["--project", "p", "--format", "cranfield", "--split", "test"], "--split is for --format beir"),
    ],
)
def test_a_folder_needs_to_know_where_it_goes_and_what_it_holds(
    alone: Run, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    ended = alone("import", str(tmp_path), *arguments)
    assert ended.code == 2
    assert sentence in ended.err


def test_a_file_keeps_its_own_project(alone: Run, tmp_path: Path) -> None:
    (tmp_path / "set.json").write_text("{}")
    ended = alone("import", str(tmp_path / "set.json"), "--project", "p")
    assert ended.code == 2
    assert "is no folder" in ended.err


def test_what_is_not_there_is_refused(alone: Run, tmp_path: Path) -> None:
    ended = alone("import", str(tmp_path / "none.json"))
    assert ended.code == 5
    assert "none.json' cannot be read (no such file or directory): name a fixture or a folder" in ended.err


def test_a_folder_is_checked_before_any_service_is_asked(alone: Run, tmp_path: Path) -> None:
    folder = a_collection(tmp_path / "c")
    assert alone("import", str(folder), *TO_PROJECT).code == 3
    with (folder / "corpus.jsonl").open("a") as file:
        file.write('{"_id": "d0", "text": "again"}\n')
    ended = alone("import", str(folder), *TO_PROJECT)
    assert ended.code == 5
    assert ended.err.count("\n") == 1
    assert "corpus.jsonl, line 13: _id 'd0' is that of the document in line 1" in ended.err


def test_a_fixture_needs_history(alone: Run, tmp_path: Path) -> None:
    (tmp_path / "set.json").write_text("{}")
    assert alone("import", str(tmp_path / "set.json")).code == 3


class _Unrecorded(FakeRanker):
    def GetRuntime(self, request: Any, context: Any) -> ranker_pb2.GetRuntimeResponse:  # noqa: N802
        recorder = ranker_pb2.RecorderRuntime(state=ranker_pb2.RecorderRuntime.STATE_OFF)
        return ranker_pb2.GetRuntimeResponse(recorder=recorder)


class TestWithoutRecorder:
    @pytest.fixture
    def ranker(self) -> FakeRanker:
        return _Unrecorded()

    def test_nothing_is_committed_where_no_run_would_be_recorded(
        self, command: Run, ranker: FakeRanker, tmp_path: Path
    ) -> None:
        ended = command("import", str(a_collection(tmp_path / "c")), *TO_PROJECT)
        assert ended.code == 6
        assert "the ranker records no Runs" in ended.err
        assert not ranker.commits
