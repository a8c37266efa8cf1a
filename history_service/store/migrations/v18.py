"""Schema 18: Runs with their candidates, the corpora they ranked, and Evaluation Cases with their judgments.

Digests and fingerprints are hex text, times are integer UTC microseconds, booleans are 0 and 1, closed sets are their
JSON words. A sequence is given out once and never again, so it orders rows whose times tie.
"""

_RESOURCE_COLUMNS = """
    resource_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    layer TEXT NOT NULL CHECK (layer IN ('organization', 'project', 'draft')),
    kind TEXT NOT NULL,
    path TEXT NOT NULL,
    title TEXT NOT NULL,
    media_type TEXT NOT NULL,
    digest TEXT NOT NULL REFERENCES retrieval_corpus_blobs (digest) ON DELETE RESTRICT,
    size_bytes INTEGER NOT NULL CHECK (size_bytes >= 0),
    parse_state TEXT CHECK (parse_state IN ('parsed', 'not_utf8', 'no_parser', 'blank')),
"""

STATEMENTS = (
    # The bodies below evaluation-corpora/blobs that are whole on disk.
    """
    CREATE TABLE retrieval_corpus_blobs (
        digest TEXT NOT NULL PRIMARY KEY CHECK (length(digest) = 64),
        size_bytes INTEGER NOT NULL CHECK (size_bytes >= 0),
        create_time_us INTEGER NOT NULL
    ) WITHOUT ROWID
    """,
    # The last change_sequence given out; it outlives the Runs that had it.
    "INSERT INTO daemon_meta (key, value) VALUES ('retrieval_change_sequence', '0')",
    # The Effective Memory of Runs, once per hash; position counts from 0 in resource_id order. All rows of a hash come
    # in one transaction, so a hash is here wholly or not at all; an empty memory has no rows and needs none.
    f"""
    CREATE TABLE retrieval_run_resources (
        effective_memory_hash TEXT NOT NULL,
        {_RESOURCE_COLUMNS}
        PRIMARY KEY (effective_memory_hash, resource_id)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX retrieval_run_resources_digest ON retrieval_run_resources (digest)",
    # sequence orders arrivals; change_sequence is new with each change of state. query_folded is the case-folded query
    # as UTF-8 bytes, since SQL's own text functions stop at a NUL and know only ASCII. trace_digest is NULL until a
    # whole trace is recorded: a failed Run without one was interrupted and can be healed.
    """
    CREATE TABLE retrieval_runs (
        sequence INTEGER PRIMARY KEY AUTOINCREMENT,
        change_sequence INTEGER NOT NULL UNIQUE,
        run_id TEXT NOT NULL UNIQUE,
        project_id TEXT NOT NULL,
        query TEXT NOT NULL,
        query_folded BLOB NOT NULL,
        purpose TEXT NOT NULL,
        activation_state_fingerprint TEXT NOT NULL,
        ranker_instance_id TEXT NOT NULL,
        create_time_us INTEGER NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('running', 'succeeded', 'failed')),
        trace_digest TEXT,
        effective_memory_hash TEXT,
        index_revision TEXT,
        parser_revision TEXT,
        chunker_revision TEXT,
        lexical_revision TEXT,
        model_revision TEXT,
        vector_index_revision TEXT,
        reranker_revision TEXT,
        profile_name TEXT,
        profile_digest TEXT,
        resource_count INTEGER,
        unit_count INTEGER,
        complete_time_us INTEGER,
        stage_latencies TEXT,
        cold INTEGER CHECK (cold IN (0, 1)),
        failure_stage TEXT,
        failure_code TEXT,
        failure_summary TEXT,
        query_token_count INTEGER,
        query_tokens_encoded INTEGER,
        returned_fragment_count INTEGER,
        returned_token_count INTEGER,
        candidate_count INTEGER,
        candidates_digest TEXT,
        CHECK ((state = 'running') = (complete_time_us IS NULL)),
        CHECK ((state = 'failed') = (failure_code IS NOT NULL)),
        CHECK (state <> 'succeeded' OR trace_digest IS NOT NULL)
    )
    """,
    # A page of Runs is one range of one of these, however many Runs there are.
    "CREATE INDEX retrieval_runs_time ON retrieval_runs (create_time_us)",
    "CREATE INDEX retrieval_runs_project_time ON retrieval_runs (project_id, create_time_us)",
    "CREATE INDEX retrieval_runs_state_time ON retrieval_runs (state, create_time_us)",
    "CREATE INDEX retrieval_runs_project_state_time ON retrieval_runs (project_id, state, create_time_us)",
    "CREATE INDEX retrieval_runs_project_change ON retrieval_runs (project_id, change_sequence)",
    """
    CREATE INDEX retrieval_runs_memory ON retrieval_runs (effective_memory_hash)
    WHERE effective_memory_hash IS NOT NULL
    """,
    # Rows of a Run are in the order sent, which is the final order. A unit may have left the manifest meanwhile, so
    # candidates are not constrained to it.
    """
    CREATE TABLE retrieval_run_candidates (
        run_sequence INTEGER NOT NULL REFERENCES retrieval_runs (sequence) ON DELETE CASCADE,
        unit_key TEXT NOT NULL,
        resource_id TEXT NOT NULL,
        layer TEXT NOT NULL,
        kind TEXT NOT NULL,
        path TEXT NOT NULL,
        title TEXT NOT NULL,
        heading_path TEXT NOT NULL,
        start_byte INTEGER NOT NULL,
        end_byte INTEGER NOT NULL,
        unit_digest TEXT NOT NULL,
        resource_digest TEXT NOT NULL,
        token_count INTEGER NOT NULL,
        excerpt TEXT NOT NULL,
        exact_rank INTEGER,
        exact_priority INTEGER,
        bm25_rank INTEGER,
        bm25_score REAL,
        lexical_rank INTEGER,
        dense_rank INTEGER,
        dense_score REAL,
        rrf_rank INTEGER,
        rrf_score REAL,
        reranker_rank INTEGER,
        reranker_score REAL,
        late_interaction_score REAL,
        reranker_truncated INTEGER,
        relevance REAL,
        final_rank INTEGER,
        final_stage TEXT,
        selected INTEGER NOT NULL,
        exclusion_reason TEXT,
        delta_action TEXT,
        CHECK (selected = (exclusion_reason IS NULL))
    )
    """,
    "CREATE UNIQUE INDEX retrieval_run_candidates_unit ON retrieval_run_candidates (run_sequence, unit_key)",
    # A corpus that cases froze; its rows are its own, so that a case outlives every Run but the one it pins.
    """
    CREATE TABLE evaluation_corpora (
        corpus_hash TEXT NOT NULL PRIMARY KEY CHECK (length(corpus_hash) = 64),
        project_id TEXT NOT NULL,
        resource_count INTEGER NOT NULL CHECK (resource_count >= 0),
        create_time_us INTEGER NOT NULL
    ) WITHOUT ROWID
    """,
    f"""
    CREATE TABLE evaluation_corpus_resources (
        corpus_hash TEXT NOT NULL REFERENCES evaluation_corpora (corpus_hash) ON DELETE CASCADE,
        {_RESOURCE_COLUMNS}
        PRIMARY KEY (corpus_hash, resource_id)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX evaluation_corpus_resources_digest ON evaluation_corpus_resources (digest)",
    # The reference to the Run pins it: the Run cannot be deleted while the case is there. judgment_count, human_judged,
    # judge_time_us and judgment_author repeat the present version, so that a list of cases reads nothing else.
    """
    CREATE TABLE evaluation_cases (
        sequence INTEGER PRIMARY KEY AUTOINCREMENT,
        case_id TEXT NOT NULL UNIQUE,
        run_sequence INTEGER NOT NULL UNIQUE REFERENCES retrieval_runs (sequence) ON DELETE RESTRICT,
        corpus_hash TEXT NOT NULL REFERENCES evaluation_corpora (corpus_hash) ON DELETE RESTRICT,
        project_id TEXT NOT NULL,
        query TEXT NOT NULL,
        category TEXT NOT NULL DEFAULT '',
        notes TEXT NOT NULL DEFAULT '',
        create_time_us INTEGER NOT NULL,
        judgment_version INTEGER NOT NULL DEFAULT 1 CHECK (judgment_version >= 1),
        judgment_count INTEGER NOT NULL DEFAULT 0 CHECK (judgment_count >= 0),
        human_judged INTEGER NOT NULL DEFAULT 0 CHECK (human_judged IN (0, 1)),
        judge_time_us INTEGER,
        judgment_author TEXT NOT NULL DEFAULT ''
    )
    """,
    "CREATE INDEX evaluation_cases_time ON evaluation_cases (create_time_us)",
    "CREATE INDEX evaluation_cases_project_time ON evaluation_cases (project_id, create_time_us)",
    "CREATE INDEX evaluation_cases_corpus ON evaluation_cases (corpus_hash)",
    # Every version is kept. Its row at position 0 is the version itself: author, time, and the request that made it
    # (whose digest tells a repeated request from another one under its id); its judgments follow from position 1 on.
    """
    CREATE TABLE evaluation_judgments (
        case_sequence INTEGER NOT NULL REFERENCES evaluation_cases (sequence) ON DELETE CASCADE,
        judgment_version INTEGER NOT NULL CHECK (judgment_version >= 1),
        position INTEGER NOT NULL CHECK (position >= 0),
        author TEXT,
        judge_time_us INTEGER,
        request_id TEXT,
        request_digest TEXT,
        resource_id TEXT,
        unit_key TEXT,
        relevance INTEGER CHECK (relevance BETWEEN 0 AND 3),
        missed INTEGER CHECK (missed IN (0, 1)),
        notes TEXT,
        source TEXT CHECK (source IN ('human', 'import', 'model')),
        PRIMARY KEY (case_sequence, judgment_version, position),
        CHECK ((position = 0) = (judge_time_us IS NOT NULL)),
        CHECK ((position > 0) = (resource_id IS NOT NULL AND relevance IS NOT NULL AND missed IS NOT NULL
                                 AND notes IS NOT NULL AND source IS NOT NULL))
    ) WITHOUT ROWID
    """,
    """
    CREATE UNIQUE INDEX evaluation_judgments_subject
    ON evaluation_judgments (case_sequence, judgment_version, resource_id, ifnull(unit_key, ''))
    WHERE position > 0
    """,
    """
    CREATE UNIQUE INDEX evaluation_judgments_request ON evaluation_judgments (case_sequence, request_id)
    WHERE request_id IS NOT NULL
    """,
)
