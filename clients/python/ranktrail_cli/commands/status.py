"""`ranktrail status`: whether both services serve, and what they hold."""

from dataclasses import dataclass
from typing import Any

import click
from google.protobuf.message import Message

from ranktrail.history.v1 import history_service_pb2 as history_pb2
from ranktrail.ranker.v1 import ranker_service_pb2 as ranker_pb2
from ranktrail_cli.examples import examples
from ranktrail_cli.exits import Exit
from ranktrail_cli.output import Output
from ranktrail_cli.session import Session, with_session
from ranktrail_cli.trace_view import DASH, counted
from ranktrail_client.errors import RanktrailError
from ranktrail_client.history import HistoryCalls
from ranktrail_client.message_json import enum_word, message_json
from ranktrail_client.ranker import RankerCalls

# A service that is well answers in milliseconds.
PATIENCE_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """One service: `runtime` where it serves, else `problem`."""

    name: str
    address: str
    runtime: Message | None
    problem: str | None

    def json_value(self) -> dict[str, Any]:
        """Return it as a JSON value."""
        return {
            "address": self.address,
            "serving": self.runtime is not None,
            "problem": self.problem,
            "runtime": None if self.runtime is None else message_json(self.runtime),
        }


@click.command(
    epilog=examples(
        "ranktrail status",
        "ranktrail status --json",
    )
)
@with_session
def status(session: Session) -> None:
    """Say whether both services serve; exit with 0 only when they do, and with 3 otherwise."""
    with session.connect() as client:
        services = (_status_of("ranker", client.ranker), _status_of("history", client.history))
    if session.output.as_json:
        values = {service.name: service.json_value() for service in services}
        session.output.document({"data_dir": str(session.data_dir), **values})
    for service in services:
        _print(session.output, service)
    if any(service.runtime is None for service in services):
        raise click.exceptions.Exit(Exit.UNREACHABLE)


def _status_of(name: str, calls: RankerCalls | HistoryCalls) -> ServiceStatus:
    try:
        if not calls.check_health(PATIENCE_SECONDS):
            return ServiceStatus(name, calls.address, None, f"{name} at {calls.address} is starting or stopping")
        return ServiceStatus(name, calls.address, calls.get_runtime(timeout=PATIENCE_SECONDS), None)
    except RanktrailError as error:
        return ServiceStatus(name, calls.address, None, str(error))


def _print(output: Output, service: ServiceStatus) -> None:
    if service.problem is not None:
        output.line(f"{service.name}: not serving: {service.problem}")
        return
    output.line(f"{service.name}: serving at {service.address}")
    if isinstance(service.runtime, ranker_pb2.GetRuntimeResponse):
        _print_ranker(output, service.runtime)
    if isinstance(service.runtime, history_pb2.GetRuntimeResponse):
        _print_history(output, service.runtime)


def _print_ranker(output: Output, runtime: ranker_pb2.GetRuntimeResponse) -> None:
    output.line(f"  version {runtime.version}, contract {runtime.contract_version}, {runtime.data_bytes} bytes")
    output.line(f"  model {runtime.model_revision}, {runtime.model_dtype}; reranker {runtime.reranker_revision}")
    recorder = runtime.recorder
    state = enum_word(ranker_pb2.RecorderRuntime.State.DESCRIPTOR, recorder.state) or DASH
    output.line(
        f"  recorder {state}: {recorder.recorded_run_count} recorded, {recorder.pending_run_count} pending, "
        f"{recorder.refused_run_count} refused, {recorder.dropped_run_count} dropped"
        + (f"; {recorder.last_error}" if recorder.last_error else "")
    )
    for project in runtime.projects:
        output.line(
            f"  project {project.project_id}: {counted(project.resource_count, 'resource')}, {_index_words(project)}"
        )


def _index_words(project: ranker_pb2.ProjectRuntime) -> str:
    if project.HasField("build"):
        return f"index being built: {project.build.phase} {project.build.done_count} of {project.build.total_count}"
    if project.HasField("build_failure"):
        return f"the last index build failed: {project.build_failure.summary}"
    return counted(project.unit_count, "unit") if project.index_revision else "no index"


def _print_history(output: Output, runtime: history_pb2.GetRuntimeResponse) -> None:
    output.line(f"  version {runtime.version}, contract {runtime.contract_version}, schema {runtime.schema_version}")
    output.line(
        f"  {runtime.run_count} Runs ({runtime.running_run_count} running), {runtime.case_count} cases, "
        f"{runtime.blob_count} bodies, {runtime.database_bytes + runtime.blob_bytes} bytes"
    )
    if runtime.write_failure_count:
        output.line(f"  {runtime.write_failure_count} writes failed since it started: its log says more")
