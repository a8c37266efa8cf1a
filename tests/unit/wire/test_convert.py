"""Conversions to the contract lose and invent nothing, and the maps of closed sets are total."""

from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from typing import Any, TypeVar

import pytest
from google.protobuf.descriptor import EnumDescriptor
from hypothesis import given
from hypothesis import strategies as st

from ranker_service.domain.candidate import EXCERPT_CHARACTERS, Candidate, DeltaAction, ExclusionReason
from ranker_service.domain.resource import Layer, ParseState
from ranker_service.domain.trace import Failure, Revisions, RunState, Stage, StageLatency
from ranker_service.wire import convert, enums
from ranktrail.history.v1 import history_service_pb2
from ranktrail.trace.v1 import trace_pb2
from tests.builders import a_candidate, a_resource, a_unit

Message = TypeVar("Message", trace_pb2.Candidate, trace_pb2.Revisions)

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_RANKS = st.none() | st.integers(1, 500)
_SCORES = st.none() | st.floats(allow_nan=False, allow_infinity=False)
_UNITS = st.builds(
    lambda resource_id, layer, title, headings, text: a_unit(
        resource=a_resource(resource_id, layer=layer, title=title), heading_path=tuple(headings), text=text
    ),
    _TEXTS,
    st.sampled_from(Layer),
    _TEXTS,
    st.lists(_TEXTS, max_size=3),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=1_500),
)
_CANDIDATES = st.builds(
    Candidate,
    unit=_UNITS,
    exact_rank=_RANKS,
    exact_priority=st.none() | st.integers(0, 2),
    bm25_rank=_RANKS,
    bm25_score=_SCORES,
    lexical_rank=_RANKS,
    dense_rank=_RANKS,
    dense_score=_SCORES,
    rrf_rank=_RANKS,
    rrf_score=_SCORES,
    reranker_rank=_RANKS,
    reranker_score=_SCORES,
    late_interaction_score=_SCORES,
    reranker_truncated=st.none() | st.booleans(),
    relevance=st.none() | st.floats(0, 1),
    final_rank=_RANKS,
    final_stage=st.none() | st.sampled_from(["rerank", "rrf"]),
    selected=st.booleans(),
    exclusion_reason=st.none() | st.sampled_from(ExclusionReason),
    delta_action=st.none() | st.sampled_from(DeltaAction),
)


def _received(message: Message) -> Message:
    return type(message).FromString(message.SerializeToString())


def _present(message: Any, field: str) -> Any:
    return getattr(message, field) if message.HasField(field) else None


def _word(descriptor: EnumDescriptor, prefix: str, number: int) -> str | None:
    word = descriptor.values_by_number[number].name.removeprefix(prefix).lower()
    return None if word == "unspecified" else word


@given(_CANDIDATES)
def test_a_candidate_arrives_field_by_field_and_absent_stays_absent(candidate: Candidate) -> None:
    message = _received(convert.candidate_to_proto(candidate))
    unit, resource = candidate.unit, candidate.unit.resource
    optional = [name for name in Candidate._fields[1:] if name not in ("selected", "exclusion_reason", "delta_action")]
    assert {name: _present(message, name) for name in optional} == {name: getattr(candidate, name) for name in optional}
    assert (message.unit_key, message.start_byte, message.end_byte) == (unit.unit_key, unit.start_byte, unit.end_byte)
    assert (message.unit_digest, message.token_count) == (unit.digest, unit.token_count)
    assert tuple(message.heading_path) == unit.heading_path
    assert message.excerpt == unit.text[:EXCERPT_CHARACTERS]
    assert (message.resource_id, message.kind, message.path) == (resource.resource_id, resource.kind, resource.path)
    assert (message.title, message.resource_digest) == (resource.title, resource.digest)
    assert message.selected == candidate.selected
    assert _word(trace_pb2.Layer.DESCRIPTOR, "LAYER_", message.layer) == resource.layer.value
    reason = _word(trace_pb2.ExclusionReason.DESCRIPTOR, "EXCLUSION_REASON_", message.exclusion_reason)
    assert reason == (candidate.exclusion_reason and candidate.exclusion_reason.value)
    action = _word(trace_pb2.DeltaAction.DESCRIPTOR, "DELTA_ACTION_", message.delta_action)
    assert action == (candidate.delta_action and candidate.delta_action.value)


