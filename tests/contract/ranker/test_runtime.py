"""Profiles, runtime, health, reflection and the listeners of a real ranker process."""

import socket
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from ranktrail.ranker.v1 import ranker_service_pb2 as pb
from ranktrail.ranker.v1.ranker_service_pb2_grpc import RankerServiceStub
from tests.processes import Service
from tests.refusals import refused

SERVICE = "ranktrail.ranker.v1.RankerService"
PACKAGED = (files("ranker_service") / "profiles" / "activation.v1.toml").read_text("utf-8")


def test_profiles_are_listed_with_their_text_and_one_default(stub: RankerServiceStub) -> None:
    profiles = stub.ListProfiles(pb.ListProfilesRequest()).profiles
    default = next(profile for profile in profiles if profile.is_default)
    assert (default.ranking_profile.name, default.source, default.toml) == ("activation.v1", "package", PACKAGED)


def test_validation_says_everything_that_is_wrong_with_a_profile(stub: RankerServiceStub) -> None:
    valid = stub.ValidateProfile(pb.ValidateProfileRequest(toml=PACKAGED))
    assert list(valid.problems) == []
    assert len(valid.ranking_profile.digest) == 64
    broken = (
        PACKAGED.replace("k = 60", "k = 0").replace("power = ", 'power = "four" # ').replace("[exact]", "[exactly]")
    )
    problems = stub.ValidateProfile(pb.ValidateProfileRequest(toml=broken)).problems
    assert [problem.split(" ")[0] for problem in problems] == ["[exact]", "rrf.k", "rerank.power", "[exactly]"]
    assert stub.ValidateProfile(pb.ValidateProfileRequest(toml="= 1")).problems
    assert (
        refused(lambda: stub.ValidateProfile(pb.ValidateProfileRequest(toml="#" * 65_537))).metadata["field"] == "toml"
    )


def test_runtime_says_what_the_process_is(stub: RankerServiceStub, ranker: Service) -> None:
    runtime = stub.GetRuntime(pb.GetRuntimeRequest())
    assert (runtime.version, runtime.contract_version) == ("0.1.0", "v1.0")
    assert runtime.data_dir == str(ranker.data_dir)
    assert runtime.model_dtype in {"float32", "bfloat16"}
    assert runtime.model_dtype in runtime.model_revision
    assert runtime.recorder.state == pb.RecorderRuntime.STATE_WAITING
    assert runtime.recorder.spool_limit_bytes == 2 * 1024**3
    assert [p.project_id for p in runtime.projects] == sorted(p.project_id for p in runtime.projects)


def test_health_and_reflection_answer(ranker: Service) -> None:
    assert ranker.channel is not None
    health = health_pb2_grpc.HealthStub(ranker.channel)
    for name in ("", SERVICE):
        status = health.Check(health_pb2.HealthCheckRequest(service=name)).status
        assert status == health_pb2.HealthCheckResponse.SERVING
    reflection = reflection_pb2_grpc.ServerReflectionStub(ranker.channel)
    request = reflection_pb2.ServerReflectionRequest(list_services="")
    listed = next(iter(reflection.ServerReflectionInfo(iter([request]))))
    assert SERVICE in {service.name for service in listed.list_services_response.service}


def test_health_answers_while_every_index_stream_is_taken(stub: RankerServiceStub, ranker: Service) -> None:
    assert ranker.channel is not None

    def waiting() -> object:
        yield pb.RankCorpusRequest(header=pb.RankCorpusHeader())
        while True:
            yield pb.RankCorpusRequest(query=pb.CorpusQuery(query_id="q", query="text"))

    streams = [stub.RankCorpus(waiting(), timeout=60) for _ in range(2)]
    for stream in streams:
        next(stream)
    refusal = refused(lambda: next(stub.RankCorpus(iter([pb.RankCorpusRequest(header=pb.RankCorpusHeader())]))))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED")
    assert int(refusal.metadata["retry_after_ms"]) > 0
    health_pb2_grpc.HealthStub(ranker.channel).Check(health_pb2.HealthCheckRequest(), timeout=1)
    for stream in streams:
        stream.cancel()


def test_files_and_directories_are_for_their_owner_alone(ranker: Service) -> None:
    for path in (ranker.data_dir / "ranker").rglob("*"):
        mode = path.lstat().st_mode & 0o777
        assert mode == (0o700 if path.is_dir() else 0o600), path
    assert ranker.socket.stat().st_mode & 0o077 == 0


def test_a_second_ranker_on_the_data_directory_is_refused(ranker: Service) -> None:
    result = _run(ranker.data_dir)
    assert result.returncode == 4
    assert "is in use by process" in result.stderr.splitlines()[-1]
    assert ranker.socket.exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--address", "0.0.0.0:7777"), "needs TLS"),
        (("--address", "unix:/tmp/" + "x" * 120), "107"),
        (("--profile", "no-such.v1"), "no-such.v1"),
        (("--encoder", "folder:/nowhere"), "/nowhere"),
        (("--data-dir", "/proc/nowhere"), "choose another folder"),
    ],
)
def test_a_start_that_cannot_be_is_refused_in_one_sentence(
    tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    result = _run(tmp_path, *arguments)
    assert result.returncode == 5
    assert "Traceback" not in result.stderr
    assert sentence in result.stderr.splitlines()[-1]


def test_a_loopback_port_asks_for_the_token(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    service = Service("ranker_service", tmp_path, ("--address", f"127.0.0.1:{port}"))
    try:
        service.start(f"127.0.0.1:{port}")
        stub = RankerServiceStub(service.channel)
        token = (tmp_path / "run" / "token").read_text().strip()
        assert (tmp_path / "run" / "token").stat().st_mode & 0o777 == 0o600
        right = [("authorization", f"Bearer {token}")]
        assert stub.GetRuntime(pb.GetRuntimeRequest(), metadata=right).version
        missing = refused(lambda: stub.GetRuntime(pb.GetRuntimeRequest()))
        assert (missing.code, missing.reason) == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_MISSING")
        wrong = refused(lambda: stub.GetRuntime(pb.GetRuntimeRequest(), metadata=[("authorization", "Bearer no")]))
        assert (wrong.code, wrong.reason) == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_INVALID")
    finally:
        service.kill()


def _run(data_dir: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ranker_service", "--data-dir", str(data_dir), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
