"""The README's Python runs as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.memories import remember
from tests.processes import Stack

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
QUICK_START = re.findall(r"^## From Python$.*?^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
PAGES = {
    "faults.md": "# Faults\n\nThe journal survives kill -9.\n",
    "deploy.md": "# Deploy\n\nPush a tag, then wait for the pipeline.\n",
}


def test_the_quick_start_of_the_readme_prints_fragments_and_candidates(stack: Stack) -> None:
    [program] = QUICK_START
    assert len([line for line in program.splitlines() if line]) <= 10
    remember(stack.ranker_stub, "mine", PAGES)
    environment = {**os.environ, "RANKTRAIL_HOME": str(stack.data_dir)}
    ended = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr
    said = ended.stdout.decode()
    assert re.search(r"^faults\.md [0-9.]+ .*survives kill -9", said, re.MULTILINE | re.DOTALL)
    assert re.search(r"^1 True faults\.md#", said, re.MULTILINE)


def test_every_python_block_of_the_readme_compiles() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    assert QUICK_START[0] in blocks
    for block in blocks:
        compile(block, "README.md", "exec")
