"""Content made to cost or to break in: each piece is refused, or read in a time that grows with its size alone."""

import ast
import importlib
import os
import pkgutil
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from ranker_service.domain.errors import BlobDigestMismatch, FieldInvalid
from ranker_service.domain.resource import Layer
from ranker_service.index.tokenizer import lexical_tokens, query_tokens
from ranker_service.memory import drafts
from ranker_service.memory.commits import CommitMode, CommitStore, DraftResource
from ranker_service.memory.parsers import parse
from tests.fakes.history_server import RunningHistory
from tests.history_builders import a_run
from tests.processes import short_directory
from tests.unit.memory.commits import announced

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [ROOT / name for name in ("ranker_service", "history_service", "clients/python", "protos/serving")]
PACKAGES = ("ranktrail_serving", "ranker_service", "history_service", "ranktrail_client", "ranktrail_evals")
# These import torch, or run when they are imported, and hold no pattern.
UNREAD = ("ranker_service.models", "ranker_service.bootstrap", "history_service.__main__", "ranker_service.__main__")
SECONDS = 4.0
GIB = 1024**3
CODE_LOADERS = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}


def took(action: object) -> float:
    start = time.process_time()
    assert callable(action)
    action()
    return time.process_time() - start


def test_a_resource_of_a_gibibyte_is_refused_by_its_announcement(tmp_path: Path) -> None:
    read: list[bytes] = []

    def frames() -> Iterator[bytes]:
        for _ in range(1024):
            read.append(bytes(1024 * 1024))
            yield read[-1]

    store = CommitStore(tmp_path / "store")
    with store.begin(Layer.PROJECT, CommitMode.PATCH) as draft:
        with pytest.raises(FieldInvalid, match=r"size_bytes"):
            draft.add(DraftResource("a", "a.md", GIB, "0" * 64), frames())
        with pytest.raises(BlobDigestMismatch, match="more than the announced 10 bytes"):
            draft.add(DraftResource("a", "a.md", 10, "0" * 64), frames())
    assert len(read) <= 1


def test_a_million_tiny_resources_are_refused_at_the_limit_and_not_read_to_their_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drafts, "RESOURCES_PER_LAYER", 1_000)
    sent = iter(range(1_000_000))

    def send() -> None:
        with CommitStore(tmp_path / "store").begin(Layer.PROJECT, CommitMode.PATCH) as draft:
            for number in sent:
                draft.add(announced(str(number), b""), [])

    start = time.process_time()
    with pytest.raises(FieldInvalid, match="fewer"):
        send()
    assert next(sent) == 1_001
    assert time.process_time() - start < SECONDS


def test_an_alias_bomb_in_front_matter_stays_small() -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 300))
    body = f"---\n{bomb}title: Boom\n---\n# A\n".encode()
    assert took(lambda: parse("text/markdown", body)) < SECONDS


@pytest.mark.parametrize(
    "text",
    ["a" * 5_000_000, "a." * 2_500_000, "a_B" * 1_700_000, "東" * 1_700_000, "'s" * 2_500_000, "\u00ad" * 2_500_000],
    ids=["letters", "dots", "humps", "han", "contractions", "soft hyphens"],
)
def test_a_line_of_five_megabytes_has_its_tokens_in_seconds(text: str) -> None:
    assert took(lambda: lexical_tokens(text)) < 2 * SECONDS
    assert took(lambda: query_tokens(text[:8_192])) < 1


def patterns() -> list[tuple[str, re.Pattern[str]]]:
    """Every compiled pattern of text that a module of the product keeps, by where it stands."""
    names = [
        found.name
        for package in PACKAGES
        for found in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}.")
    ]
    return [
        (f"{name}.{key}", value)
        for name in names
        if not name.startswith(UNREAD)
        for key, value in vars(importlib.import_module(name)).items()
        if isinstance(getattr(value, "pattern", None), str)
    ]


ATOMS = ("a", " ", "-", "#", "a-", "a.", "`", "\t", "0", "/", "[", "é", "\\", '"', ": ", "_a", "\n", "= ", "aA", "|")


