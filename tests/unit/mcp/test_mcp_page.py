"""What docs/mcp.md and docs/python.md say is what there is."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from ranktrail_cli.commands.mcp import PORT
from ranktrail_cli.root import cli
from ranktrail_client.evaluation import EvaluationMethods
from ranktrail_client.history import HistoryMethods
from ranktrail_client.method import Method
from ranktrail_client.ranker import RankerMethods
from ranktrail_mcp.http import HOST, PATH
from ranktrail_mcp.memory import TEMPLATE

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "mcp.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
SETUPS = [json.loads(block) for language, block in BLOCKS if language == "json"]
LINES = [block.strip() for language, block in BLOCKS if not language]


def servers() -> list[dict[str, Any]]:
    return [one for setup in SETUPS for servers in setup.values() for one in servers.values()]


def parsed(command: list[str]) -> click.Context:
    """The command line as `ranktrail` itself understands it, without running it."""
    assert command[0] == "ranktrail"
    found = cli.get_command(click.Context(cli), command[1])
    assert found is not None
    return found.make_context(command[1], command[2:])


def test_every_setup_parses_and_starts_a_command_that_exists() -> None:
    started = [[one["command"], *one["args"]] for one in servers() if "command" in one]
    lines = [line.split() for line in LINES]
    typed = [line[line.index("--") + 1 :] if line[0] == "claude" else line for line in lines]
    assert len(started) >= 2
    assert len(typed) == len(LINES) >= 2
    for command in (*started, *typed):
        assert parsed(command).info_name == "mcp"


def test_the_address_over_http_is_the_one_that_is_served() -> None:
    [served] = [one for one in servers() if "url" in one]
    assert served["url"] == f"http://{HOST}:{PORT}{PATH}"
    assert served["headers"] == {"Authorization": "Bearer TOKEN"}


def test_the_page_names_every_tool_and_the_address_of_a_resource() -> None:
    source = (ROOT / "clients/python/ranktrail_mcp/server.py").read_text("utf-8")
    named = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert named == set(re.findall(r"\)\.(\w+), title=", source))
    assert TEMPLATE.uri_template in PAGE


@pytest.mark.parametrize(
    ("group", "table"), [("ranker", RankerMethods), ("history", HistoryMethods), ("evaluation", EvaluationMethods)]
)
def test_the_client_s_page_lists_every_call_and_whether_it_is_repeated(group: str, table: type) -> None:
    page = (ROOT / "docs" / "python.md").read_text("utf-8")
    [row] = [line for line in page.splitlines() if line.startswith(f"| `client.{group}`")]
    listed = dict(re.findall(r"`(\w+)`([¹²]?)", row.partition("|")[2].partition("|")[2]))
    listed.pop("check_health", None)
    methods = {name: method for name, method in vars(table).items() if isinstance(method, Method)}
    marks = {name: "²" if one.resume else "" if one.repeats else "¹" for name, one in methods.items()}
    assert listed == marks


def test_no_other_command_loads_what_the_server_needs() -> None:
    program = (
        "import sys; from ranktrail_cli.root import cli; cli.main(['mcp', '--help'], standalone_mode=False);"
        "sys.exit(bool({'mcp', 'uvicorn', 'starlette', 'pydantic'} & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr
