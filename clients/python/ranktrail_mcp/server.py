"""The server: its tools, its resources, and what it tells an agent about itself."""

from importlib.metadata import version

from mcp.server import MCPServer
from mcp_types import ToolAnnotations

from ranktrail_client import AsyncClient
from ranktrail_mcp.activation import ActivateMemory
from ranktrail_mcp.explanation import ExplainRetrieval
from ranktrail_mcp.memory import MemoryResources
from ranktrail_mcp.runs import ListRetrievalRuns

INSTRUCTIONS = """\
Ranktrail retrieves from a project's memory of documents and keeps the trace of every answer.
Ask activate_memory before you answer from your own knowledge or search files: it returns the few fragments that matter.
Where the evidence that you expected did not come back, explain_retrieval says where it was lost.
"""
# An activation adds a Run to history and changes nothing else.
ASKS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)


def create_server(client: AsyncClient, project: str | None = None) -> MCPServer:
    """Return a server over both services; `project` is meant where a call names none, and is alone listed."""
    server = MCPServer(
        "ranktrail",
        title="Ranktrail",
        instructions=INSTRUCTIONS,
        version=version("ranktrail"),
        log_level="WARNING",
        middleware=[MemoryResources(client, project)],
    )
    server.add_tool(ActivateMemory(client, project).activate_memory, title="Ask the memory", annotations=ASKS)
    server.add_tool(ExplainRetrieval(client).explain_retrieval, title="Explain a Run", annotations=READS)
    server.add_tool(ListRetrievalRuns(client, project).list_retrieval_runs, title="List Runs", annotations=READS)
    return server
