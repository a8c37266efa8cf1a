"""`ranktrail fsck`, `backup` and `restore` on real data directories, with services running and without."""

import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ranktrail.evaluation.v1 import evaluation_service_pb2 as evaluation
from ranktrail.ranker.v1 import ranker_service_pb2 as pb
from ranktrail_cli.command_line import run
from tests import history_cases as cases
from tests.evaluation_sets import timeless
from tests.fakes.history_server import RunningHistory
from tests.history_builders import digest
from tests.memories import ensure_index, remember
from tests.processes import Stack, running_stack, short_directory
from tests.recorded import recorded
from tests.store_checks import body_path, problems_of
from tests.unit.cli.running import Ended

BODY = cases.BODIES["doc-0002"]
PROJECT = "docs"
PAGES = {f"page-{n}.md": f"# Page {n}\n\nValve {n} of pump {n % 3} opens at {n * 3} degrees.\n" for n in range(12)}
Command = Callable[..., Ended]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    def execute(*arguments: str | Path, data_dir: Path) -> Ended:
        capsys.readouterr()
        code = run([*map(str, arguments), "--data-dir", str(data_dir)])
        return Ended(code, *capsys.readouterr())

    return execute


@pytest.fixture
def place() -> Iterator[Path]:
    with short_directory() as directory:
        yield directory


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    """The folder `data`, a history that has stopped with one judged case of three Runs, and its `backup`."""
    with short_directory() as directory:
        running = RunningHistory(directory / "data")
        case = cases.pinned(running)
        cases.replace(running, case.case_id, 1, cases.a_judgment(1))
        for number in range(2, 4):
            cases.record(running, f"run-{number}")
        running.close()
        assert run(["backup", str(directory / "backup"), "--data-dir", str(directory / "data")]) == 0
        yield directory


@pytest.fixture
def data_dir(place: Path, made: Path) -> Path:
    return shutil.copytree(made / "data", place / "data")


@pytest.fixture
def kept(place: Path, made: Path) -> Path:
    return shutil.copytree(made / "backup", place / "kept")


def tree(directory: Path) -> dict[str, bytes | None]:
    """Every name below a directory, with the bytes of files."""
    return {
        path.relative_to(directory).as_posix(): path.read_bytes() if path.is_file() else None
        for path in directory.rglob("*")
    }


def kinds(ended: Ended) -> list[str]:
    return [problem["kind"] for problem in ended.json["problems"]]


def test_fsck_says_0_of_a_sound_store_1_of_a_damaged_one_and_6_of_one_that_cannot_be_opened(
    command: Command, data_dir: Path
) -> None:
    sound = command("fsck", "--json", data_dir=data_dir)
    assert (sound.code, sound.json["clean"], sound.json["problems"]) == (0, True, [])
    checked = sound.json["checked"]["history"]
    assert (checked["bodies"], checked["manifests"], checked["runs"], checked["cases"]) == (6, 2, 3, 1)
    body_path(data_dir, BODY).write_bytes(b"?" + BODY[1:])
    damaged = command("fsck", data_dir=data_dir)
    assert damaged.code == 1
    assert f"body_digest  history/evaluation-corpora/blobs/{digest(BODY)[:2]}/{digest(BODY)}" in damaged.out
    assert command("fsck", "--repair", data_dir=data_dir).code == 1
    (data_dir / "history" / "local.db").write_bytes(b"not a database at all" * 100)
    unusable = command("fsck", data_dir=data_dir)
    assert unusable.code == 6
    assert unusable.err.startswith("ranktrail: history: ")
    assert "restore it from a backup" in unusable.err


def test_fsck_repairs_what_can_be_and_then_finds_nothing(command: Command, data_dir: Path) -> None:
    stray = body_path(data_dir, b"stray")
    stray.parent.mkdir(mode=0o700, exist_ok=True)
    stray.write_bytes(b"stray")
    stray.chmod(0o644)
    (stray.parent / ".draft-1-1").write_bytes(b"half")
    before = tree(data_dir / "history" / "evaluation-corpora")
    wanted = ["mode", "orphan_file", "temporary_file"]
    # Without --repair nothing is put right, not even what a start of the service would tidy.
    for _ in range(2):
        found = command("fsck", "--json", data_dir=data_dir)
        assert (found.code, sorted(kinds(found))) == (1, wanted[1:])
    assert tree(data_dir / "history" / "evaluation-corpora") == before
    repaired = command("fsck", "--repair", "--json", data_dir=data_dir)
    assert repaired.code == 0
    assert set(kinds(repaired)) <= set(wanted)
    assert command("fsck", "--repair", data_dir=data_dir).code == 0
    assert command("fsck", data_dir=data_dir).code == 0
    assert stray.read_bytes() == b"stray"