def test_no_pattern_takes_longer_than_its_text_deserves() -> None:
    """A pattern that backtracks takes hours for twenty thousand characters, not a second more."""
    found = patterns()
    assert len(found) > 30
    for name, pattern in found:
        for atom in ATOMS:
            text = atom * (20_000 // len(atom)) + "\x00!"
            start = time.process_time()
            pattern.fullmatch(text)
            pattern.match(text)
            spent = time.process_time() - start
            assert spent < 1, (name, atom, spent)


SQL = ["'; DROP TABLE retrieval_runs; --", "' OR '1'='1", '" OR ""="', "%", "_", "*", 'NEAR("a")', "a\0b' --", "\\"]


@pytest.mark.parametrize("text", SQL)
def test_text_is_never_sql(tmp_path: Path, text: str) -> None:
    history = RunningHistory(tmp_path / "d")
    project = text.replace("\0", "")
    history.record([*a_run("run-1", project_id=project, query=text), *a_run("run-2", project_id="other")])
    assert [run.query for run in history.list(project_id=project).runs] == [text]
    assert history.get("run-1").run.query == text
    assert history.runtime().run_count == 2
    history.close()


def test_a_message_is_measured_after_it_was_decompressed(tmp_path: Path) -> None:
    history = RunningHistory(tmp_path / "d")
    channel = grpc.insecure_channel(history.service.target, compression=grpc.Compression.Gzip)
    call = channel.unary_unary("/ranktrail.history.v1.HistoryService/GetRetrievalRun")
    bomb = b"\x7a\x80\x80\x80\x20" + bytes(64 * 1024 * 1024)  # field 15, which nobody knows; some 60 KiB as sent
    with pytest.raises(grpc.RpcError) as error:
        call(bomb, timeout=30)
    assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    channel.close()
    history.close()


def trees() -> list[tuple[Path, ast.Module]]:
    return [(file, ast.parse(file.read_text("utf-8"))) for folder in SOURCES for file in folder.rglob("*.py")]


def test_nothing_that_is_read_can_run_code() -> None:
    """No pickle and its kin, no eval and exec, no torch.load, and no YAML loader that makes objects."""
    found = []
    for file, tree in trees():
        for node in ast.walk(tree):
            imported = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            imported += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if CODE_LOADERS & {name.partition(".")[0] for name in imported}:
                found.append((file.name, node.lineno))  # type: ignore[attr-defined]
            if isinstance(node, ast.Call) and _runs_code(node):
                found.append((file.name, node.lineno))
    assert found == []


def _runs_code(call: ast.Call) -> bool:
    called = ast.unparse(call.func)
    words = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    if called == "np.load":
        return words.get("allow_pickle") != "False"
    if called == "yaml.load":
        return words.get("Loader") != "yaml.BaseLoader"
    return called in {"eval", "exec", "torch.load", "os.system", "yaml.full_load", "yaml.unsafe_load"} or (
        words.get("shell") == "True" or words.get("trust_remote_code") == "True"
    )


@pytest.mark.parametrize(
    ("module", "options", "problem"),
    [
        ("history_service", ["--address", "0.0.0.0:0"], "needs TLS"),
        ("ranker_service", ["--inspect", "--history", "192.0.2.7:5301"], "--allow-remote"),
    ],
)
def test_a_service_does_not_start_where_others_could_listen(module: str, options: list[str], problem: str) -> None:
    with short_directory() as data_dir:
        assert problem in refused_start(module, data_dir, *options)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to somebody else")
@pytest.mark.parametrize("module", ["ranker_service", "history_service"])
@pytest.mark.parametrize("part", ["", "run"])
def test_a_service_does_not_start_on_somebody_elses_directory(module: str, part: str) -> None:
    with short_directory() as data_dir:
        (data_dir / part).mkdir(exist_ok=True)
        os.chown(data_dir / part, 65_534, 65_534)
        assert "belongs to user 65534" in refused_start(module, data_dir, "--inspect")


def refused_start(module: str, data_dir: Path, *options: str) -> str:
    """Return the one sentence of a start that was refused."""
    command = [sys.executable, "-m", module, "--data-dir", str(data_dir), *options]
    ended = subprocess.run(command, capture_output=True, check=False, timeout=60, text=True)
    assert ended.returncode == 5, ended.stderr
    return ended.stderr.splitlines()[-1]
