"""What the documents show is what happens.

A block of JSON below a comment `file: NAME` is that file. Of a console block, each line after `$ COMMAND` stands in the
command's output, in that order, and `exit N` is how it ends (0 where that does not stand there).
"""

import re
import shlex
from pathlib import Path

import pytest

from ranktrail_cli.command_line import run
from ranktrail_evals.dataset.model import Record
from ranktrail_evals.gate import DEFINITIONS
from ranktrail_evals.labels import Label
from ranktrail_evals.scores import Reason

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGES = ("eval-datasets.md", "evaluation-metrics.md")
FILE = re.compile(r"<!-- file: (\S+) -->\n```json\n(.*?)```", re.DOTALL)
CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)


def examples(page: str) -> list[tuple[str, list[str], int]]:
    found: list[tuple[str, list[str], int]] = []
    for block in CONSOLE.findall((DOCS / page).read_text("utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.rstrip("\n").split("\n")
            code = int(lines.pop().removeprefix("exit ")) if lines and lines[-1].startswith("exit ") else 0
            found.append((command, lines, code))
    return found


def matching(folder: Path, argument: str) -> list[str]:
    """Return the files that an argument with a star means, as a shell would, or the argument itself."""
    return sorted(map(str, folder.glob(argument))) if "*" in argument else [argument]


@pytest.mark.parametrize("page", PAGES)
def test_every_example_of_the_documents_happens(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKTRAIL_HOME", str(tmp_path / "home"))
    for name, content in FILE.findall((DOCS / page).read_text("utf-8")):
        (tmp_path / name).write_text(content)
    for command, lines, code in examples(page):
        program, *arguments = shlex.split(command)
        expanded = [one for argument in arguments for one in matching(tmp_path, argument)]
        assert program == "ranktrail"
        assert run(expanded) == code, command
        out, err = capsys.readouterr()
        said = iter((out + err).split("\n"))
        for line in lines:
            assert any(shown.startswith(line) for shown in said), f"{command}\n{line}\n{out}{err}"


def test_the_documents_name_every_metric_reason_label_and_field() -> None:
    text = "".join((DOCS / page).read_text("utf-8") for page in PAGES)
    names = [*DEFINITIONS, *map(str, Label), *map(str, Reason), *Record.model_fields]
    assert [name for name in names if f"`{name}`" not in text] == []