def test_fsck_where_there_are_no_data_or_another_process_has_them_says_so(
    command: Command, place: Path, data_dir: Path
) -> None:
    nothing = command("fsck", data_dir=place / "nothing")
    assert (nothing.code, "holds no data" in nothing.err) == (5, True)
    assert not (place / "nothing").exists()
    elsewhere = RunningHistory(data_dir, "--address", f"unix:{place}/other.sock")
    busy = command("fsck", data_dir=data_dir)
    elsewhere.close()
    assert (busy.code, "is in use by process" in busy.err) == (6, True)


def test_a_backup_is_restored_with_every_case_run_and_body(command: Command, place: Path, data_dir: Path) -> None:
    made = command("backup", place / "backup", "--json", data_dir=data_dir)
    assert (made.code, made.json["problems"], made.json["pending_run_count"]) == (0, [], 0)
    assert all(path.stat().st_mode & 0o077 == 0 for path in (place / "backup").rglob("*"))
    restored = command("restore", place / "backup", "--json", data_dir=place / "restored")
    assert (restored.code, restored.json["moved_to"], restored.json["problems"]) == (0, None, [])
    assert restored.json["file_count"] == made.json["file_count"] == 7
    first, second = _opened(data_dir), _opened(place / "restored")
    assert (first.list().runs, first.get().candidates) == (second.list().runs, second.get().candidates)
    assert timeless(_export(first)) == timeless(_export(second))
    assert problems_of(second.history) == []
    first.close()
    second.close()
    assert sorted(path.name for path in place.iterdir()) == ["backup", "data", "restored"]


def test_a_restore_leaves_a_directory_that_is_not_empty_alone_or_moves_it_aside(
    command: Command, kept: Path, data_dir: Path
) -> None:
    before = tree(data_dir)
    refused = command("restore", kept, data_dir=data_dir)
    assert (refused.code, "is not empty" in refused.err) == (5, True)
    assert tree(data_dir) == before
    running = RunningHistory(data_dir)
    busy = command("restore", kept, "--force", data_dir=data_dir)
    running.close()
    assert (busy.code, "is in use" in busy.err) == (4, True)
    forced = command("restore", kept, "--force", "--json", data_dir=data_dir)
    assert forced.code == 0
    assert body_path(Path(forced.json["moved_to"]), BODY).read_bytes() == BODY
    assert command("fsck", data_dir=data_dir).code == 0


def _flipped(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


def _linked(path: Path) -> None:
    path.rename(path.with_suffix(".real"))
    path.symlink_to(path.with_suffix(".real"))


def _changed(name: str, value: Any) -> Callable[[Path], None]:
    return lambda path: path.write_text(json.dumps(json.loads(path.read_text()) | {name: value})) and None


DATABASE, A_BODY, MANIFEST = "local.db", digest(BODY), "manifest.json"


@pytest.mark.parametrize(
    ("which", "damage", "said"),
    [
        (DATABASE, _flipped, "local.db' is not what it was"),
        (A_BODY, _flipped, f"{A_BODY}' is not what it was"),
        (A_BODY, lambda path: path.write_bytes(path.read_bytes()[:-1]), f"{A_BODY}' is not what it was"),
        (DATABASE, Path.unlink, "local.db' cannot be read"),
        (A_BODY, Path.unlink, f"{A_BODY}' cannot be read"),
        (A_BODY, _linked, f"{A_BODY}' cannot be read"),
        (MANIFEST, _changed("format_version", 2), "format_version 2"),
        (MANIFEST, _changed("files", []), "sha256"),
        (MANIFEST, _changed("sha256", None), "sha256"),
    ],
)
def test_a_damaged_backup_is_refused_by_name_and_nothing_is_restored(
    command: Command, kept: Path, which: str, damage: Callable[[Path], None], said: str
) -> None:
    (path,) = kept.rglob(which)
    damage(path)
    ended = command("restore", kept, data_dir=kept.parent / "restored")
    assert (ended.code, said in ended.err) == (5, True), ended.err
    assert [one.name for one in kept.parent.iterdir()] == ["kept"]


def test_a_folder_that_is_no_backup_is_refused(command: Command, place: Path) -> None:
    (place / "folder").mkdir()
    for content in (None, b"", b"[]", b"{}", b"\xff", b'{"format_version": 1}', b"[" * 100_000):
        if content is not None:
            (place / "folder" / "manifest.json").write_bytes(content)
        ended = command("restore", place / "folder", data_dir=place / "restored")
        assert (ended.code, "manifest.json" in ended.err) == (5, True), ended.err


def test_a_backup_is_not_written_where_something_is_nor_into_the_data(
    command: Command, place: Path, data_dir: Path
) -> None:
    (place / "full").mkdir()
    (place / "full" / "mine").write_text("mine")
    for target in (place / "full", place / "full" / "mine", data_dir / "backup", place, place / "no" / "where"):
        ended = command("backup", target, data_dir=data_dir)
        assert ended.code == 5, target
    assert sorted(path.name for path in place.iterdir()) == ["data", "full"]


def test_a_damaged_store_is_backed_up_with_what_is_whole_and_both_say_what_is_not(
    command: Command, place: Path, data_dir: Path
) -> None:
    body_path(data_dir, BODY).write_bytes(b"?")
    made = command("backup", place / "backup", "--json", data_dir=data_dir)
    assert made.code == 6
    restored = command("restore", place / "backup", "--json", data_dir=place / "restored")
    assert (restored.code, kinds(made), kinds(restored)) == (6, ["body_size"], ["body_missing"])
    assert made.json["problems"][0]["subject"] == restored.json["problems"][0]["subject"]
    whole = _opened(place / "restored")
    assert len(whole.list().runs) == 3
    whole.close()


@pytest.mark.slow
def test_a_restore_that_is_killed_at_any_instant_leaves_no_data_directory_or_a_whole_one(
    command: Command, kept: Path
) -> None:
    target = kept.parent / "restored"
    program = [sys.executable, "-m", "ranktrail_cli", "restore", str(kept), "--data-dir", str(target)]
    for step in range(8):
        process = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.4 + 0.2 * step)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if target.exists():
            assert command("fsck", data_dir=target).code == 0
            shutil.rmtree(target)


@pytest.mark.slow
def test_a_backup_taken_while_runs_are_recorded_brings_back_a_working_system(command: Command, place: Path) -> None:
    with running_stack() as stack:
        remember(stack.ranker_stub, PROJECT, PAGES)
        first = _activate(stack, "valve 7")
        case_id = _pin(stack, first.run_id)
        exported = _exported(stack, case_id)
        ended, known = threading.Event(), [first.run_id]
        load = threading.Thread(target=_load, args=(stack, ended, known))
        load.start()
        while len(known) < 20:
            time.sleep(0.01)
        recorded(stack.history_stub, known[19])
        acknowledged = known[:20]
        made = command("backup", place / "backup", data_dir=stack.data_dir)
        ended.set()
        load.join()
    assert made.code == 0, made.err
    brought = command("restore", place / "backup", data_dir=place / "restored")
    assert brought.code == 0, brought.out + brought.err
    restored = Stack(place / "restored")
    try:
        restored.start()
        assert timeless(_exported(restored, case_id)) == timeless(exported)
        for run_id in acknowledged:
            recorded(restored.history_stub, run_id)
        ensure_index(restored.ranker_stub, PROJECT)
        again = _activate(restored, "valve 7")
        assert again.revisions.effective_memory_hash == first.revisions.effective_memory_hash
        assert [one.unit_key for one in again.fragments] == [one.unit_key for one in first.fragments]
        assert command("fsck", data_dir=place / "restored").code == 0
    finally:
        restored.close()


def _opened(data_dir: Path) -> RunningHistory:
    return RunningHistory(data_dir)


def _export(history: RunningHistory) -> bytes:
    frames = history.evaluation.ExportEvaluationSet(evaluation.ExportEvaluationSetRequest(), timeout=30)
    return b"".join(frame.content for frame in frames)


def _activate(stack: Stack, query: str) -> pb.ActivateMemoryResponse:
    return stack.ranker_stub.ActivateMemory(pb.ActivateMemoryRequest(project_id=PROJECT, query=query), timeout=60)


def _pin(stack: Stack, run_id: str) -> str:
    recorded(stack.history_stub, run_id)
    request = evaluation.CreateEvaluationCaseRequest(run_id=run_id, category="valves")
    case = stack.evaluation_stub.CreateEvaluationCase(request, timeout=30).evaluation_case
    judgment = evaluation.EvaluationJudgment(resource_id="page-7.md", relevance=3, source=cases.HUMAN)
    stack.evaluation_stub.ReplaceEvaluationJudgments(
        evaluation.ReplaceEvaluationJudgmentsRequest(
            case_id=case.case_id, expected_judgment_version=1, author="ada", request_id="one", judgments=[judgment]
        ),
        timeout=30,
    )
    return case.case_id


def _exported(stack: Stack, case_id: str) -> bytes:
    request = evaluation.ExportEvaluationSetRequest(case_ids=[case_id])
    return b"".join(frame.content for frame in stack.evaluation_stub.ExportEvaluationSet(request, timeout=60))


def _load(stack: Stack, ended: threading.Event, known: list[str]) -> None:
    number = 0
    while not ended.is_set():
        number += 1
        known.append(_activate(stack, f"valve {number % 12} of pump {number % 3}").run_id)
