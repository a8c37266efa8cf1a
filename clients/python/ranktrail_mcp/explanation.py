"""The tool `explain_retrieval`: why this was returned, and why that was not."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, Field

from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail.trace.v1.trace_pb2 import Candidate
from ranktrail_client import AsyncClient, async_pages
from ranktrail_client.errors import RunNotFound
from ranktrail_client.run_delivery import async_delivered
from ranktrail_mcp.failures import told
from ranktrail_mcp.outcome import (
    CandidateOutcome,
    LegEnd,
    ResourceOutcome,
    absent_outcome,
    candidate_outcome,
    found_outcome,
    leg_ends,
    unfound_outcome,
    unrecalled_unit,
)
from ranktrail_mcp.runs import Run, short

SIMILAR = 10


class Explanation(BaseModel):
    """How a Run came to its answer."""

    run: Run
    outcome: ResourceOutcome | None = Field(description="What became of the resource or unit asked about")
    candidates: list[CandidateOutcome] = Field(description="In final order; those of the resource or unit asked about")
    left_out: int = Field(description="Further candidates, past the limit")
    leg_ends: dict[str, LegEnd] = Field(
        description="Where bm25 and dense ended; a leg that is missing recalled nothing"
    )


class ExplainRetrieval:
    """Explains Runs."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def explain_retrieval(
        self,
        run_id: Annotated[str, Field(description="A run_id of activate_memory or list_retrieval_runs")],
        resource: Annotated[str | None, Field(description="Why (not) this resource: its id or path")] = None,
        unit_key: Annotated[str | None, Field(description="Why (not) this unit: its key")] = None,
        limit: Annotated[int, Field(ge=1, le=500, description="At most so many candidates")] = 20,
    ) -> Explanation:
        """Explain one Run: each candidate's rank in every stage, and the rule that kept it out.

        With `resource` or `unit_key`, say where it was lost: not_in_memory, not_indexed, not_recalled (and by which
        leg), not_reranked, excluded (and by which rule), or that it was returned.
        """
        async with told(self._client):
            found = await self._recorded(run_id)
            ends = leg_ends(found.candidates)
            asked = unit_key or resource
            chosen = [one for one in found.candidates if asked is None or _is_about(one, resource, unit_key)]
            outcome = None if asked is None else await self._outcome(found, asked, chosen, ends)
        return Explanation(
            run=short(found.run),
            outcome=outcome,
            candidates=[candidate_outcome(one, excerpt=asked is not None) for one in chosen[:limit]],
            left_out=max(0, len(chosen) - limit),
            leg_ends=ends,
        )

    async def _recorded(self, run_id: str) -> pb.GetRetrievalRunResponse:
        """Return a Run, which may still be on its way to history; raise RunNotFound."""

        async def find() -> pb.GetRetrievalRunResponse | None:
            try:
                found = await self._client.history.get_retrieval_run(request)
            except RunNotFound:
                return None
            return found if found.run.state != pb.RetrievalRun.STATE_RUNNING else None

        request = pb.GetRetrievalRunRequest(run_id=run_id)
        return await async_delivered(self._client, find) or await self._client.history.get_retrieval_run(request)

    async def _outcome(
        self, found: pb.GetRetrievalRunResponse, asked: str, chosen: Sequence[Candidate], ends: dict[str, LegEnd]
    ) -> ResourceOutcome:
        if chosen:
            return found_outcome(asked, chosen)
        siblings = [one for one in found.candidates if asked.startswith(f"{one.resource_id}#")]
        if siblings:
            return unrecalled_unit(asked, siblings[:SIMILAR])
        similar: list[str] = []
        # A unit's key begins with the id of its resource.
        for text in dict.fromkeys((asked, asked.rpartition("#")[0] or asked)):
            request = pb.ListRunResourcesRequest(run_id=found.run.run_id, text=text)
            async for page in async_pages(self._client.history.list_run_resources, request):
                for one in page.resources:
                    if text in {one.resource_id, one.path}:
                        return unfound_outcome(asked, one, ends)
                    similar.append(one.resource_id)
        return absent_outcome(asked, similar[:SIMILAR])


def _is_about(candidate: Candidate, resource: str | None, unit_key: str | None) -> bool:
    if unit_key is not None:
        return candidate.unit_key == unit_key
    return resource in {candidate.resource_id, candidate.path}
