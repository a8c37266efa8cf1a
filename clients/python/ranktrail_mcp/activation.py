"""The tool `activate_memory`: a query gets its fragments, and later only what changed."""

from typing import Annotated

from mcp.server.mcpserver import Context
from pydantic import BaseModel, Field

from ranktrail.ranker.v1 import ranker_service_pb2 as pb
from ranktrail.trace.v1.trace_pb2 import DeltaAction
from ranktrail_client import AsyncClient
from ranktrail_client.errors import InvalidActivationState
from ranktrail_client.message_json import enum_word
from ranktrail_mcp.failures import told
from ranktrail_mcp.known_units import Known, KnownUnits, conversation_of
from ranktrail_mcp.project import ProjectField, chosen_project


class Fragment(BaseModel):
    """One returned unit."""

    action: str = Field(description="add: new; replace: another version of one you have; reuse: you have it already")
    unit_key: str = Field(description="Names the unit; explain_retrieval takes it")
    resource_id: str
    path: str
    heading_path: list[str] = Field(description="Headings above it, outermost first")
    relevance: float | None = Field(description="0 to 1, comparable between queries")
    token_count: int
    content: str | None = Field(description="The text; null with reuse")


class Activation(BaseModel):
    """The answer to one query."""

    run_id: str = Field(description="The recorded Run; explain_retrieval takes it")
    project: str
    fragments: list[Fragment] = Field(description="Best first")
    removed: list[str] = Field(description="Keys of units that you have and that are no longer in the memory")
    is_delta: bool = Field(description="Whether what earlier answers sent was left out")
    note: str | None = Field(description="What to know about this answer")


class ActivateMemory:
    """Answers queries, and keeps what each conversation knows."""

    def __init__(self, client: AsyncClient, project: str | None) -> None:
        self._client = client
        self._project = project
        self._known = KnownUnits()

    async def activate_memory(
        self,
        context: Context,
        query: Annotated[str, Field(description="What to look for, in words; at most 8,192 bytes")],
        project: ProjectField = None,
        max_fragments: Annotated[int | None, Field(ge=1, le=2**31 - 1, description="At most so many fragments")] = None,
        token_budget: Annotated[int | None, Field(ge=1, le=2**31 - 1, description="At most so many tokens")] = None,
        path_prefix: Annotated[str, Field(description="Only resources whose path starts with this")] = "",
        kinds: Annotated[list[str] | None, Field(description="Only resources of these kinds")] = None,
        conversation: Annotated[str | None, Field(description="Names this conversation among yours")] = None,
        fresh: Annotated[bool, Field(description="Send everything: earlier answers are not in your context")] = False,
    ) -> Activation:
        """Ask a project's memory for the few fragments that answer a query.

        Within a conversation a fragment's text is sent once: later answers say `reuse` for what you have, `replace`
        with the new text for what changed, and list in `removed` what is gone. Pass fresh=true when earlier answers are
        not in your context any more, as in a new conversation or after a compaction.
        """
        async with told(self._client):
            asked = pb.ActivateMemoryRequest(
                project_id=await chosen_project(self._client, project, self._project),
                query=query,
                max_fragments=max_fragments,
                token_budget=token_budget,
                path_prefix=path_prefix,
                kinds=kinds or [],
            )
            caller = conversation_of(context, conversation)
            async with self._known.of(None if caller is None else (*caller, asked.project_id)) as known:
                return await self._answer(asked, known, fresh=fresh, is_kept=caller is not None)

    async def _answer(self, asked: pb.ActivateMemoryRequest, known: Known, *, fresh: bool, is_kept: bool) -> Activation:
        if known.state is not None and not fresh:
            asked.activation_state = known.state
        try:
            reply = await self._client.ranker.activate_memory(asked)
        except InvalidActivationState:  # another ranker's by now; what the caller has is not known any more
            asked.ClearField("activation_state")
            reply = await self._client.ranker.activate_memory(asked)
        known.state = reply.next_activation_state
        return Activation(
            run_id=reply.run_id,
            project=asked.project_id,
            fragments=[_fragment(fragment) for fragment in reply.fragments],
            removed=list(reply.removed),
            is_delta=asked.HasField("activation_state"),
            note=_note(reply, is_kept=is_kept),
        )


def _fragment(fragment: pb.Fragment) -> Fragment:
    return Fragment(
        action=str(enum_word(DeltaAction.DESCRIPTOR, fragment.action)),
        unit_key=fragment.unit_key,
        resource_id=fragment.resource_id,
        path=fragment.path,
        heading_path=list(fragment.heading_path),
        relevance=fragment.relevance if fragment.HasField("relevance") else None,
        token_count=fragment.token_count,
        content=fragment.content if fragment.HasField("content") else None,
    )


def _note(reply: pb.ActivateMemoryResponse, *, is_kept: bool) -> str | None:
    notes = []
    if not reply.fragments:
        notes.append("Nothing passed the relevance floor and the filters: explain_retrieval shows every candidate.")
    if reply.query_tokens_encoded < reply.query_token_count:
        notes.append(
            f"The encoder saw the first {reply.query_tokens_encoded} of the query's {reply.query_token_count} tokens: "
            "a shorter query is matched whole."
        )
    if not is_kept:
        notes.append("This connection has no session: name the conversation to be sent only what changed.")
    return " ".join(notes) or None
