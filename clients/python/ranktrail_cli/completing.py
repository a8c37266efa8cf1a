"""Ids that a shell completes, read from the services that the command line so far names."""

import os
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from ranktrail.evaluation.v1 import evaluation_service_pb2 as evaluation_pb2
from ranktrail.history.v1 import history_service_pb2 as history_pb2
from ranktrail_cli.fields import TextField
from ranktrail_cli.trace_view import shortened
from ranktrail_client.certificates import Certificates
from ranktrail_client.client import Client
from ranktrail_client.errors import RanktrailError
from ranktrail_client.paging import LARGEST_PAGE
from ranktrail_client.safe_text import safe_line

PATIENCE_SECONDS = 2.0
"""How long a shell waits at most: one that hangs is worse than one that knows nothing."""


class _IdField(TextField):
    """A text whose known values a shell offers."""

    def shell_complete(
        self,
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG002 - click's signature
        incomplete: str,
    ) -> list[CompletionItem]:
        """Return what begins with `incomplete`; nothing where no service says."""
        try:
            with _client(ctx) as client:
                return [
                    CompletionItem(value, help=safe_line(shortened(about)))
                    for value, about in self.known(client)
                    if value.startswith(incomplete) and value.isprintable()
                ]
        except RanktrailError:
            return []

    @abstractmethod
    def known(self, client: Client) -> Iterator[tuple[str, str]]:
        """Yield known values, each with a text about it."""


class CaseField(_IdField):
    """The id of a case; of many, the newest are offered."""

    def known(self, client: Client) -> Iterator[tuple[str, str]]:
        """Yield cases with their queries."""
        request = evaluation_pb2.ListEvaluationCasesRequest(page_size=LARGEST_PAGE)
        for one in client.evaluation.list_evaluation_cases(request, PATIENCE_SECONDS).evaluation_cases:
            yield one.case_id, one.query


class RunField(_IdField):
    """The id of a Run; of many, the newest are offered."""

    def known(self, client: Client) -> Iterator[tuple[str, str]]:
        """Yield Runs with their queries."""
        request = history_pb2.ListRetrievalRunsRequest(page_size=LARGEST_PAGE)
        for one in client.history.list_retrieval_runs(request, PATIENCE_SECONDS).runs:
            yield one.run_id, one.query


class ProjectField(_IdField):
    """The id of a project."""

    def known(self, client: Client) -> Iterator[tuple[str, str]]:
        """Yield the projects of the ranker."""
        for one in client.ranker.get_runtime(timeout=PATIENCE_SECONDS).projects:
            yield one.project_id, ""


def _client(ctx: click.Context) -> Client:
    given = ctx.params
    data_dir: Path | None = given.get("data_dir")
    return Client.connect(
        data_dir,
        ranker=given.get("ranker"),
        history=given.get("history"),
        token=os.environ.get("RANKTRAIL_TOKEN"),
        allow_remote=bool(given.get("allow_remote")),
        certificates=Certificates.read(given.get("tls_ca"), given.get("tls_cert"), given.get("tls_key")),
    )
