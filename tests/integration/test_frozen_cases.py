"""Cases keep what they rest on: their report and their fixture stay the same bytes, whatever becomes of all else."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ranktrail.history.v1 import history_service_pb2 as history_pb
from ranktrail.ranker.v1 import ranker_service_pb2 as ranker_pb
from tests import evaluation_sets as sets
from tests.collections import Command, a_collection, commands_on
from tests.memories import remember
from tests.processes import Stack, running_stack

RETAINED = 3
TIMEOUT = 60.0


@pytest.fixture
def frozen() -> Iterator[Stack]:
    with running_stack(history=("--retain-runs", str(RETAINED))) as running:
        yield running


def _kept(command: Command, folder: Path) -> tuple[str, bytes]:
    """Return what `report --json` prints, and the fixture without the time of its export."""
    report, fixture = command("report", "--project", "p", "--json"), folder / "set.json"
    assert (report.code, command("export", "--out", fixture, "--project", "p", "--force").code) == (0, 0)
    content = fixture.read_bytes()
    return report.out, content.replace(sets.read(content)["exported_at"].encode(), b"", 1)


def _pruned_count(stack: Stack) -> int:
    """Return how many unpinned Runs are left once retention is done: it follows a Run, and no reply waits for it."""
    until = time.monotonic() + TIMEOUT
    while _unpinned_count(stack) > RETAINED and time.monotonic() < until:
        time.sleep(0.05)
    return _unpinned_count(stack)


def _unpinned_count(stack: Stack) -> int:
    request = history_pb.ListRetrievalRunsRequest(project_id="p", pinned=False, page_size=100)
    return len(stack.history_stub.ListRetrievalRuns(request, timeout=TIMEOUT).runs)


@pytest.mark.slow
def test_nothing_that_happens_around_a_case_changes_its_report_or_its_fixture(
    frozen: Stack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = commands_on(frozen.data_dir, capsys)
    folder = a_collection(tmp_path / "c")
    assert command("import", folder, "--project", "p", "--format", "beir").code == 0
    before = _kept(command, tmp_path)

    def ask_until_pruned() -> None:
        for number in range(3 * RETAINED):
            run_id = command("activate", f"anchor {number}", "--project", "p", "--json").json["run_id"]
            assert command("runs", "show", run_id).code == 0
        assert _pruned_count(frozen) == RETAINED

    def clear() -> None:
        frozen.history_stub.ClearRetrievalRuns(history_pb.ClearRetrievalRunsRequest(), timeout=TIMEOUT)
        assert _unpinned_count(frozen) == 0

    def change_memory() -> None:
        remember(frozen.ranker_stub, "p", {"d0": "another text", "new.md": "# New\n\nanchor beacon\n"})
        assert command("activate", "anchor beacon", "--project", "p").code == 0

    def clear_storage() -> None:
        request = ranker_pb.ClearProjectStorageRequest(project_id="p")
        frozen.ranker_stub.ClearProjectStorage(request, timeout=TIMEOUT)

    def delete_project() -> None:
        frozen.ranker_stub.DeleteProject(ranker_pb.DeleteProjectRequest(project_id="p"), timeout=TIMEOUT)

    def restart() -> None:
        assert (frozen.ranker.stop(), frozen.history.stop()) == (0, 0)
        frozen.start()

    def kill_history() -> None:
        frozen.history.kill()
        frozen.history.start()

    for event in (ask_until_pruned, clear, change_memory, clear_storage, delete_project, clear, restart, kill_history):
        event()
        assert _kept(command, tmp_path) == before, event.__name__
