"""Both services in this process, behind real gRPC on Unix sockets: a memory that commits, Runs that were put there."""

import threading
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import grpc
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from ranktrail.history.v1 import history_service_pb2 as history_pb2
from ranktrail.history.v1 import history_service_pb2_grpc as history_grpc
from ranktrail.ranker.v1 import ranker_service_pb2 as ranker_pb2
from ranktrail.ranker.v1 import ranker_service_pb2_grpc as ranker_grpc
from ranktrail.trace.v1 import trace_pb2
from ranktrail_client.data_directory import socket_address
from ranktrail_client.frames import digest_of

PAGE_SIZE = 3
"""Small, so that every list has pages."""


def refuse(
    context: grpc.ServicerContext, code: grpc.StatusCode, reason: str, message: str = "", **metadata: str
) -> NoReturn:
    """End a call as a service does."""
    detail = any_pb2.Any()
    detail.Pack(error_details_pb2.ErrorInfo(reason=reason, domain="ranktrail", metadata=metadata))
    status = status_pb2.Status(code=code.value[0], message=message or f"{reason} it is", details=[detail])
    context.abort_with_status(rpc_status.to_status(status))
    raise AssertionError("abort raises")


@dataclass
class FakeRanker(ranker_grpc.RankerServiceServicer):
    """Keeps what is committed; answers activations with `response`."""

    layers: dict[tuple[str, int], dict[str, trace_pb2.Resource]] = field(default_factory=dict)
    commits: list[list[ranker_pb2.CommitMemoryRequest]] = field(default_factory=list)
    activations: list[ranker_pb2.ActivateMemoryRequest] = field(default_factory=list)
    response: ranker_pb2.ActivateMemoryResponse = field(
        default_factory=lambda: ranker_pb2.ActivateMemoryResponse(run_id="RUN1")
    )
    problems: list[str] = field(default_factory=list)
    refused_state: bytes | None = None
    pending_run_count: int = 0
    conflicts: int = 0
    unavailable: int = 0
    calls: int = 0

    def head(self, project: str, layer: int) -> str:
        """Return a layer's commit id."""
        held = self.layers.get((project, layer))
        return "" if held is None else digest_of(repr(sorted((k, v.digest, v.kind) for k, v in held.items())).encode())

    def ActivateMemory(self, request: Any, context: Any) -> ranker_pb2.ActivateMemoryResponse:  # noqa: N802
        self.activations.append(request)
        if not request.query.strip():
            refuse(context, grpc.StatusCode.INVALID_ARGUMENT, "FIELD_INVALID", "query is blank: ask", field="query")
        if request.project_id == "unknown":
            refuse(context, grpc.StatusCode.NOT_FOUND, "PROJECT_NOT_FOUND", project_id="unknown", run_id="FAILED1")
        if request.HasField("activation_state") and request.activation_state == self.refused_state:
            refuse(context, grpc.StatusCode.INVALID_ARGUMENT, "INVALID_ACTIVATION_STATE", run_id="FAILED1")
        return self.response

    def CommitMemory(self, request_iterator: Any, context: Any) -> ranker_pb2.CommitMemoryResponse:  # noqa: N802
        frames = list(request_iterator)
        self.commits.append(frames)
        header = frames[0].header
        parent = self.head(header.project_id, header.layer)
        if self.conflicts:
            self.conflicts -= 1
            refuse(context, grpc.StatusCode.ABORTED, "COMMIT_CONFLICT")
        if header.HasField("expected_parent_commit_id") and header.expected_parent_commit_id != parent:
            refuse(context, grpc.StatusCode.ABORTED, "COMMIT_CONFLICT")
        if not frames[-1].HasField("end"):
            refuse(context, grpc.StatusCode.INVALID_ARGUMENT, "FIELD_INVALID", field="end")
        return self._apply(header, frames, parent)

    def _apply(self, header: Any, frames: list[Any], parent: str) -> ranker_pb2.CommitMemoryResponse:
        held = self.layers.setdefault((header.project_id, header.layer), {})
        answer = ranker_pb2.CommitMemoryResponse(parent_commit_id=parent)
        for frame in frames:
            if frame.HasField("resource"):
                sent = frame.resource
                answer.changed_count += sent.resource_id in held
                answer.added_count += sent.resource_id not in held
                held[sent.resource_id] = trace_pb2.Resource(
                    resource_id=sent.resource_id,
                    path=sent.path,
                    kind=sent.kind,
                    digest=sent.digest,
                    size_bytes=sent.size_bytes,
                    layer=header.layer,
                )
            elif frame.HasField("delete_resource_id"):
                del held[frame.delete_resource_id]
                answer.deleted_count += 1
        answer.commit_id = self.head(header.project_id, header.layer)
        answer.resource_count = len(held)
        return answer

    def GetEffectiveMemory(self, request: Any, context: Any) -> ranker_pb2.GetEffectiveMemoryResponse:  # noqa: N802
        self.calls += 1
        if self.unavailable:
            self.unavailable -= 1
            context.abort(grpc.StatusCode.UNAVAILABLE, "starting")
        known = {project for project, _ in self.layers}
        if request.layer != trace_pb2.LAYER_ORGANIZATION and request.project_id not in known:
            refuse(context, grpc.StatusCode.NOT_FOUND, "PROJECT_NOT_FOUND", project_id=request.project_id)
        held = self.layers.get((request.project_id, request.layer or trace_pb2.LAYER_PROJECT), {})
        start = int(request.page_token or 0)
        ordered = [held[key] for key in sorted(held)]
        return ranker_pb2.GetEffectiveMemoryResponse(
            resources=ordered[start : start + PAGE_SIZE],
            next_page_token=str(start + PAGE_SIZE) if start + PAGE_SIZE < len(ordered) else "",
            resource_count=len(ordered),
            commit_id=self.head(request.project_id, request.layer),
        )

    def EnsureIndex(self, request: Any, context: Any) -> Iterator[ranker_pb2.EnsureIndexResponse]:  # noqa: N802
        if request.project_id not in {project for project, _ in self.layers}:
            refuse(context, grpc.StatusCode.NOT_FOUND, "PROJECT_NOT_FOUND", project_id=request.project_id)
        yield ranker_pb2.EnsureIndexResponse(phase="encode", done_count=1, total_count=2)
        yield ranker_pb2.EnsureIndexResponse(phase="ready", index_revision="i1", unit_count=7)

    def ListProfiles(self, request: Any, context: Any) -> ranker_pb2.ListProfilesResponse:  # noqa: N802
        profile = ranker_pb2.Profile(source="package", is_default=True, toml="name = 'activation.v1'\n")
        profile.ranking_profile.name = "activation.v1"
        return ranker_pb2.ListProfilesResponse(profiles=[profile])

    def ValidateProfile(self, request: Any, context: Any) -> ranker_pb2.ValidateProfileResponse:  # noqa: N802
        return ranker_pb2.ValidateProfileResponse(problems=self.problems)

    def GetRuntime(self, request: Any, context: Any) -> ranker_pb2.GetRuntimeResponse:  # noqa: N802
        recorder = ranker_pb2.RecorderRuntime(state=2, pending_run_count=self.pending_run_count)
        return ranker_pb2.GetRuntimeResponse(version="1", recorder=recorder)


