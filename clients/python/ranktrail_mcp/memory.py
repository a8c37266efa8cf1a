"""The Effective Memory as MCP resources: listed page by page, read where a Run kept the text."""

import base64
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    BlobResourceContents,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from ranktrail.history.v1 import history_service_pb2 as history_pb2
from ranktrail.ranker.v1 import ranker_service_pb2 as ranker_pb2
from ranktrail.trace.v1 import trace_pb2
from ranktrail_client import AsyncClient, RanktrailError
from ranktrail_client.errors import NotFound, PageTokenInvalid
from ranktrail_client.message_json import enum_word
from ranktrail_client.run_delivery import async_delivered
from ranktrail_mcp import failures

PREFIX = "ranktrail://memory/"
TEMPLATE = ResourceTemplate(
    uri_template=PREFIX + "{project}/{resource_id}",
    name="memory",
    title="A resource of a project's memory",
    description="The whole text of a resource, by its percent-encoded id, as a Run on the present memory kept it.",
)
MAX_BODY_BYTES = 4 << 20
RECENT_RUNS = 20


class MemoryResources:
    """Answers every request about resources, and passes the rest on."""

    def __init__(self, client: AsyncClient, project: str | None) -> None:
        self._client = client
        self._project = project

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Answer, or pass on."""
        params: Mapping[str, Any] = ctx.params or {}
        try:
            match ctx.method:
                case "resources/list":
                    return await self._list(PaginatedRequestParams.model_validate(params).cursor)
                case "resources/templates/list":
                    return ListResourceTemplatesResult(resource_templates=[TEMPLATE])
                case "resources/read":
                    return await self._read(ReadResourceRequestParams.model_validate(params).uri)
        except RanktrailError as error:
            code = INVALID_PARAMS if isinstance(error, (NotFound, PageTokenInvalid)) else INTERNAL_ERROR
            raise MCPError(code, await failures.sentence(self._client, error)) from error
        return await call_next(ctx)

    async def _list(self, cursor: str | None) -> ListResourcesResult:
        """Return one page of one project; the cursor names the project and the page."""
        projects = [self._project] if self._project else await failures.projects(self._client)
        project, token = _place(cursor) if cursor else (projects[0] if projects else "", "")
        if project not in projects:
            if cursor:
                raise MCPError(INVALID_PARAMS, "cursor is of a project that is gone: list from the beginning")
            return ListResourcesResult(resources=[])
        request = ranker_pb2.GetEffectiveMemoryRequest(project_id=project, page_size=100, page_token=token)
        page = await self._client.ranker.get_effective_memory(request)
        after = [project, page.next_page_token] if page.next_page_token else None
        if after is None and project != projects[-1]:
            after = [projects[projects.index(project) + 1], ""]
        return ListResourcesResult(
            resources=[_listed(project, one) for one in page.resources],
            next_cursor=None if after is None else base64.urlsafe_b64encode(json.dumps(after).encode()).decode(),
        )

    async def _read(self, uri: str) -> ReadResourceResult:
        project, resource_id = _parsed(uri)
        run_id = await self._run_on_present_memory(project)
        if run_id is None:
            raise MCPError(
                INTERNAL_ERROR,
                f"The text of {uri} cannot be had: it is kept with Runs, and no recent Run of {project} ranked the "
                "present memory. Call activate_memory for this project, then read it again.",
            )
        request = history_pb2.ReadRunResourceRequest(run_id=run_id, resource_id=resource_id)
        resource, body = trace_pb2.Resource(), b""
        async for frame in self._client.history.read_run_resource(request):
            if frame.HasField("resource"):
                resource.CopyFrom(frame.resource)
            if resource.size_bytes > MAX_BODY_BYTES:
                raise MCPError(
                    INVALID_PARAMS,
                    f"{uri} has {resource.size_bytes} bytes, and at most {MAX_BODY_BYTES} are read whole: "
                    "activate_memory finds the parts that matter.",
                )
            body += frame.content
        return ReadResourceResult(contents=[_contents(uri, resource.media_type, body)])

    async def _run_on_present_memory(self, project: str) -> str | None:
        """Return a Run whose memory is the present one; it may still be on its way to history."""
        present = await self._client.ranker.get_effective_memory(
            ranker_pb2.GetEffectiveMemoryRequest(project_id=project, page_size=1)
        )
        request = history_pb2.ListRetrievalRunsRequest(project_id=project, page_size=RECENT_RUNS)

        async def find() -> str | None:
            page = await self._client.history.list_retrieval_runs(request)
            recorded = (run for run in page.runs if run.state != history_pb2.RetrievalRun.STATE_RUNNING)
            hashes = {run.effective_memory_hash: run.run_id for run in recorded}
            return hashes.get(present.effective_memory_hash)

        return await async_delivered(self._client, find)


def resource_uri(project: str, resource_id: str) -> str:
    """Return the address of a resource."""
    return f"{PREFIX}{quote(project, safe='')}/{quote(resource_id, safe='')}"


def _parsed(uri: str) -> tuple[str, str]:
    project, separator, resource_id = uri.removeprefix(PREFIX).partition("/")
    if not (uri.startswith(PREFIX) and separator and project and resource_id):
        raise MCPError(INVALID_PARAMS, f"{uri} names no resource: write {TEMPLATE.uri_template}")
    return unquote(project), unquote(resource_id)


def _place(cursor: str) -> tuple[str, str]:
    try:
        project, token = json.loads(base64.urlsafe_b64decode(cursor.encode("ascii")))
    except (ValueError, TypeError) as error:
        raise MCPError(INVALID_PARAMS, "cursor is not one that this server gave: list from the beginning") from error
    return str(project), str(token)


def _listed(project: str, resource: trace_pb2.Resource) -> Resource:
    layer = enum_word(trace_pb2.Layer.DESCRIPTOR, resource.layer)
    state = enum_word(trace_pb2.ParseState.DESCRIPTOR, resource.parse_state)
    ranked = "" if state in {"parsed", None} else f"; not ranked: {state}"
    return Resource(
        uri=resource_uri(project, resource.resource_id),
        name=resource.path,
        title=resource.title or None,
        description=f"{resource.kind} of the {layer} layer of {project}{ranked}",
        mime_type=resource.media_type,
        size=resource.size_bytes,
    )


def _contents(uri: str, media_type: str, body: bytes) -> TextResourceContents | BlobResourceContents:
    try:
        return TextResourceContents(uri=uri, mime_type=media_type, text=body.decode("utf-8"))
    except UnicodeDecodeError:
        return BlobResourceContents(uri=uri, mime_type=media_type, blob=base64.b64encode(body).decode("ascii"))
