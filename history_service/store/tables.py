"""The tables, as peewee's query builder sees them; the migrations say what their columns mean."""

from collections.abc import Sequence
from typing import Any

from peewee import SQL, Table

RUN_COLUMNS = (
    "sequence",
    "change_sequence",
    "state",
    "trace_digest",
    # RunStart
    "run_id",
    "project_id",
    "query",
    "purpose",
    "activation_state_fingerprint",
    "ranker_instance_id",
    "create_time_us",
    # Revisions
    "effective_memory_hash",
    "index_revision",
    "parser_revision",
    "chunker_revision",
    "lexical_revision",
    "model_revision",
    "vector_index_revision",
    "reranker_revision",
    "profile_name",
    "profile_digest",
    "resource_count",
    "unit_count",
    # RunEnd
    "complete_time_us",
    "stage_latencies",
    "cold",
    "failure_stage",
    "failure_code",
    "failure_summary",
    "query_token_count",
    "query_tokens_encoded",
    "returned_fragment_count",
    "returned_token_count",
    "candidate_count",
    "candidates_digest",
)
RESOURCE_COLUMNS = (
    "resource_id",
    "layer",
    "kind",
    "path",
    "title",
    "media_type",
    "digest",
    "size_bytes",
    "parse_state",
)
CASE_COLUMNS = (
    "case_id",
    "project_id",
    "query",
    "corpus_hash",
    "category",
    "notes",
    "judgment_version",
    "judgment_count",
    "human_judged",
    "create_time_us",
    "judge_time_us",
    "judgment_author",
)
JUDGMENT_COLUMNS = ("resource_id", "unit_key", "relevance", "missed", "notes", "source")


def written_out(source: Any, columns: Sequence[Any]) -> SQL:
    """Return columns as a query over `source` writes them, for queries whose columns take longer to write than to read.

    They fit any query that begins with the same tables.
    """
    statement, _ = source.select(*columns).sql()
    return SQL(statement.removeprefix("SELECT ").partition(" FROM ")[0])


META: Any = Table("daemon_meta", ("key", "value"))
RUNS: Any = Table("retrieval_runs", (*RUN_COLUMNS, "query_folded"))
RUN_RESOURCES: Any = Table("retrieval_run_resources", ("effective_memory_hash", "position", *RESOURCE_COLUMNS))
BLOBS: Any = Table("retrieval_corpus_blobs", ("digest", "size_bytes", "create_time_us"))
CORPORA: Any = Table("evaluation_corpora", ("corpus_hash", "project_id", "resource_count", "create_time_us"))
CASES: Any = Table("evaluation_cases", ("sequence", "run_sequence", *CASE_COLUMNS))
CORPUS_RESOURCES: Any = Table("evaluation_corpus_resources", ("corpus_hash", "position", *RESOURCE_COLUMNS))
_VERSION_COLUMNS = ("author", "judge_time_us", "request_id", "request_digest")
JUDGMENTS: Any = Table(
    "evaluation_judgments",
    ("case_sequence", "judgment_version", "position", *_VERSION_COLUMNS, *JUDGMENT_COLUMNS),
)
