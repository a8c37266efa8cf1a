"""The demo's sample memory, and its checks of what it shows."""

from pathlib import Path

import pytest

from ranktrail.history.v1 import history_service_pb2 as history_pb2
from ranktrail.ranker.v1 import ranker_service_pb2 as ranker_pb2
from ranktrail.trace.v1 import trace_pb2
from ranktrail_cli.demonstration import Demonstration, check_agreement
from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.folder import list_folder
from ranktrail_cli.handbook_queries import Handbook
from ranktrail_cli.output import Output
from ranktrail_client.client import Client


@pytest.fixture
def handbook(tmp_path: Path) -> Handbook:
    return Handbook.copy_to(tmp_path / "handbook")


def test_the_sample_memory_ships_with_two_layers_that_overlap_and_five_queries_that_say_why(handbook: Handbook) -> None:
    layers = [set(list_folder(layer).paths) for layer in (handbook.organization, handbook.project)]
    assert all(layers)
    assert layers[0] & layers[1]
    assert not list_folder(handbook.organization).skips
    assert len(handbook.queries) == 5
    assert all(query.text and query.why for query in handbook.queries)


def test_the_edit_changes_one_page_of_the_copy_once(handbook: Handbook) -> None:
    page = handbook.project / handbook.edit.path
    before = page.read_text("utf-8")
    handbook.edit.apply(handbook.project)
    assert page.read_text("utf-8") == before.replace(handbook.edit.find, handbook.edit.replace) != before
    with pytest.raises(ValueError, match="exactly once"):
        handbook.edit.apply(handbook.project)


def test_a_long_table_ends_with_how_many_more_there_are_and_how_to_see_them(
    handbook: Handbook, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Client.connect(tmp_path) as client:
        shown = Demonstration(client, handbook, Output(as_json=False))
        shown._table(recorded(*(f"unit-{number:02}" for number in range(14))))
        lines = capsys.readouterr().out.splitlines()
        assert [line for line in lines if "unit-" in line][-1].endswith("unit-11")
        assert lines[-1] == "… 3 more: ranktrail runs show R"
        shown._table(recorded("a"))
        assert "more" not in capsys.readouterr().out


def reply(*unit_keys: str) -> ranker_pb2.ActivateMemoryResponse:
    action = trace_pb2.DELTA_ACTION_ADD
    fragments = [ranker_pb2.Fragment(unit_key=key, unit_digest="d", action=action) for key in unit_keys]
    return ranker_pb2.ActivateMemoryResponse(run_id="R", fragments=fragments)


def recorded(*unit_keys: str, state: str = "SUCCEEDED") -> history_pb2.GetRetrievalRunResponse:
    action = trace_pb2.DELTA_ACTION_ADD
    candidates = [
        trace_pb2.Candidate(unit_key=key, unit_digest="d", selected=True, delta_action=action) for key in unit_keys
    ]
    run = history_pb2.RetrievalRun(run_id="R", state=history_pb2.RetrievalRun.State.Value(f"STATE_{state}"))
    return history_pb2.GetRetrievalRunResponse(run=run, candidates=[*candidates, trace_pb2.Candidate(unit_key="other")])


def test_a_run_that_selected_what_the_reply_returned_agrees() -> None:
    check_agreement(reply("a", "b"), recorded("a", "b"))


@pytest.mark.parametrize(
    ("returned", "found"),
    [
        (reply("a", "b"), recorded("b", "a")),
        (reply("a"), recorded("a", "b")),
        (reply(), recorded()),
        (reply("a"), recorded("a", state="FAILED")),
        (reply("a"), recorded("a", state="RUNNING")),
    ],
)
def test_anything_else_ends_the_demo(
    returned: ranker_pb2.ActivateMemoryResponse, found: history_pb2.GetRetrievalRunResponse
) -> None:
    with pytest.raises(CommandFailed, match="Run R") as caught:
        check_agreement(returned, found)
    assert caught.value.exit_code is Exit.INCOMPLETE
