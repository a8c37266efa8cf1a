"""The MCP server as an agent has it: the official client, a process, and both services."""

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import jsonschema
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.processes import Stack

pytestmark = pytest.mark.slow

PAGES = {
    "deploy.md": "# Deploy\n\nPush a tag, then wait for the pipeline.\n\n## Rollback\n\nRun `shipctl undo` at once.\n",
    "on-call.md": "# On call\n\nThe handover is on Tuesday at ten. Error ZX-118 means the pager is mute.\n",
    "guides/holiday.md": "# Holidays\n\nAsk your lead two weeks before you leave.\n",
    "blank.md": "\n\n",
    "logo.bin": "\x00\x01",
}
QUERY = "what does error ZX-118 mean and how do I roll back a deploy?"
Session = Callable[[Client], Awaitable[None]]


@dataclass
class Desk:
    """A folder of pages, synced into a project of running services."""

    stack: Stack
    pages: Path

    def sync(self, project: str = "desk") -> None:
        command = [sys.executable, "-m", "ranktrail_cli", "sync", str(self.pages), "--project", project]
        data_dir = str(self.stack.data_dir)
        ended = subprocess.run([*command, "--data-dir", data_dir, "--json"], capture_output=True, check=False)
        assert ended.returncode == 0, ended.stderr

    def talk(self, session: Session, *options: str, mode: str = "auto") -> None:
        """Let an agent talk to a server of its own, over standard input and output; "legacy" is before 2026-07-28."""
        arguments = ["-m", "ranktrail_cli", "mcp", "--data-dir", str(self.stack.data_dir), *options]

        async def run() -> None:
            async with Client(StdioServerParameters(command=sys.executable, args=arguments), mode=mode) as client:
                await session(client)

        asyncio.run(asyncio.wait_for(run(), 120))


