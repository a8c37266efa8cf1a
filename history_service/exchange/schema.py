"""The JSON Schema of a fixture: what an export writes and an import takes.

`docs/fixture.schema.json` is `json.dumps(FIXTURE_SCHEMA, indent=2)`.
"""

from typing import Any

from history_service.domain import limits
from history_service.domain.corpus import LAYERS, PARSE_STATES

Schema = dict[str, Any]
FORMAT_VERSION = 1
MAX_INTEGER = 2**63 - 1
MAX_COUNT = 2**31 - 1


def _text(max_bytes: int, required: bool = False, **more: Any) -> Schema:
    return {"type": "string", "x-max-bytes": max_bytes} | ({"minLength": 1} if required else {}) | more


def _optional(schema: Schema) -> Schema:
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return schema | {"type": [*kinds, "null"]}


def _integer(minimum: int = 0, maximum: int = MAX_INTEGER) -> Schema:
    return {"type": "integer", "minimum": minimum, "maximum": maximum}


def _array(items: Schema, description: str = "", **more: Any) -> Schema:
    return {"type": "array", "items": items} | ({"description": description} if description else {}) | more


def _object(properties: dict[str, Schema], description: str = "") -> Schema:
    known = dict(sorted(properties.items()))
    closed = {"type": "object", "properties": known, "required": list(known), "additionalProperties": False}
    return ({"description": description} if description else {}) | closed


_DIGEST: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_TIME: Schema = {
    "type": "string",
    "format": "date-time",
    "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z$",
}
_BOOLEAN: Schema = {"type": "boolean"}
_NUMBER: Schema = {"type": "number"}
_RANK = _optional(_integer(1, MAX_COUNT))
_SCORE = _optional(_NUMBER)
_CASE_ID: Schema = {"type": "string", "pattern": "^[0-9A-HJKMNP-TV-Z]{26}$"}
_RUN_ID: Schema = {"type": "string", "pattern": f"^[A-Za-z0-9._:-]{{1,{limits.MAX_RUN_ID_CHARACTERS}}}$"}
_PROJECT_ID = _text(limits.MAX_PROJECT_ID_BYTES, required=True)
_QUERY = _text(limits.MAX_QUERY_BYTES, required=True)
_RESOURCE_ID = _text(limits.MAX_RESOURCE_ID_BYTES, required=True)
_UNIT_KEY = _text(limits.MAX_UNIT_KEY_BYTES, required=True)
_KIND = _text(limits.MAX_KIND_BYTES, required=True)
_PATH = _text(limits.MAX_PATH_BYTES, required=True)
_TITLE = _text(limits.MAX_TITLE_BYTES)
_REVISION = _optional(_text(limits.MAX_REVISION_BYTES))
_LAYER: Schema = {"enum": list(LAYERS)}
_COUNT = _integer(0, MAX_COUNT)
_WORD = _text(64, required=True)