def test_every_field_of_the_contract_is_set_from_a_candidate_that_every_stage_saw() -> None:
    unit = a_unit(resource=a_resource(title="Guide"), heading_path=("Top",), span=(1, 5))
    seen: dict[str, Any] = {name: 1 for name in Candidate._fields if name not in ("unit", "selected")}
    seen |= {"final_stage": "rerank", "reranker_truncated": True, "selected": True}
    seen |= {"exclusion_reason": ExclusionReason.OVERLAP, "delta_action": DeltaAction.ADD}
    message = convert.candidate_to_proto(a_candidate(unit, **seen))
    assert [f.name for f, _ in message.ListFields()] == [f.name for f in message.DESCRIPTOR.fields]


def test_a_zero_rank_score_or_flag_is_present() -> None:
    message = convert.candidate_to_proto(a_candidate(exact_priority=0, bm25_score=0.0, reranker_truncated=False))
    assert message.HasField("exact_priority")
    assert message.HasField("bm25_score")
    assert message.HasField("reranker_truncated")


@pytest.mark.parametrize("count", [0, 1, 255, 256, 257, 512, 600])
def test_frames_hold_at_most_256_candidates_and_together_all_of_them_in_order(count: int) -> None:
    candidates = [a_candidate(final_rank=rank) for rank in range(1, count + 1)]
    frames = list(convert.candidate_frames(candidates))
    assert [message.final_rank for frame in frames for message in frame] == list(range(1, count + 1))
    assert all(1 <= len(frame) <= 256 for frame in frames)


@given(st.builds(Revisions, *[_TEXTS] * 10, st.integers(0, 200_000), st.integers(0, 10_000_000)))
def test_revisions_arrive_field_by_field(revisions: Revisions) -> None:
    message = _received(convert.revisions_to_proto(revisions))
    profile = message.ranking_profile
    assert (profile.name, profile.digest) == (revisions.profile_name, revisions.profile_digest)
    others = [f.name for f in fields(Revisions) if not f.name.startswith("profile_")]
    assert {name: getattr(message, name) for name in others} == {name: getattr(revisions, name) for name in others}
    assert {f.name for f in message.DESCRIPTOR.fields} == {*others, "ranking_profile"}


@pytest.mark.parametrize("stage", Stage)
def test_latencies_and_failures_name_their_stage_by_its_word(stage: Stage) -> None:
    latency = convert.latency_to_proto(StageLatency(stage, 12))
    assert (latency.stage, latency.duration_us) == (stage.value, 12)
    failure = convert.failure_to_proto(Failure(stage, "code", "東" * 1_500))
    assert (failure.stage, failure.code, failure.summary) == (stage.value, "code", "東" * 341)


@pytest.mark.parametrize("parse_state", ParseState)
def test_a_resource_arrives_field_by_field(parse_state: ParseState) -> None:
    resource = a_resource(title="Guide", layer=Layer.DRAFT, parse_state=parse_state)
    message = convert.resource_to_proto(resource)
    same = ["resource_id", "kind", "path", "title", "media_type", "digest", "size_bytes"]
    assert {name: getattr(message, name) for name in same} == {name: getattr(resource, name) for name in same}
    assert _word(trace_pb2.Layer.DESCRIPTOR, "LAYER_", message.layer) == "draft"
    assert _word(trace_pb2.ParseState.DESCRIPTOR, "PARSE_STATE_", message.parse_state) == parse_state.value


@pytest.mark.parametrize(
    ("numbers", "words", "descriptor", "prefix"),
    [
        (enums.LAYERS, Layer, trace_pb2.Layer.DESCRIPTOR, "LAYER_"),
        (enums.PARSE_STATES, ParseState, trace_pb2.ParseState.DESCRIPTOR, "PARSE_STATE_"),
        (enums.EXCLUSION_REASONS, ExclusionReason, trace_pb2.ExclusionReason.DESCRIPTOR, "EXCLUSION_REASON_"),
        (enums.DELTA_ACTIONS, DeltaAction, trace_pb2.DeltaAction.DESCRIPTOR, "DELTA_ACTION_"),
        (enums.RUN_STATES, RunState, history_service_pb2.RetrievalRun.State.DESCRIPTOR, "STATE_"),
    ],
)
def test_each_closed_set_maps_word_by_word_onto_all_of_the_contracts(
    numbers: Mapping[Enum | None, int], words: type[Enum], descriptor: EnumDescriptor, prefix: str
) -> None:
    expected = {word: descriptor.values_by_name[prefix + word.value.upper()].number for word in words}
    assert {word: number for word, number in numbers.items() if word is not None} == expected
    assert {value.number for value in descriptor.values} == {*expected.values(), 0}
    assert numbers.get(None, 0) == 0
