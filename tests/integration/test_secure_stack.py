"""Both services on TCP with mutual TLS, as `ranktrail up` runs them: who gets in, and what the log says of it all."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest

from ranktrail.evaluation.v1 import evaluation_service_pb2 as evaluation_pb2
from ranktrail.history.v1 import history_service_pb2 as history_pb2
from ranktrail.ranker.v1 import ranker_service_pb2 as ranker_pb2
from ranktrail_client import Certificates, Client, RanktrailError
from ranktrail_client.errors import EvaluationJudgmentConflict, NotFound, Refused, ServiceUnreachable, TokenInvalid
from tests.fakes.history_server import eventually
from tests.memories import commit_frames
from tests.processes import short_directory

PLANTED = "zqxplanted"
"""Stands in every text that a caller or a memory brings; it must not be in any log."""
SECONDS = 120.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Running:
    """`ranktrail up` on TCP, with certificates of its own in `tls`."""

    folder: Path
    ranker: str = field(default_factory=lambda: f"127.0.0.1:{free_port()}")
    history: str = field(default_factory=lambda: f"127.0.0.1:{free_port()}")
    process: subprocess.Popen[bytes] | None = None
    pids: dict[str, int] = field(default_factory=dict)

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def token(self) -> str:
        return (self.folder / "d" / "run" / "token").read_text().strip()

    def options(self, own: str | None) -> list[str]:
        tls = self.folder / "tls"
        pair = [] if own is None else ["--tls-cert", f"{tls}/{own}.pem", "--tls-key", f"{tls}/{own}.key"]
        place = ["--data-dir", str(self.folder / "d"), "--ranker", self.ranker, "--history", self.history]
        return [*place, "--tls-ca", f"{tls}/ca.pem", *pair]

    def command(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "ranktrail_cli", *arguments]
        return subprocess.run(command, capture_output=True, check=False, timeout=SECONDS)

    def start(self) -> None:
        made = self.command("tls", "init", str(self.folder / "tls"), "--json")
        assert made.returncode == 0, made.stderr
        up = ["up", "--no-diagnostics", "--json", *self.options("server")]
        command = [sys.executable, "-m", "ranktrail_cli", *up, "--tls-client-ca", str(self.folder / "tls" / "ca.pem")]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, start_new_session=True)
        assert self.process.stdout is not None
        served = [json.loads(self.process.stdout.readline()) for _ in range(2)]
        self.pids = {event["service"]: event["pid"] for event in served}

    def client(self, own: str | None = "client", token: str | None = None) -> Client:
        tls = self.folder / "tls"
        pair = (None, None) if own is None else (tls / f"{own}.pem", tls / f"{own}.key")
        certificates = Certificates.read(tls / "ca.pem", *pair)
        return Client.connect(
            self.folder / "d", ranker=self.ranker, history=self.history, token=token, certificates=certificates
        )

    def stop(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with short_directory() as folder:
        stack = Running(folder)
        stack.start()
        try:
            yield stack
        finally:
            stack.stop()


def activate(client: Client, query: str = "how do we deploy") -> str:
    request = ranker_pb2.ActivateMemoryRequest(project_id=f"p-{PLANTED}", query=query)
    return client.ranker.activate_memory(request, timeout=SECONDS).run_id


def recorded(client: Client, run_id: str) -> bool:
    try:
        run = client.history.get_retrieval_run(history_pb2.GetRetrievalRunRequest(run_id=run_id)).run
    except (NotFound, ServiceUnreachable):
        return False
    return bool(run.state == history_pb2.RetrievalRun.STATE_SUCCEEDED)


@pytest.fixture(scope="module")
def project(running: Running) -> str:
    project_id = f"p-{PLANTED}"
    with running.client() as client:
        pages = {f"{PLANTED}.md": f"# Deploy {PLANTED}\n\nWe deploy with care.\n", "b.md": f"# Other\n\n{PLANTED}\n"}
        client.ranker.commit_memory(commit_frames(project_id, pages))
        list(client.ranker.ensure_index(ranker_pb2.EnsureIndexRequest(project_id=project_id), timeout=SECONDS))
    return project_id


def test_up_serves_both_with_mutual_tls_and_a_run_reaches_history(running: Running, project: str) -> None:
    assert running.command("status", *running.options("client")).returncode == 0
    with running.client() as client:
        run_id = activate(client)
        assert eventually(lambda: recorded(client, run_id), 30)


def test_without_a_certificate_or_the_authority_nobody_gets_in(running: Running) -> None:
    assert running.command("status", *running.options(None)).returncode == 3
    with running.client(None) as client, pytest.raises(ServiceUnreachable):
        client.ranker.get_runtime(timeout=3)
    with Client.connect(running.folder / "d", ranker=running.ranker) as client, pytest.raises(ServiceUnreachable):
        client.ranker.get_runtime(timeout=3)


def test_a_rotated_token_counts_at_once_for_callers_and_for_the_recorder(running: Running, project: str) -> None:
    old = running.token
    with running.client() as client, running.client(token=old) as late:
        activate(client)
        rotated = running.command("token", "rotate", "--json", "--data-dir", str(running.folder / "d"))
        assert rotated.returncode == 0
        assert json.loads(rotated.stdout)["replaced"] is True
        assert running.token != old
        assert (old.encode() in rotated.stdout, running.token.encode() in rotated.stdout) == (False, False)
        for call in (late.ranker.get_runtime, late.history.get_runtime):
            with pytest.raises(TokenInvalid):
                call(timeout=5)
        run_id = activate(client)  # a client that takes the token from the file goes on
        assert eventually(lambda: recorded(client, run_id), 30)
        os.kill(running.pids["history"], signal.SIGKILL)
        run_id = activate(client)  # the recorder has to connect again, and shows the new token
        assert eventually(lambda: recorded(client, run_id), 60)


def refused(call: Callable[[], Any], kinds: type[RanktrailError] = RanktrailError) -> None:
    try:
        answer = call()
        if not hasattr(answer, "DESCRIPTOR"):
            list(answer)
    except kinds:
        return
    pytest.fail(f"answered with {answer}")


def fail_in_many_ways(client: Client, project: str) -> None:
    text = f"{PLANTED} query"
    ask = client.ranker.activate_memory
    request = ranker_pb2.ActivateMemoryRequest(project_id=project, query=text)
    refused(lambda: ask(ranker_pb2.ActivateMemoryRequest(project_id=f"{PLANTED}-unknown", query=text)), NotFound)
    refused(lambda: ask(ranker_pb2.ActivateMemoryRequest(project_id=project, query=text * 2_000)), Refused)
    refused(lambda: ask(ranker_pb2.ActivateMemoryRequest(project_id=project, query=text, activation_state=b"{}")))
    refused(lambda: ask(ranker_pb2.ActivateMemoryRequest(project_id=project, query=text, profile=PLANTED)))
    refused(lambda: ask(request, timeout=0.000_1))
    header = ranker_pb2.CommitHeader(project_id=project, mode=ranker_pb2.CommitHeader.MODE_PATCH, layer=2)
    frames = [
        ranker_pb2.CommitMemoryRequest(header=header),
        ranker_pb2.CommitMemoryRequest(body=PLANTED.encode()),
    ]
    refused(lambda: client.ranker.commit_memory(frames), Refused)
    listed = history_pb2.ListRetrievalRunsRequest(project_id=project, page_token=PLANTED)
    refused(lambda: client.history.list_retrieval_runs(listed), Refused)
    imported = [evaluation_pb2.ImportEvaluationSetRequest(content=f'{{"{PLANTED}": ['.encode())]
    refused(lambda: client.evaluation.import_evaluation_set(imported), RanktrailError)


def judge(client: Client, run_id: str) -> None:
    made = client.evaluation.create_evaluation_case(
        evaluation_pb2.CreateEvaluationCaseRequest(run_id=run_id, notes=f"{PLANTED} notes")
    )
    human = evaluation_pb2.EvaluationJudgment.SOURCE_HUMAN
    judgment = evaluation_pb2.EvaluationJudgment(resource_id="b.md", relevance=3, notes=PLANTED, source=human)
    request = evaluation_pb2.ReplaceEvaluationJudgmentsRequest(
        case_id=made.evaluation_case.case_id,
        expected_judgment_version=made.evaluation_case.judgment_version,
        author=PLANTED,
        request_id=f"{PLANTED}-1",
        judgments=[judgment],
    )
    client.evaluation.replace_evaluation_judgments(request)
    request.request_id += "-again"
    refused(lambda: client.evaluation.replace_evaluation_judgments(request), EvaluationJudgmentConflict)
    request.judgments[0].resource_id = PLANTED
    refused(lambda: client.evaluation.replace_evaluation_judgments(request))


def damage(*folders: Path) -> None:
    for file in (file for folder in folders for file in folder.rglob("*") if file.is_file()):
        file.write_bytes(file.read_bytes()[::-1])


def fail_for_damage(client: Client, data_dir: Path, project: str, run_id: str) -> None:
    damage(data_dir / "history" / "evaluation-corpora" / "blobs", *(data_dir / "ranker" / "projects").iterdir())
    read = history_pb2.ReadRunResourceRequest(run_id=run_id, resource_id="b.md")
    refused(lambda: client.history.read_run_resource(read))
    for query in (f"{PLANTED} care", "deploy"):
        with suppress(RanktrailError):
            activate(client, query)
    with suppress(RanktrailError):
        client.ranker.commit_memory(commit_frames(project, {"c.md": PLANTED}))


def test_neither_log_holds_a_token_a_query_a_body_or_a_judgment(running: Running, project: str) -> None:
    secret = f"{PLANTED}-token-of-nobody-in-particular"
    with running.client() as client, running.client(token=secret) as stranger:
        run_id = activate(client, f"{PLANTED} deploy")
        assert eventually(lambda: recorded(client, run_id), 30)
        refused(stranger.ranker.get_runtime, TokenInvalid)
        fail_in_many_ways(client, project)
        judge(client, run_id)
        fail_for_damage(client, running.folder / "d", project, run_id)
        channel = client.history.link.channel
        call = channel.unary_unary("/ranktrail.history.v1.HistoryService/GetRetrievalRun")
        with pytest.raises(grpc.RpcError):
            call(b"\x0a\x0f\xed\xa0\xbd" + PLANTED.encode(), timeout=5)
    log = running.log.read_text()
    assert "ERROR" in log
    # A project's id names what a person has to look at; nothing else that came from outside may be there.
    lines = [line.replace(repr(project), "").replace(repr(f"{PLANTED}-unknown"), "") for line in log.splitlines()]
    assert [line for line in lines if PLANTED in line] == []
    for token in (running.token, running.token[:8]):
        assert token not in log