BODY = _object(
    {
        "content": {"type": "string"},
        "digest": _DIGEST,
        "encoding": {"enum": ["utf-8", "base64"]},
        "size_bytes": _integer(0, limits.MAX_RESOURCE_BYTES),
    },
    "The bytes of one or more resources: as text where they are UTF-8, else as base64.",
)
CANDIDATE = _object(
    {
        "unit_key": _UNIT_KEY,
        "resource_id": _RESOURCE_ID,
        "layer": _LAYER,
        "kind": _KIND,
        "path": _PATH,
        "title": _TITLE,
        "heading_path": _array({"type": "string"}),
        "start_byte": _integer(),
        "end_byte": _integer(),
        "unit_digest": _DIGEST,
        "resource_digest": _DIGEST,
        "token_count": _COUNT,
        "excerpt": {"type": "string", "maxLength": limits.MAX_EXCERPT_CHARACTERS},
        "exact_rank": _RANK,
        "exact_priority": _optional(_integer(0, 2)),
        "bm25_rank": _RANK,
        "bm25_score": _SCORE,
        "lexical_rank": _RANK,
        "dense_rank": _RANK,
        "dense_score": _SCORE,
        "rrf_rank": _RANK,
        "rrf_score": _SCORE,
        "reranker_rank": _RANK,
        "reranker_score": _SCORE,
        "late_interaction_score": _SCORE,
        "reranker_truncated": _optional(_BOOLEAN),
        "relevance": _SCORE,
        "final_rank": _RANK,
        "final_stage": _optional({"type": "string"}),
        "selected": _BOOLEAN,
        "exclusion_reason": {
            "enum": [
                None,
                "not_reranked",
                "fragment_limit",
                "below_relevance",
                "overlap",
                "per_resource_limit",
                "token_budget",
                "run_failed",
            ]
        },
        "delta_action": {"enum": [None, "add", "replace", "reuse"]},
    },
    "As ranktrail.trace.v1.Candidate.",
)
RUN = _object(
    {
        "run_id": _RUN_ID,
        "project_id": _PROJECT_ID,
        "query": _QUERY,
        "purpose": _text(limits.MAX_PURPOSE_BYTES, required=True),
        "state": {"const": "succeeded"},
        "activation_state_fingerprint": _DIGEST,
        "ranker_instance_id": _text(limits.MAX_INSTANCE_ID_BYTES, required=True),
        "create_time": _TIME,
        "complete_time": _TIME,
        "effective_memory_hash": _DIGEST,
        "index_revision": _REVISION,
        "parser_revision": _REVISION,
        "chunker_revision": _REVISION,
        "lexical_revision": _REVISION,
        "model_revision": _REVISION,
        "vector_index_revision": _REVISION,
        "reranker_revision": _REVISION,
        "ranking_profile": _object({"name": _REVISION, "digest": _REVISION}),
        "resource_count": _optional(_integer()),
        "unit_count": _optional(_integer()),
        "stage_latencies": _array(
            _object({"stage": _text(limits.MAX_STAGE_BYTES, required=True), "duration_us": _integer()}),
            maxItems=limits.MAX_STAGE_LATENCIES,
        ),
        "cold": _optional(_BOOLEAN),
        "query_token_count": _optional(_COUNT),
        "query_tokens_encoded": _optional(_COUNT),
        "returned_fragment_count": _optional(_COUNT),
        "returned_token_count": _optional(_COUNT),
        "candidate_count": _COUNT,
        "candidates_digest": _DIGEST,
        "candidates": _array(
            CANDIDATE, "In the order in which they were recorded, the final one.", maxItems=limits.MAX_RUN_CANDIDATES
        ),
    },
    "The Run that the case was pinned from, with its whole trace; as ranktrail.history.v1.RetrievalRun.",
)
_STAGE_LOSS = _object(
    {
        "relevant_count": _integer(),
        "lexical_recalled_count": _integer(),
        "dense_recalled_count": _integer(),
        "fused_count": _integer(),
        "reranked_count": _integer(),
        "returned_count": _integer(),
        "lost_counts": {"type": "object", "additionalProperties": _integer()},
    }
)
_MEASURES = _array(_object({"measure": _WORD, "value": _SCORE, "low": _SCORE, "high": _SCORE}))
_MEANS = _array(
    _object(
        {
            "measure": _WORD,
            "mean": _SCORE,
            "scored": _integer(),
            "total": _integer(),
            "low": _SCORE,
            "high": _SCORE,
        }
    )
)
_PERCENTILE = _optional(_integer())
CASE = _object(
    {
        "case_id": _CASE_ID,
        "run_id": _RUN_ID,
        "project_id": _PROJECT_ID,
        "query": _QUERY,
        "corpus_hash": _DIGEST,
        "resource_count": _integer(0, limits.MAX_MANIFEST_RESOURCES),
        "category": _text(limits.MAX_CATEGORY_BYTES),
        "notes": _text(limits.MAX_NOTES_BYTES),
        "judgment_version": _integer(1),
        "judgment_count": _integer(0, limits.MAX_JUDGMENTS),
        "human_judged": _BOOLEAN,
        "create_time": _TIME,
        "judge_time": _optional(_TIME),
        "judgment_author": _text(limits.MAX_AUTHOR_BYTES),
        "run": RUN,
        "report": _object(
            {
                "variants": _array(_object({"variant": _WORD, "measures": _MEASURES})),
                "stage_loss": _STAGE_LOSS,
            },
            "The case's own measures, on its present judgments.",
        ),
    },
    "As ranktrail.evaluation.v1.EvaluationCase.",
)
CORPUS = _object(
    {
        "corpus_hash": _DIGEST,
        "project_id": _PROJECT_ID,
        "resource_count": _integer(0, limits.MAX_MANIFEST_RESOURCES),
    },
    "A frozen Effective Memory; its hash is that of its resources.",
)
JUDGMENT_VERSION = _object(
    {
        "case_id": _CASE_ID,
        "judgment_version": _integer(1),
        "author": _text(limits.MAX_AUTHOR_BYTES),
        "judge_time": _TIME,
        "judgments": _array(
            _object(
                {
                    "resource_id": _RESOURCE_ID,
                    "unit_key": _optional(_UNIT_KEY),
                    "relevance": _integer(0, limits.MAX_RELEVANCE),
                    "missed": _BOOLEAN,
                    "notes": _text(limits.MAX_NOTES_BYTES),
                    "source": {"enum": ["human", "import", "model"]},
                }
            ),
            "By resource_id and unit_key.",
            maxItems=limits.MAX_JUDGMENTS,
        ),
    },
    "One version of a case's judgments; version 1 is the empty set that a case begins with.",
)
RESOURCE = _object(
    {
        "corpus_hash": _DIGEST,
        "resource_id": _RESOURCE_ID,
        "layer": _LAYER,
        "kind": _KIND,
        "path": _PATH,
        "title": _TITLE,
        "media_type": _text(limits.MAX_MEDIA_TYPE_BYTES, required=True),
        "digest": _DIGEST,
        "size_bytes": _integer(0, limits.MAX_RESOURCE_BYTES),
        "parse_state": {"enum": [None, *PARSE_STATES]},
    },
    "A resource of a corpus; its body is the one of its digest.",
)
REPORT = _object(
    {
        "quality_gate": {"type": "string"},
        "case_count": _integer(),
        "human_judged_case_count": _integer(),
        "variants": _array(
            _object({"variant": _WORD, "measures": _MEANS, "p50_us": _PERCENTILE, "p95_us": _PERCENTILE})
        ),
        "stage_loss": _STAGE_LOSS,
    },
    "The benchmark over all cases; each case has its own part of it. Comparisons are not part of a fixture.",
)
FIXTURE_SCHEMA: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Ranktrail evaluation set",
    "description": "A self-contained evaluation set, as `ranktrail export` writes it. The document is canonical JSON: "
    "UTF-8, sorted keys, no spaces. `x-max-bytes` limits the bytes of a text as UTF-8.",
} | _object(
    {
        "bodies": _array(BODY, "By digest, each once."),
        "cases": _array(CASE, "By case_id."),
        "corpora": _array(CORPUS, "By corpus_hash."),
        "exported_at": _TIME | {"description": "The only member that differs between two exports of one set."},
        "format_version": {"const": FORMAT_VERSION},
        "judgment_versions": _array(JUDGMENT_VERSION, "By case_id and judgment_version, every version of each case."),
        "report": REPORT,
        "resources": _array(RESOURCE, "By corpus_hash and resource_id."),
        "sha256": _DIGEST
        | {
            "description": "SHA-256 of the canonical JSON of the document without exported_at, sha256 and the content "
            "of each body, which the body's own digest covers."
        },
    }
)
