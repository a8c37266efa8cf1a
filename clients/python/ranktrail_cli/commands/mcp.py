"""`ranktrail mcp`: an agent's way to a memory and its Runs."""

import asyncio
import os
import signal
import sys

import click

from ranktrail_cli.completing import ProjectField
from ranktrail_cli.examples import examples
from ranktrail_cli.session import Session, with_session

PORT = 8788


@click.command(
    epilog=examples(
        "ranktrail mcp --project docs",
        "ranktrail mcp --http --port 8788",
        "claude mcp add ranktrail -- ranktrail mcp --project docs",
    )
)
@click.option("--project", type=ProjectField("project"), help="The project that is meant where an agent names none.")
@click.option("--http", "over_http", is_flag=True, help="Serve streamable HTTP, on loopback alone.")
@click.option("--port", type=click.IntRange(0, 65_535), default=PORT, show_default=True, help="With --http. 0: any.")
@with_session
def mcp(session: Session, project: str | None, over_http: bool, port: int) -> None:
    """Serve the Model Context Protocol to an agent, on standard input and output until they are closed.

    Tools: activate_memory, explain_retrieval, list_retrieval_runs; resources: the documents of the memory. The services
    may start later. With --http it serves until Ctrl-C, and prints its address and the token that a caller sends:
    whoever has it can read the memory.
    """
    if over_http:
        asyncio.run(_serve_http(session, project, port))
        return
    if sys.stdin.isatty():
        session.output.remark("waiting for an agent on standard input: see docs/mcp.md for how agents start this")
    # Ctrl-C ends the process at once: the thread that reads standard input would not notice; nothing is left undone.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(_serve(session, project))


# What the server needs takes a second to load, which no other command should wait for: hence the imports below.


async def _serve(session: Session, project: str | None) -> None:
    from ranktrail_mcp.server import create_server  # noqa: PLC0415

    async with session.connect_async() as client:
        await create_server(client, project).run_stdio_async()


async def _serve_http(session: Session, project: str | None, port: int) -> None:
    from ranktrail_diagnostics.access import access_token  # noqa: PLC0415
    from ranktrail_mcp.http import bound, serve_http  # noqa: PLC0415
    from ranktrail_mcp.server import create_server  # noqa: PLC0415

    token = access_token(session.data_dir, os.environ)

    def announce(address: str) -> None:
        if session.output.as_json:
            session.output.json_line({"event": "serving", "service": "mcp", "address": address, "token": token})
        session.output.line(f"MCP serves at {address} to callers with the header Authorization: Bearer {token}")

    async with session.connect_async() as client:
        await serve_http(create_server(client, project), bound(port), token, announce)
