"""Errors that an agent can act on: the reason, one sentence, and what to do next."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.server.mcpserver.exceptions import ToolError

from ranktrail_client import AsyncClient, RanktrailError
from ranktrail_client.errors import (
    IndexNotReady,
    NoAnswer,
    NotAuthorized,
    Overloaded,
    ProjectNotFound,
    RankingFailed,
    RunNotFound,
    ServiceUnreachable,
)
from ranktrail_client.safe_text import safe_line

NEXT: tuple[tuple[type[RanktrailError], str], ...] = (
    (NoAnswer, "Call again later."),
    (ServiceUnreachable, "Ask the person to start it, then call again."),
    (IndexNotReady, "The index is being built: call again in a few seconds."),
    (RankingFailed, "explain_retrieval with this run_id shows how far it came."),
    (RunNotFound, "list_retrieval_runs names the Runs that are kept."),
    (Overloaded, "Call again in a moment."),
    (NotAuthorized, "Ask the person to start this server with the token of the services."),
)


@asynccontextmanager
async def told(client: AsyncClient) -> AsyncIterator[None]:
    """Raise what a call fails with as a ToolError that names the reason and the next step."""
    try:
        yield
    except RanktrailError as error:
        raise ToolError(await sentence(client, error)) from error


async def sentence(client: AsyncClient, error: RanktrailError) -> str:
    """Return the reason, the sentence, the failed Run where there is one, and what to do next."""
    parts = [f"{error.reason}: {error}" if error.reason else str(error)]
    if error.run_id is not None:
        parts.append(f"run_id: {error.run_id}.")
    if isinstance(error, ProjectNotFound):
        parts.append(known(await projects(client)))
    parts.append(next((step for kind, step in NEXT if isinstance(error, kind)), ""))
    return safe_line(" ".join(parts).rstrip())


async def projects(client: AsyncClient) -> list[str]:
    """Return the projects that the ranker knows; none where it cannot say."""
    try:
        runtime = await client.ranker.get_runtime()
    except RanktrailError:
        return []
    return [project.project_id for project in runtime.projects]


def known(names: list[str]) -> str:
    """Say which projects there are."""
    if not names:
        return "No project has a memory yet: `ranktrail sync FOLDER --project NAME` makes one."
    return f"Known projects: {', '.join(names)}."
