"""Which project a call is about."""

from typing import Annotated

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from ranktrail_client import AsyncClient
from ranktrail_mcp import failures

ProjectField = Annotated[
    str | None, Field(description="The project whose memory is meant. May be left out where there is only one.")
]


async def chosen_project(client: AsyncClient, given: str | None, default: str | None) -> str:
    """Return the project given, else the server's own, else the only one; raise ToolError where that says none."""
    if given or default:
        return str(given or default)
    names = await failures.projects(client)
    if len(names) != 1:
        raise ToolError(f"project is missing: name one. {failures.known(names)}")
    return names[0]
