"""Candidates: from their messages to rows as the database takes them, and back."""

import hashlib
from collections.abc import Sequence
from functools import partial
from typing import Any

import orjson

from history_service.domain import limits
from history_service.domain.errors import FieldInvalid
from history_service.domain.run import Candidate
from history_service.rpc import column_rules as rules
from history_service.rpc.words import (
    DELTA_ACTION_NUMBERS,
    DELTA_ACTIONS,
    EXCLUSION_REASON_NUMBERS,
    EXCLUSION_REASONS,
    LAYER_NUMBERS,
    LAYERS,
)
from ranktrail.history.v1 import history_service_pb2
from ranktrail.trace.v1 import trace_pb2

_RULES: dict[str, rules.ColumnRule] = {
    "unit_key": rules.text_rule(limits.MAX_UNIT_KEY_BYTES),
    "resource_id": rules.text_rule(limits.MAX_RESOURCE_ID_BYTES),
    "layer": rules.WORD_RULE,
    "kind": rules.text_rule(limits.MAX_KIND_BYTES),
    "path": rules.text_rule(limits.MAX_PATH_BYTES),
    "title": rules.text_rule(limits.MAX_TITLE_BYTES, required=False),
    "heading_path": rules.text_rule(limits.MAX_HEADING_PATH_BYTES),
    "start_byte": rules.COUNT_RULE,
    "end_byte": rules.COUNT_RULE,
    "unit_digest": rules.DIGEST_RULE,
    "resource_digest": rules.DIGEST_RULE,
    "token_count": rules.COUNT_RULE,
    "excerpt": rules.character_rule(limits.MAX_EXCERPT_CHARACTERS),
    "exact_rank": rules.RANK_RULE,
    "exact_priority": rules.PRIORITY_RULE,
    "bm25_rank": rules.RANK_RULE,
    "bm25_score": rules.FINITE_RULE,
    "lexical_rank": rules.RANK_RULE,
    "dense_rank": rules.RANK_RULE,
    "dense_score": rules.FINITE_RULE,
    "rrf_rank": rules.RANK_RULE,
    "rrf_score": rules.FINITE_RULE,
    "reranker_rank": rules.RANK_RULE,
    "reranker_score": rules.FINITE_RULE,
    "late_interaction_score": rules.FINITE_RULE,
    "relevance": rules.FINITE_RULE,
    "final_rank": rules.RANK_RULE,
    "exclusion_reason": rules.WORD_RULE,
    "delta_action": rules.WORD_RULE,
}
_made = partial(tuple.__new__, Candidate)
"""`Candidate._make` without a step of Python."""


def candidate_rows(frame: history_service_pb2.CandidateFrame) -> list[Candidate]:
    """Return the rows of a frame; raise FieldInvalid, which names the candidate and the field, when one is wrong."""
    if len(frame.candidates) > limits.MAX_FRAME_CANDIDATES:
        limit = limits.MAX_FRAME_CANDIDATES
        raise FieldInvalid("candidates.candidates", f"are more than {limit} in a frame", limit)
    rows = [_row(candidate) for candidate in frame.candidates]
    if rows:
        _check(rows)
    return rows


def candidates_digest(candidates: Sequence[Candidate]) -> str:
    """Return the digest of candidates as RunFinished has it, however they were framed."""
    frame = history_service_pb2.CandidateFrame(candidates=map(candidate_message, candidates))
    return hashlib.sha256(frame.SerializeToString(deterministic=True)).hexdigest()


def candidate_message(row: Candidate) -> trace_pb2.Candidate:
    """Return a row as a message; what is None stays absent."""
    fields: dict[str, Any] = row._asdict()
    truncated = row.reranker_truncated
    return trace_pb2.Candidate(
        **fields
        | {
            "layer": LAYER_NUMBERS[row.layer],
            "heading_path": orjson.loads(row.heading_path),
            "reranker_truncated": None if truncated is None else bool(truncated),
            "selected": bool(row.selected),
            "exclusion_reason": EXCLUSION_REASON_NUMBERS[row.exclusion_reason],
            "delta_action": DELTA_ACTION_NUMBERS[row.delta_action],
        }
    )


def _row(c: trace_pb2.Candidate) -> Candidate:
    # Written out, since this runs hundreds of times a Run and a loop over names takes twice as long. What is not zero
    # is there, which spares most questions.
    has = c.HasField
    return _made(
        (
            c.unit_key,
            c.resource_id,
            LAYERS.get(c.layer, ""),
            c.kind,
            c.path,
            c.title,
            orjson.dumps(c.heading_path[:]).decode("utf-8"),
            c.start_byte,
            c.end_byte,
            c.unit_digest,
            c.resource_digest,
            c.token_count,
            c.excerpt,
            c.exact_rank or (c.exact_rank if has("exact_rank") else None),
            c.exact_priority or (c.exact_priority if has("exact_priority") else None),
            c.bm25_rank or (c.bm25_rank if has("bm25_rank") else None),
            c.bm25_score or (c.bm25_score if has("bm25_score") else None),
            c.lexical_rank or (c.lexical_rank if has("lexical_rank") else None),
            c.dense_rank or (c.dense_rank if has("dense_rank") else None),
            c.dense_score or (c.dense_score if has("dense_score") else None),
            c.rrf_rank or (c.rrf_rank if has("rrf_rank") else None),
            c.rrf_score or (c.rrf_score if has("rrf_score") else None),
            c.reranker_rank or (c.reranker_rank if has("reranker_rank") else None),
            c.reranker_score or (c.reranker_score if has("reranker_score") else None),
            c.late_interaction_score or (c.late_interaction_score if has("late_interaction_score") else None),
            int(c.reranker_truncated) if has("reranker_truncated") else None,
            c.relevance or (c.relevance if has("relevance") else None),
            c.final_rank or (c.final_rank if has("final_rank") else None),
            c.final_stage or (c.final_stage if has("final_stage") else None),
            int(c.selected),
            EXCLUSION_REASONS.get(c.exclusion_reason, ""),
            DELTA_ACTIONS.get(c.delta_action, ""),
        )
    )


def _check(rows: Sequence[Candidate]) -> None:
    for name, column in zip(Candidate._fields, zip(*rows, strict=True), strict=True):
        rule = _RULES.get(name)
        position = rules.first_wrong(rule, column) if rule is not None else None
        if rule is not None and position is not None:
            raise _wrong(position, name, rule.problem, rule.limit)
    for position, row in enumerate(rows):
        if row.end_byte < row.start_byte:
            raise _wrong(position, "end_byte", "is smaller than start_byte")
        if (row.exclusion_reason is None) != bool(row.selected):
            raise _wrong(position, "exclusion_reason", "must be unspecified exactly when selected")
        if (row.delta_action is not None) != bool(row.selected):
            raise _wrong(position, "delta_action", "must be unspecified exactly when not selected")


def _wrong(position: int, name: str, problem: str, limit: int | None = None) -> FieldInvalid:
    return FieldInvalid(f"candidates.candidates[{position}].{name}", problem, limit)
