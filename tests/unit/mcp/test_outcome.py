"""What an agent is told of a candidate and of a resource, for every way to be lost."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ranktrail.trace.v1.trace_pb2 import Candidate, ExclusionReason, ParseState, Resource
from ranktrail_client.message_json import enum_number, enum_words
from ranktrail_client.trace_words import EXCLUSIONS, UNPARSED
from ranktrail_mcp.known_units import MAX_CONVERSATIONS, KnownUnits, conversation_of
from ranktrail_mcp.outcome import (
    candidate_outcome,
    found_outcome,
    leg_ends,
    rule_of,
    unfound_outcome,
)

RULE_WORDS = enum_words(ExclusionReason.DESCRIPTOR)


def a_candidate(rule: str | None = None, **fields: Any) -> Candidate:
    number = 0 if rule is None else enum_number(ExclusionReason.DESCRIPTOR, rule)
    stated = {"unit_key": "a.md#a/0/0", "resource_id": "a.md", "path": "a.md", **fields}
    return Candidate(selected=rule is None, exclusion_reason=ExclusionReason.ValueType(number), **stated)


@pytest.mark.parametrize("rule", RULE_WORDS)
def test_a_resource_is_lost_where_its_best_candidate_was(rule: str) -> None:
    outcome = found_outcome("a.md", [a_candidate(rule, final_rank=3, relevance=0.125), a_candidate("overlap")])
    assert outcome.step == (rule if rule in {"not_reranked", "run_failed"} else "excluded")
    assert outcome.rule == rule
    assert EXCLUSIONS[rule] in outcome.sentence
    assert ("0.125" in outcome.sentence) == (rule == "below_relevance")


def test_a_resource_with_one_selected_candidate_was_returned() -> None:
    outcome = found_outcome("a.md", [a_candidate("overlap"), a_candidate(final_rank=2)])
    assert (outcome.step, outcome.rule) == ("returned", None)
    assert "1 of its 2 candidates" in outcome.sentence


def test_a_rule_newer_than_this_server_keeps_its_number() -> None:
    assert rule_of(Candidate(exclusion_reason=cast("ExclusionReason.ValueType", 99))) == "99"


def test_absent_stays_absent_and_zero_stays_zero() -> None:
    told = candidate_outcome(a_candidate("overlap", bm25_rank=1, bm25_score=0.0, excerpt="text"), excerpt=False)
    assert (told.bm25_rank, told.bm25_score, told.dense_rank, told.relevance) == (1, 0.0, None, None)
    assert (told.recalled_by, told.missed_by, told.excerpt) == (["bm25"], ["exact", "dense"], "")


def test_a_leg_ends_at_its_last_rank_and_one_without_hits_is_left_out() -> None:
    ends = leg_ends([a_candidate(bm25_rank=2, bm25_score=-0.5), a_candidate(bm25_rank=1, bm25_score=3.0)])
    assert {leg: (end.rank, end.score) for leg, end in ends.items()} == {"bm25": (2, -0.5)}
    lost = unfound_outcome("b.md", Resource(parse_state=enum_number(ParseState.DESCRIPTOR, "parsed")), ends)
    assert lost.step == "not_recalled"
    assert "bm25 ended at rank 2, score -0.500" in lost.sentence


@pytest.mark.parametrize("state", [word for word in UNPARSED if word is not None])
def test_what_was_not_parsed_was_not_indexed(state: str) -> None:
    resource = Resource(parse_state=enum_number(ParseState.DESCRIPTOR, state))
    assert unfound_outcome("b.md", resource, {}).step == "not_indexed"


def test_only_so_many_conversations_are_kept_and_the_longest_silent_goes_first() -> None:
    async def fill() -> list[bytes | None]:
        known = KnownUnits()
        for number in range(MAX_CONVERSATIONS + 1):
            async with known.of(("s", str(number))) as one:
                one.state = b"state"
            async with known.of(("s", "0")) as first:
                first.state = b"kept"
        states = []
        for name in ("0", "1", str(MAX_CONVERSATIONS)):
            async with known.of(("s", name)) as one:
                states.append(one.state)
        return states

    assert asyncio.run(fill()) == [b"kept", None, b"state"]


@pytest.mark.parametrize(
    ("headers", "name", "conversation"),
    [
        (None, None, ("process", "")),
        (None, "a", ("process", "a")),
        ({"mcp-session-id": "s"}, None, ("s", "")),
        ({}, "a", ("", "a")),
        ({}, None, None),
    ],
)
def test_a_conversation_is_its_session_and_its_name(
    headers: dict[str, str] | None, name: str | None, conversation: tuple[str, ...] | None
) -> None:
    assert conversation_of(cast("Any", SimpleNamespace(headers=headers)), name) == conversation
