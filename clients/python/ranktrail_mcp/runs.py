"""The tool `list_retrieval_runs`, and a Run in short."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail_client import AsyncClient
from ranktrail_client.message_json import enum_number, enum_word, timestamp_json
from ranktrail_client.paging import LARGEST_PAGE
from ranktrail_mcp.failures import told

STATE = pb.RetrievalRun.State.DESCRIPTOR


class Run(BaseModel):
    """A Run in short; null: there is no such value."""

    run_id: str
    project: str
    query: str
    state: str = Field(description="running, succeeded or failed")
    create_time: str | None = Field(description="RFC 3339, UTC")
    candidate_count: int | None
    returned_fragment_count: int | None
    failure: str | None = Field(description="The stage that failed, and why")


class Runs(BaseModel):
    """Runs, newest first."""

    runs: list[Run]
    next_page_token: str | None = Field(description="page_token of the next page; null on the last")


class ListRetrievalRuns:
    """Lists what was asked."""

    def __init__(self, client: AsyncClient, project: str | None) -> None:
        self._client = client
        self._project = project

    async def list_retrieval_runs(
        self,
        project: Annotated[
            str | None, Field(description="Only this project's; left out: the server's, else all")
        ] = None,
        query_text: Annotated[str, Field(description="Only those whose query holds this text")] = "",
        state: Annotated[Literal["running", "succeeded", "failed"] | None, Field(description="Only these")] = None,
        limit: Annotated[int, Field(ge=1, le=LARGEST_PAGE, description="At most so many")] = 20,
        page_token: Annotated[str, Field(description="next_page_token of the page before, same filters")] = "",
    ) -> Runs:
        """List recorded Runs, newest first: what was asked of which project, and whether it succeeded."""
        request = pb.ListRetrievalRunsRequest(
            project_id=project or self._project or "",
            query_text=query_text,
            state=pb.RetrievalRun.State.ValueType(0 if state is None else enum_number(STATE, state)),
            page_size=limit,
            page_token=page_token,
        )
        async with told(self._client):
            page = await self._client.history.list_retrieval_runs(request)
        return Runs(runs=[short(run) for run in page.runs], next_page_token=page.next_page_token or None)


def short(run: pb.RetrievalRun) -> Run:
    """Return a Run in short."""
    failure = run.failure
    return Run(
        run_id=run.run_id,
        project=run.project_id,
        query=run.query,
        state=str(enum_word(STATE, run.state)),
        create_time=timestamp_json(run.create_time),
        candidate_count=run.candidate_count if run.HasField("candidate_count") else None,
        returned_fragment_count=run.returned_fragment_count if run.HasField("returned_fragment_count") else None,
        failure=f"{failure.stage}: {failure.code}: {failure.summary}" if run.HasField("failure") else None,
    )