@pytest.fixture(scope="module")
def desk(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    pages = tmp_path_factory.mktemp("pages")
    for path, text in PAGES.items():
        (pages / path).parent.mkdir(exist_ok=True)
        (pages / path).write_text(text)
    desk = Desk(stack, pages)
    desk.sync()
    return desk


async def called(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """A tool's structured answer, which keeps the schema that the server promised."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    tools = (await client.list_tools()).tools
    jsonschema.validate(result.structured_content, next(one.output_schema for one in tools if one.name == tool))
    assert json.loads(result.content[0].text) == result.structured_content
    return dict(result.structured_content or {})


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return str(result.content[0].text)


def actions(answer: dict[str, Any]) -> dict[str, str]:
    return {fragment["path"]: fragment["action"] for fragment in answer["fragments"]}


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_an_agent_is_told_only_what_changed_and_can_ask_for_all_of_it(desk: Desk, mode: str) -> None:
    async def session(client: Client) -> None:
        first = await called(client, "activate_memory", query=QUERY)
        assert (set(actions(first).values()), first["is_delta"]) == ({"add"}, False)
        assert any("ZX-118" in fragment["content"] for fragment in first["fragments"])
        again = await called(client, "activate_memory", query=QUERY)
        assert (set(actions(again).values()), again["is_delta"]) == ({"reuse"}, True)
        assert all(fragment["content"] is None for fragment in again["fragments"])

        page = desk.pages / "on-call.md"
        page.write_text(PAGES["on-call.md"].replace("the pager is", f"the {mode} pager is"))
        await asyncio.to_thread(desk.sync)
        changed = await called(client, "activate_memory", query=QUERY)
        assert actions(changed) == {"on-call.md": "replace", "deploy.md": "reuse"}
        [replaced] = [fragment for fragment in changed["fragments"] if fragment["action"] == "replace"]
        assert f"the {mode} pager" in replaced["content"]

        for options in ({"conversation": "another"}, {"fresh": True}):
            anew = await called(client, "activate_memory", query=QUERY, **options)
            assert (set(actions(anew).values()), anew["is_delta"]) == ({"add"}, False)
        assert len({answer["run_id"] for answer in (first, again, changed, anew)}) == 4

    desk.talk(session, "--project", "desk", mode=mode)


def test_calls_of_one_conversation_at_once_never_send_a_text_twice(desk: Desk) -> None:
    async def session(client: Client) -> None:
        answers = await asyncio.gather(*(called(client, "activate_memory", query=QUERY) for _ in range(3)))
        sent = [fragment["unit_key"] for one in answers for fragment in one["fragments"] if fragment["content"]]
        assert len(sent) == len(set(sent)) > 0

    desk.talk(session)


def test_an_agent_sees_why_this_and_why_not_that(desk: Desk) -> None:
    async def session(client: Client) -> None:
        answer = await called(client, "activate_memory", query="ZX-118", max_fragments=1)
        run_id, [fragment] = answer["run_id"], answer["fragments"]

        whole = await called(client, "explain_retrieval", run_id=run_id)
        assert (whole["run"]["query"], whole["run"]["state"], whole["outcome"]) == ("ZX-118", "succeeded", None)
        assert [one["final_rank"] for one in whole["candidates"]] == list(range(1, len(whole["candidates"]) + 1))
        assert sum(one["selected"] for one in whole["candidates"]) == 1
        assert all((one["rule"] is None) == one["selected"] for one in whole["candidates"])
        assert whole["leg_ends"]["dense"]["rank"] == len(whole["candidates"])
        shorter = await called(client, "explain_retrieval", run_id=run_id, limit=1)
        assert shorter["left_out"] == len(whole["candidates"]) - 1

        async def outcome(**asked: str) -> dict[str, Any]:
            explained = await called(client, "explain_retrieval", run_id=run_id, **asked)
            return dict(explained["outcome"])

        assert (await outcome(resource="on-call.md"))["step"] == "returned"
        assert (await outcome(unit_key=fragment["unit_key"]))["step"] == "returned"
        lost = await outcome(resource="guides/holiday.md")
        assert (lost["step"], lost["rule"]) == ("excluded", lost["rule"])
        assert lost["rule"] in {"fragment_limit", "below_relevance"}
        for path in ("blank.md", "logo.bin"):
            assert (await outcome(resource=path))["step"] == "not_indexed"
        near = await outcome(resource="holiday")
        assert (near["step"], near["similar"]) == ("not_in_memory", ["guides/holiday.md"])
        assert (await outcome(resource="payroll.md"))["step"] == "not_in_memory"
        unknown = await outcome(unit_key=f"{fragment['resource_id']}#nowhere/0/0")
        assert (unknown["step"], unknown["similar"]) == ("not_recalled", [fragment["unit_key"]])
        [candidate] = (await called(client, "explain_retrieval", run_id=run_id, resource="on-call.md"))["candidates"]
        assert candidate["recalled_by"] == ["bm25", "dense"]
        assert candidate["missed_by"] == ["exact"]
        assert "ZX-118" in candidate["excerpt"]

    desk.talk(session, "--project", "desk")


def test_runs_are_listed_page_by_page_and_filtered(desk: Desk) -> None:
    async def session(client: Client) -> None:
        asked = [await called(client, "activate_memory", query=f"who is on call? {n}") for n in range(3)]
        for answer in asked:
            await called(client, "explain_retrieval", run_id=answer["run_id"])  # returns once history has the Run
        first = await called(client, "list_retrieval_runs", query_text="WHO IS on call", limit=2)
        rest = await called(
            client, "list_retrieval_runs", query_text="WHO IS on call", limit=2, page_token=first["next_page_token"]
        )
        listed = [run["run_id"] for run in (*first["runs"], *rest["runs"])]
        assert listed == [answer["run_id"] for answer in reversed(asked)]
        assert rest["next_page_token"] is None
        assert (await called(client, "list_retrieval_runs", state="failed", query_text="who is on call"))["runs"] == []

    desk.talk(session)


def test_the_memory_is_listed_and_read_where_its_text_can_be_had(desk: Desk) -> None:
    async def session(client: Client) -> None:
        listed = {one.name: one for one in (await client.list_resources()).resources}
        assert set(listed) == set(PAGES)
        assert "not ranked: blank" in str(listed["blank.md"].description)
        [template] = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "ranktrail://memory/{project}/{resource_id}"
        page = listed["guides/holiday.md"]
        assert str(page.uri) == "ranktrail://memory/desk/guides%2Fholiday.md"

        await asyncio.to_thread((desk.pages / "blank.md").write_text, "\n\n\n")
        await asyncio.to_thread(desk.sync)
        with pytest.raises(MCPError, match="Call activate_memory for this project, then read it again"):
            await client.read_resource(str(page.uri))
        await called(client, "activate_memory", query=QUERY, project="desk")
        [content] = (await client.read_resource(str(page.uri))).contents
        assert (content.text, content.mime_type) == (PAGES["guides/holiday.md"], "text/markdown")

        for uri, said in {
            "ranktrail://memory/desk/none.md": "RESOURCE_NOT_FOUND",
            "ranktrail://memory/nobody/none.md": "Known projects: desk",
            "ranktrail://memory/desk": "names no resource",
            "file:///etc/passwd": "names no resource",
        }.items():
            with pytest.raises(MCPError, match=said):
                await client.read_resource(uri)
        with pytest.raises(MCPError, match="cursor"):
            await client.list_resources(cursor="x")

    desk.talk(session)


def test_resources_of_every_project_are_listed_over_many_pages(desk: Desk, tmp_path: Path) -> None:
    other = Desk(desk.stack, tmp_path)
    for number in range(105):
        (tmp_path / f"{number}.md").write_text(f"# Page {number}\n\nText {number}.\n")
    other.sync("pages")

    async def session(client: Client) -> None:
        cursor, names = None, []
        while True:
            page = await client.list_resources(cursor=cursor)
            names += [str(one.uri) for one in page.resources]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert len(names) == len(set(names)) == len(PAGES) + 105
        assert "Known projects: desk, pages" in await refusal(client, "activate_memory", query=QUERY)

    desk.talk(session)
    command = [sys.executable, "-m", "ranktrail_cli", "mcp", "--data-dir", str(desk.stack.data_dir)]
    assert subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0
    desk.stack.ranker_stub.DeleteProject(_deletion("pages"))


def _deletion(project: str) -> Any:
    from ranktrail.ranker.v1.ranker_service_pb2 import DeleteProjectRequest  # noqa: PLC0415

    return DeleteProjectRequest(project_id=project)


def test_what_is_wrong_comes_with_its_reason_and_the_next_step(desk: Desk) -> None:
    async def session(client: Client) -> None:
        said = await refusal(client, "activate_memory", query=QUERY, project="nobody")
        assert "PROJECT_NOT_FOUND" in said
        assert "Known projects: desk." in said
        assert "run_id: " in said
        blank = await refusal(client, "activate_memory", query=" ")
        assert "FIELD_INVALID" in blank
        assert "query" in blank
        assert "list_retrieval_runs" in await refusal(client, "explain_retrieval", run_id="nothing")
        assert "max_fragments" in await refusal(client, "activate_memory", query=QUERY, max_fragments=0)
        assert "PAGE_TOKEN_INVALID" in await refusal(client, "list_retrieval_runs", page_token="x")  # noqa: S106

    desk.talk(session)


def test_without_services_the_server_starts_and_says_how_to_start_them(tmp_path: Path) -> None:
    async def session(client: Client) -> None:
        assert len((await client.list_tools()).tools) == 3
        assert "ranktrail up" in await refusal(client, "activate_memory", query=QUERY, project="p")
        assert (await client.list_resources()).resources == []

    Desk(Stack(tmp_path), tmp_path).talk(session)


def test_an_interrupt_ends_the_server_while_an_agent_still_holds_its_input(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ranktrail_cli", "mcp", "--data-dir", str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 1
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == -signal.SIGINT
        assert process.stderr is not None
        assert process.stderr.read() == b""


@asynccontextmanager
async def http_server(data_dir: Path) -> AsyncIterator[tuple[str, str]]:
    """A server over HTTP: its address and token."""
    command = ["-m", "ranktrail_cli", "mcp", "--http", "--port", "0", "--json", "--data-dir", str(data_dir)]
    process = await asyncio.create_subprocess_exec(sys.executable, *command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    try:
        said = json.loads(await asyncio.wait_for(process.stdout.readline(), 60))
        yield said["address"], said["token"]
    finally:
        process.terminate()
        await process.wait()


@asynccontextmanager
async def http_client(address: str, token: str, mode: str) -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(address, http_client=http), mode=mode) as client,
    ):
        yield client


def test_over_http_each_session_or_named_conversation_has_its_own_state(desk: Desk) -> None:
    async def run() -> None:
        async with http_server(desk.stack.data_dir) as (address, token):
            for _ in range(2):  # a session of its own each time
                async with http_client(address, token, "legacy") as client:
                    first = await called(client, "activate_memory", query=QUERY)
                    second = await called(client, "activate_memory", query=QUERY)
                    assert set(actions(first).values()) == {"add"}
                    assert set(actions(second).values()) == {"reuse"}
            async with http_client(address, token, "auto") as client:
                for _ in range(2):  # no session, no name: nothing is kept
                    answer = await called(client, "activate_memory", query=QUERY)
                    assert set(actions(answer).values()) == {"add"}
                    assert "name the conversation" in answer["note"]
                await called(client, "activate_memory", query=QUERY, conversation="mine")
                named = await called(client, "activate_memory", query=QUERY, conversation="mine")
                assert set(actions(named).values()) == {"reuse"}

    asyncio.run(asyncio.wait_for(run(), 120))


def test_over_http_only_loopback_s_own_names_and_pages_are_answered_and_only_with_the_token(desk: Desk) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    accepts = {"accept": "application/json, text/event-stream"}

    async def run() -> None:
        async with http_server(desk.stack.data_dir) as (address, token), httpx2.AsyncClient() as http:
            authorized = {**accepts, "authorization": f"Bearer {token}"}
            strange: list[tuple[dict[str, str], int]] = [
                (accepts, 401),
                ({**accepts, "authorization": "Bearer x"}, 401),
                ({**authorized, "host": "evil.example"}, 421),
                ({**authorized, "origin": "https://evil.example"}, 403),
                ({**authorized, "origin": "null"}, 403),
            ]
            for version in ("2025-06-18", "2026-07-28"):
                for headers, status in strange:
                    answer = await http.post(
                        address, json=request, headers={**headers, "mcp-protocol-version": version}
                    )
                    assert answer.status_code == status, (headers, answer.text)

    asyncio.run(asyncio.wait_for(run(), 60))


def test_a_port_that_is_taken_is_refused_in_one_sentence(tmp_path: Path) -> None:
    async def run() -> None:
        async with http_server(tmp_path) as (address, _):
            port = address.rpartition(":")[2].partition("/")[0]
            command = ["-m", "ranktrail_cli", "mcp", "--http", "--port", port, "--data-dir", str(tmp_path)]
            process = await asyncio.create_subprocess_exec(sys.executable, *command, stderr=asyncio.subprocess.PIPE)
            _, said = await process.communicate()
            assert process.returncode == 5
            assert said.decode().startswith(f"ranktrail: --port {port} cannot be had")

    with contextlib.suppress(ProcessLookupError):
        asyncio.run(asyncio.wait_for(run(), 60))