@dataclass
class FakeHistory(history_grpc.HistoryServiceServicer):
    """Answers from `runs`, newest last; `hidden` answers are withheld first."""

    runs: list[history_pb2.GetRetrievalRunResponse] = field(default_factory=list)
    hidden: int = 0
    listed: list[history_pb2.ListRetrievalRunsRequest] = field(default_factory=list)
    watch_breaks: int = 0
    watched_after: list[int | None] = field(default_factory=list)
    more: threading.Event = field(default_factory=threading.Event)

    def GetRetrievalRun(self, request: Any, context: Any) -> history_pb2.GetRetrievalRunResponse:  # noqa: N802
        if self.hidden:
            self.hidden -= 1
        else:
            for found in self.runs:
                if found.run.run_id == request.run_id:
                    return found
        refuse(context, grpc.StatusCode.NOT_FOUND, "RUN_NOT_FOUND", run_id=request.run_id)

    def ListRetrievalRuns(self, request: Any, context: Any) -> history_pb2.ListRetrievalRunsResponse:  # noqa: N802
        self.listed.append(request)
        start = int(request.page_token or 0)
        newest_first = [one.run for one in reversed(self.runs)]
        return history_pb2.ListRetrievalRunsResponse(
            runs=newest_first[start : start + PAGE_SIZE],
            next_page_token=str(start + PAGE_SIZE) if start + PAGE_SIZE < len(newest_first) else "",
        )

    def WatchRetrievalRuns(self, request: Any, context: Any) -> Iterator[history_pb2.WatchRetrievalRunsResponse]:  # noqa: N802
        after = request.after_change_sequence if request.HasField("after_change_sequence") else None
        self.watched_after.append(after)
        yield history_pb2.WatchRetrievalRunsResponse(change_sequence=after or 0)
        for sequence, found in enumerate(self.runs, start=1):
            if after is not None and sequence <= after:
                continue
            yield history_pb2.WatchRetrievalRunsResponse(run=found.run, change_sequence=sequence)
            if self.watch_breaks:
                self.watch_breaks -= 1
                context.abort(grpc.StatusCode.UNAVAILABLE, "going")

    def GetRuntime(self, request: Any, context: Any) -> history_pb2.GetRuntimeResponse:  # noqa: N802
        return history_pb2.GetRuntimeResponse(version="1", run_count=len(self.runs))


@contextmanager
def served(data_dir: Path, ranker: FakeRanker | None, history: FakeHistory | None) -> Iterator[Path]:
    """Serve at the data directory's own addresses."""
    (data_dir / "run").mkdir(parents=True, exist_ok=True)
    servers = []
    if ranker is not None:
        servers.append(
            _serve(socket_address(data_dir, "ranker"), ranker_grpc.add_RankerServiceServicer_to_server, ranker)
        )
    if history is not None:
        add = history_grpc.add_HistoryServiceServicer_to_server
        servers.append(_serve(socket_address(data_dir, "history"), add, history))
    try:
        yield data_dir
    finally:
        for server in servers:
            server.stop(0).wait()


def _serve(address: str, add: Any, servicer: Any) -> grpc.Server:
    server = grpc.server(futures.ThreadPoolExecutor(8))
    add(servicer, server)
    checks = health.HealthServicer()
    checks.set("", health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(checks, server)
    server.add_insecure_port(address)
    server.start()
    return server
