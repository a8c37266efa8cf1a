"""What an evaluation asks for contexts and answers: the dataset itself, or a running ranker and a generator."""

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import click

from ranktrail.ranker.v1.ranker_service_pb2 import EnsureIndexRequest
from ranktrail_cli.session import Session
from ranktrail_cli.synchronisation import Progress
from ranktrail_client.client import Client
from ranktrail_evals.answers import Answerer, NoAnswerer, OfflineAnswerer
from ranktrail_evals.contexts import OfflineRetriever, Retriever
from ranktrail_evals.judge.address import check_endpoint
from ranktrail_evals.results.model import LiveIdentity
from ranktrail_evals.runner import Limits

KEY_VARIABLE = "RANKTRAIL_GENERATOR_KEY"


@dataclass(frozen=True, slots=True)
class Sources:
    """What retrieves and what answers."""

    retriever: Retriever
    answerer: Answerer


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """Whose memory is asked, and who answers; the key, where the endpoint wants one, is in the environment."""

    identity: LiveIdentity
    generator_url: str | None

    @classmethod
    def checked(
        cls,
        *,
        offline: bool,
        project: str | None,
        profile: str | None,
        generator_url: str | None,
        generator_model: str | None,
        allow_remote: bool,
    ) -> "LiveOptions | None":
        """Return the live options, None offline; raise UsageError for both, for neither, and for half a generator."""
        if offline == (project is not None):
            raise click.UsageError("name one of --offline and --project: where contexts come from")
        if project is None:
            if not profile is generator_url is generator_model is None:
                raise click.UsageError("--profile, --generator-url and --generator-model are for --project")
            return None
        if (generator_url is None) != (generator_model is None):
            raise click.UsageError("a generator needs both --generator-url and --generator-model")
        if generator_url is not None:
            check_endpoint("--generator-url", generator_url, allow_remote=allow_remote)
        return cls(LiveIdentity(project_id=project, profile=profile or "", generator=generator_model), generator_url)


@asynccontextmanager
async def opened_sources(
    session: Session, live: LiveOptions | None, limits: Limits, seed: int, progress: Progress
) -> AsyncIterator[Sources]:
    """Yield the sources; live ones once the ranker serves and the project's index is complete."""
    if live is None:
        yield Sources(OfflineRetriever(), OfflineAnswerer())
        return
    from ranktrail_evals.live.retriever import MemoryRetriever  # noqa: PLC0415 - it loads gRPC, which offline runs lack

    identity = live.identity
    async with AsyncExitStack() as stack:
        client = stack.enter_context(session.connect("ranker"))
        _wait_for_index(client, identity.project_id, progress)
        retriever = MemoryRetriever(
            client.ranker,
            identity.project_id,
            identity.profile,
            concurrency=limits.concurrency,
            case_timeout=limits.case_timeout,
        )
        yield Sources(stack.enter_context(retriever), await _answerer(stack, live, seed))


def _wait_for_index(client: Client, project_id: str, progress: Progress) -> None:
    for step in client.ranker.ensure_index(EnsureIndexRequest(project_id=project_id)):
        progress.step(step.phase, step.done_count, step.total_count)


async def _answerer(stack: AsyncExitStack, live: LiveOptions, seed: int) -> Answerer:
    model = live.identity.generator
    if live.generator_url is None or model is None:
        return NoAnswerer()
    from ranktrail_evals.live.generator import EndpointGenerator  # noqa: PLC0415 - half a second that few runs need

    key = os.environ.get(KEY_VARIABLE)
    return await stack.enter_async_context(EndpointGenerator(live.generator_url, model, api_key=key, seed=seed))
