"""A client in JavaScript, built from the contracts alone: golden messages, real services, reflection and health."""

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.descriptors import PROTOS, ROOT
from tests.processes import running_stack

NODE = ROOT / "tests" / "node"
LOCK = NODE / "package-lock.json"
Run = Callable[..., subprocess.CompletedProcess[str]]


def _run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, **environment}
    return subprocess.run(command, cwd=NODE, env=variables, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def node() -> Run:
    """Install what the lock names and generate the stubs; skip where there is no Node or no registry."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("Node.js is not installed")
    with (NODE / ".gitignore").open("rb") as guard:  # two processes of one test run may come here at once
        fcntl.flock(guard, fcntl.LOCK_EX)
        _make_ready()
    return _run


def _make_ready() -> None:
    ready, digest = NODE / "node_modules" / "ready", _digest_of_sources()
    if ready.exists() and ready.read_text() == digest:
        return
    installed = _run("npm", "ci")
    if installed.returncode != 0 and "CI" not in os.environ:
        pytest.skip(f"npm ci failed: {installed.stderr}")
    assert installed.returncode == 0, installed.stderr
    shutil.rmtree(NODE / "gen", ignore_errors=True)
    generated = _run("npm", "run", "generate")
    assert generated.returncode == 0, generated.stderr
    ready.write_text(digest)


def _digest_of_sources() -> str:
    contracts = [*(PROTOS / "ranktrail").rglob("*.proto"), *(NODE / "standard").rglob("*.proto")]
    sources = [LOCK, NODE / "buf.gen.yaml", *sorted(contracts)]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()


@pytest.fixture(scope="module")
def sockets() -> Iterator[dict[str, str]]:
    with running_stack() as stack:
        yield {
            "RANKTRAIL_RANKER_SOCKET": str(stack.ranker.socket),
            "RANKTRAIL_HISTORY_SOCKET": str(stack.history.socket),
        }


def _passes(node: Run, name: str, **environment: str) -> None:
    result = node("node", "--test", "--test-reporter=spec", name, **environment)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_lock_names_no_address_that_packages_come_from() -> None:
    assert "://" not in LOCK.read_text("utf-8")


def test_node_reads_and_writes_every_golden_message(node: Run) -> None:
    _passes(node, "golden.test.js")


def test_a_node_client_asks_lists_runs_and_judges_a_case(node: Run, sockets: dict[str, str]) -> None:
    _passes(node, "client.test.js", **sockets)


def test_node_calls_what_it_knows_only_by_reflection_and_asks_for_health(node: Run, sockets: dict[str, str]) -> None:
    _passes(node, "reflection.test.js", **sockets)


def test_every_file_of_tests_is_run() -> None:
    source = Path(__file__).read_text("utf-8")
    assert all(f'"{path.name}"' in source for path in NODE.glob("*.test.js"))
