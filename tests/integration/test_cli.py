"""The command line with the real services: what a person does on the first day."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.pretenders import eventually, is_alive

pytestmark = pytest.mark.slow

PAGES = {
    "deploy.md": "# Deploy\n\nPush a tag, then wait for the pipeline.\n\n## Rollback\n\nRun `shipctl undo` at once.\n",
    "on-call.md": "# On call\n\nThe handover is on Tuesday at ten. Error ZX-118 means the pager is mute.\n",
    "guides/holiday.md": "# Holidays\n\nAsk your lead two weeks before you leave.\n",
}
START_SECONDS = 180.0


class Place:
    """A data directory with both services under `ranktrail up`, and a folder of pages."""

    def __init__(self, root: Path) -> None:
        self.data_dir, self.pages = root / "d", root / "pages"
        for path, text in PAGES.items():
            (self.pages / path).parent.mkdir(parents=True, exist_ok=True)
            (self.pages / path).write_text(text)
        self.up: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "ranktrail_cli", "up", "--data-dir", str(self.data_dir)]
        with (self.data_dir.parent / "up.log").open("wb") as log:
            self.up = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        assert eventually(lambda: self.run("status")[0] == 0, START_SECONDS), self.log()

    def log(self) -> str:
        return (self.data_dir.parent / "up.log").read_text()

    def run(self, *arguments: str) -> tuple[int, str, str]:
        command = [sys.executable, "-m", "ranktrail_cli", *arguments, "--data-dir", str(self.data_dir)]
        ended = subprocess.run(command, capture_output=True, check=False, timeout=300)
        return ended.returncode, ended.stdout.decode(), ended.stderr.decode()

    def json(self, *arguments: str) -> Any:
        code, out, err = self.run(*arguments, "--json")
        assert code == 0, err
        return json.loads(out)


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    root = Path(tempfile.mkdtemp(prefix="rt-", dir="/tmp"))  # a socket's path is short
    one = Place(root)
    one.start()
    assert one.json("sync", str(one.pages), "--project", "p")["added_count"] == len(PAGES)
    try:
        yield one
    finally:
        assert one.up is not None
        one.up.send_signal(signal.SIGTERM)
        assert one.up.wait(60) == 0, one.log()
        shutil.rmtree(root)


def test_a_trace_selects_exactly_what_the_reply_returned(place: Place) -> None:
    value = place.json("activate", "ZX-118", "--project", "p", "--trace")
    selected = [one for one in value["trace"]["candidates"] if one["selected"]]
    fields = (
        "unit_key",
        "resource_id",
        "path",
        "start_byte",
        "end_byte",
        "unit_digest",
        "resource_digest",
        "token_count",
    )
    assert value["fragments"][0]["path"] == "on-call.md"
    assert [[one[field] for field in fields] for one in selected] == [
        [one[field] for field in fields] for one in value["fragments"]
    ]
    assert [one["delta_action"] for one in selected] == [one["action"] for one in value["fragments"]]
    assert value["trace"]["run"]["state"] == "succeeded"


def test_a_state_brings_reuse_and_an_edit_brings_replace(place: Place, tmp_path: Path) -> None:
    ask = ("activate", "how do I roll back?", "--project", "p", "--state", str(tmp_path / "s"))
    assert {one["action"] for one in place.json(*ask)["fragments"]} == {"add"}
    assert {one["action"] for one in place.json(*ask)["fragments"]} == {"reuse"}
    page = place.pages / "deploy.md"
    page.write_text(page.read_text().replace("shipctl undo", "shipctl revert"))
    report = place.json("sync", str(place.pages), "--project", "p")
    assert (report["added_count"], report["changed_count"], report["unchanged_count"]) == (0, 1, len(PAGES) - 1)
    replaced = [one for one in place.json(*ask)["fragments"] if one["action"] == "replace"]
    assert any("shipctl revert" in one["content"] for one in replaced)


def test_runs_are_listed_shown_and_watched(place: Place) -> None:
    run_id = place.json("activate", "holidays", "--project", "p", "--trace")["run_id"]
    assert place.json("runs", "list", "--project", "p", "--limit", "1")["runs"][0]["run_id"] == run_id
    code, out, _ = place.run("runs", "show", run_id)
    assert code == 0
    assert "guides/holiday.md" in out
    assert "selected" in out
    assert place.run("runs", "show", "01JD5Z6J8QW3N7M2K4R9T0V1XY")[0] == 5


def test_a_failed_run_is_named_and_can_be_shown(place: Place, tmp_path: Path) -> None:
    (tmp_path / "s").write_bytes(b"no state")
    code, out, err = place.run("activate", "q", "--project", "p", "--state", str(tmp_path / "s"))
    assert (code, out) == (5, "")
    assert (tmp_path / "s").read_bytes() == b"no state"
    run_id = err.rpartition("runs show ")[2].split("`")[0]
    shown = place.json("runs", "show", run_id)
    assert shown["run"]["state"] == "failed"
    assert shown["run"]["failure"]["stage"] == "activation_state"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("activate", " ", "--project", "p"), 5),
        (("activate", "x" * 8193, "--project", "p"), 5),
        (("activate", "q", "--project", "nobody"), 5),
        (("activate", "q", "--project", ""), 5),
        (("activate", "q", "--project", "p", "--token-budget", "0"), 2),
        (("activate", "q", "--project", "p", "--max-fragments", "0"), 2),
        (("activate", "q", "--project", "p", "--profile", "nothing.v1"), 5),
        (("memory", "show", "--project", "nobody"), 5),
        (("runs", "list", "--query", "x" * 1025), 5),
    ],
)
def test_bad_input_is_one_sentence_that_names_its_field(place: Place, arguments: tuple[str, ...], code: int) -> None:
    ended, out, err = place.run(*arguments)
    assert (ended, out) == (code, "")
    assert len(err.splitlines()) == 1
    assert "Traceback" not in err


def test_a_folder_of_bad_files_is_synced_around_them(place: Place, tmp_path: Path) -> None:
    folder = tmp_path / "bad"
    folder.mkdir()
    (folder / "good.md").write_text("# Good\n\nA page.\n")
    (folder / "empty.md").write_bytes(b"")
    (folder / "latin.md").write_bytes(b"caf\xe9\n" * 3)
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(3 << 20))
    (folder / "loop").symlink_to(".")
    (folder / "mem").symlink_to("/proc/self/mem")
    os.mkfifo(folder / "pipe")
    (Path(os.fsdecode(os.fsencode(folder) + b"/\xff.md"))).write_text("x")
    with (folder / "huge.bin").open("wb") as file:
        file.truncate(33 << 20)
    report = place.json("sync", str(folder), "--project", "bad", "--layer", "draft")
    assert sorted(one["path"] for one in report["skipped"]) == ["\\xff.md", "huge.bin", "loop", "mem", "pipe"]
    resources = place.json("memory", "show", "--project", "bad")["resources"]
    assert {one["path"]: one["parse_state"] for one in resources} == {
        "empty.md": "blank",
        "good.md": "parsed",
        "latin.md": "not_utf8",
        "picture.png": "no_parser",
    }
    assert place.json("activate", "good page", "--project", "bad")["fragments"][0]["path"] == "good.md"


def test_an_organization_layer_reaches_a_project_and_is_shadowed_by_path(place: Place, tmp_path: Path) -> None:
    for layer in ("organization", "project"):
        folder = tmp_path / layer
        folder.mkdir()
        (folder / "shared.md").write_text(f"# Shared\n\nThe page of the {layer}.\n")
        place.json("sync", str(folder), "--project", "two", "--layer", layer)
    found = {one["path"]: one["layer"] for one in place.json("memory", "show", "--project", "two")["resources"]}
    assert found["shared.md"] == "project"
    organization = place.json("memory", "show", "--project", "two", "--layer", "organization")["resources"]
    assert [one["layer"] for one in organization] == ["organization"]
    (tmp_path / "organization" / "shared.md").unlink()
    report = place.json(
        "sync", str(tmp_path / "organization"), "--project", "two", "--layer", "organization", "--prune"
    )
    assert report["deleted_count"] == 1


def test_a_service_that_is_killed_comes_back_and_the_memory_is_there(place: Place) -> None:
    before = place.json("status")
    for name in ("ranker", "history"):
        pattern = [b"-m", f"{name}_service".encode(), b"--data-dir", str(place.data_dir).encode()]
        (pid,) = (int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit() and _runs(p, pattern))
        os.kill(pid, signal.SIGKILL)
        assert eventually(lambda pid=pid: not is_alive(pid))
    assert eventually(lambda: place.run("status")[0] == 0, START_SECONDS), place.log()
    after = place.json("status")
    assert before["ranker"]["runtime"]["instance_id"] != after["ranker"]["runtime"]["instance_id"]
    assert place.json("activate", "holidays", "--project", "p")["fragments"]


def _runs(process: Path, arguments: list[bytes]) -> bool:
    try:
        command = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(command[i : i + len(arguments)] == arguments for i in range(len(command)))


def test_the_demo_shows_everything_and_leaves_nothing_behind() -> None:
    with tempfile.TemporaryDirectory(prefix="rt", dir="/tmp") as place:
        ended = subprocess.run(
            [sys.executable, "-m", "ranktrail_cli", "demo", "--json"],
            capture_output=True,
            check=False,
            timeout=300,
            env={**os.environ, "TMPDIR": place},
        )
        assert ended.returncode == 0, ended.stderr.decode()
        assert not list(Path(place).glob("rt-*"))
    document = json.loads(ended.stdout)
    assert len(document["activations"]) == 5
    assert {one["action"] for one in document["reuse"]["response"]["fragments"]} == {"reuse"}
    assert "replace" in {one["action"] for one in document["replace"]["response"]["fragments"]}


def test_a_demo_that_is_interrupted_stops_both_services_and_leaves_nothing_behind() -> None:
    with tempfile.TemporaryDirectory(prefix="rt", dir="/tmp") as place:
        process = subprocess.Popen(
            [sys.executable, "-m", "ranktrail_cli", "demo"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "TMPDIR": place},
        )
        assert process.stdout is not None
        assert b"serves at" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (130, b"")
        assert not list(Path(place).glob("rt-*"))
    assert not [
        p for p in Path("/proc").iterdir() if p.name.isdigit() and _runs(p, [b"--data-dir"]) and _is_below(p, place)
    ]


def _is_below(process: Path, place: str) -> bool:
    return place.encode() in (process / "cmdline").read_bytes()
