"""What `ranktrail demo` shows, and the checks that it really happened."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ranktrail.history.v1 import history_service_pb2 as history_pb2
from ranktrail.ranker.v1 import ranker_service_pb2 as ranker_pb2
from ranktrail.trace.v1 import trace_pb2
from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.handbook_queries import Handbook, SampleQuery
from ranktrail_cli.output import Output
from ranktrail_cli.progress import shown_progress
from ranktrail_cli.synchronisation import SyncReport, Target, sync_folder
from ranktrail_cli.trace_view import CANDIDATES_EXPLAINED, candidates_table, counted, print_fragments, print_run
from ranktrail_client.client import Client
from ranktrail_client.message_json import message_json
from ranktrail_client.run_delivery import delivered_run

PROJECT = "handbook"
ROWS = 12
"""Rows of each query's table. The Run that is read back is shown whole."""


def demo_failed(problem: str) -> CommandFailed:
    """Return the error of a demo that did not show what it should."""
    return CommandFailed(f"the demo did not go as it should: {problem}", Exit.INCOMPLETE)


@dataclass(frozen=True, slots=True)
class Shown:
    """One activation and its Run."""

    query: SampleQuery
    response: ranker_pb2.ActivateMemoryResponse
    recorded: history_pb2.GetRetrievalRunResponse

    def json_value(self) -> dict[str, Any]:
        """Return it as a JSON value."""
        return {
            "query": self.query.text,
            "why": self.query.why,
            "response": message_json(self.response),
            "trace": message_json(self.recorded),
        }


@dataclass(slots=True)
class Demonstration:
    """Walks through the sample memory, printing as it goes; `document` holds the same as JSON."""

    client: Client
    handbook: Handbook
    output: Output
    document: dict[str, Any] = field(default_factory=lambda: {"syncs": [], "activations": []})

    def run(self) -> None:
        """Show everything; raise CommandFailed when something expected did not happen."""
        self._sync("organization", self.handbook.organization, trace_pb2.LAYER_ORGANIZATION)
        self._sync("project", self.handbook.project, trace_pb2.LAYER_PROJECT)
        shown = [self._show(number, query) for number, query in enumerate(self.handbook.queries, start=1)]
        self.document["activations"] = [one.json_value() for one in shown]
        first = next(one for one in shown if one.query is self.handbook.edit.query)
        self._read_back(first.recorded)
        again = self._repeat(first)
        self._replace(again)

    def _sync(self, name: str, folder: Path, layer: trace_pb2.Layer.ValueType) -> SyncReport:
        with shown_progress() as progress:
            report = sync_folder(self.client, folder, Target(PROJECT, layer), progress)
        self.output.line(
            f"synced the {name} layer: {report.added_count} added, {report.changed_count} changed, "
            f"{report.unchanged_count} unchanged; the index has {counted(report.unit_count, 'unit')}"
        )
        self.document["syncs"].append(
            {"layer": name, "added_count": report.added_count, "changed_count": report.changed_count}
        )
        if report.skips or not report.changed_anything:
            raise demo_failed(f"the sync of the {name} layer changed nothing or skipped pages")
        return report

    def _show(self, number: int, query: SampleQuery) -> Shown:
        self._heading(f'query {number} of {len(self.handbook.queries)}: ranktrail activate "{query.text}"')
        self.output.note(f"what it shows: {query.why}")
        self.output.line()
        shown = self._activate(query, None)
        print_fragments(self.output, shown.response.fragments)
        self._table(shown.recorded)
        if number == 1:
            self.output.line()
            self.output.note(CANDIDATES_EXPLAINED)
        return shown

    def _activate(self, query: SampleQuery, state: bytes | None) -> Shown:
        request = ranker_pb2.ActivateMemoryRequest(project_id=PROJECT, query=query.text, activation_state=state)
        response = self.client.ranker.activate_memory(request)
        recorded = delivered_run(self.client, response.run_id)
        check_agreement(response, recorded)
        return Shown(query, response, recorded)

    def _table(self, recorded: history_pb2.GetRetrievalRunResponse) -> None:
        self.output.table(candidates_table(recorded.candidates[:ROWS]))
        rest = len(recorded.candidates) - ROWS
        if rest > 0:
            self.output.line(f"… {rest} more: ranktrail runs show {recorded.run.run_id}")

    def _read_back(self, recorded: history_pb2.GetRetrievalRunResponse) -> None:
        self._heading(f"ranktrail runs show {recorded.run.run_id}")
        print_run(self.output, recorded.run, recorded.candidates)

    def _repeat(self, first: Shown) -> Shown:
        self._heading(f'ranktrail activate "{first.query.text}", with the state of the first time')
        again = self._activate(first.query, first.response.next_activation_state)
        print_fragments(self.output, again.response.fragments)
        if {fragment.action for fragment in again.response.fragments} != {trace_pb2.DELTA_ACTION_REUSE}:
            raise demo_failed("not every fragment of the repeated query came back as reuse")
        self.document["reuse"] = again.json_value()
        return again

    def _replace(self, before: Shown) -> None:
        edit = self.handbook.edit
        self._heading(f'ranktrail activate "{edit.query.text}", after an edit of {edit.path}')
        self.output.line(f"{edit.find}  →  {edit.replace}")
        edit.apply(self.handbook.project)
        report = self._sync("project", self.handbook.project, trace_pb2.LAYER_PROJECT)
        if (report.added_count, report.changed_count) != (0, 1):
            raise demo_failed("more than the edited page travelled")
        self.output.line()
        after = self._activate(edit.query, before.response.next_activation_state)
        print_fragments(self.output, after.response.fragments)
        replaced = [one for one in after.response.fragments if one.action == trace_pb2.DELTA_ACTION_REPLACE]
        if not any(one.path == edit.path and edit.replace in one.content for one in replaced):
            raise demo_failed(f"the edited part of {edit.path} did not come back as replace")
        self.document["replace"] = after.json_value()

    def _heading(self, text: str) -> None:
        self.output.line()
        self.output.line(f"── {text}")


def check_agreement(response: ranker_pb2.ActivateMemoryResponse, recorded: history_pb2.GetRetrievalRunResponse) -> None:
    """Raise CommandFailed unless the reply has fragments and history selected exactly those."""
    returned = [(one.unit_key, one.unit_digest, one.action) for one in response.fragments]
    selected = [(one.unit_key, one.unit_digest, one.delta_action) for one in recorded.candidates if one.selected]
    if recorded.run.state != history_pb2.RetrievalRun.STATE_SUCCEEDED or not returned:
        raise demo_failed(f"Run {response.run_id} did not succeed with fragments")
    if returned != selected:
        raise demo_failed(f"Run {response.run_id} in history selected other units than the reply returned")
