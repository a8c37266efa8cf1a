"""Finding resources of a Run's memory by what names them."""

import grpc
import pytest

from ranktrail.history.v1 import history_service_pb2 as pb
from tests.fakes.history_server import TIMEOUT, RunningHistory, error_of
from tests.history_cases import record

BODIES = dict.fromkeys(("Alpha", "beta-ALPHA", "gamma", "nul\x00alpha", "Straße"), b"body")


def found(history: RunningHistory, **request: object) -> pb.ListRunResourcesResponse:
    message = pb.ListRunResourcesRequest(run_id="run-1", **request)  # type: ignore[arg-type]
    return history.history.ListRunResources(message, timeout=TIMEOUT)


def test_resources_are_found_by_id_path_or_title_without_regard_to_case(history: RunningHistory) -> None:
    record(history, bodies=BODIES, candidates=[])
    for text, wanted in (
        ("alpha", ["Alpha", "beta-ALPHA", "nul\0alpha"]),
        ("STRASSE", ["Straße"]),
        ("gamma.md", ["gamma"]),
        ("%", []),
        ("", sorted(BODIES)),
    ):
        page = found(history, text=text)
        assert [resource.resource_id for resource in page.resources] == wanted
        assert page.resource_count == len(wanted)


def test_found_resources_are_paged_and_a_token_belongs_to_its_text(history: RunningHistory) -> None:
    record(history, bodies=BODIES, candidates=[])
    first = found(history, text="alpha", page_size=2)
    second = found(history, text="alpha", page_size=2, page_token=first.next_page_token)
    ids = [resource.resource_id for page in (first, second) for resource in page.resources]
    assert ids == ["Alpha", "beta-ALPHA", "nul\0alpha"]
    assert (second.next_page_token, second.resource_count) == ("", 3)
    with pytest.raises(grpc.RpcError) as refused:
        found(history, text="beta", page_token=first.next_page_token)
    assert error_of(refused.value)[1] == "PAGE_TOKEN_INVALID"


def test_a_text_past_the_limit_is_refused(history: RunningHistory) -> None:
    record(history, bodies=BODIES, candidates=[])
    with pytest.raises(grpc.RpcError) as refused:
        found(history, text="x" * 1_025)
    assert error_of(refused.value)[2]["field"] == "text"
