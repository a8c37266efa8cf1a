"""Runs and candidates as a person reads them. Absent is a dash, never a zero."""

from collections.abc import Iterable, Sequence

from google.protobuf.timestamp_pb2 import Timestamp

from ranktrail.history.v1.history_service_pb2 import RetrievalRun
from ranktrail.ranker.v1.ranker_service_pb2 import Fragment
from ranktrail.trace.v1.trace_pb2 import Candidate, DeltaAction, ExclusionReason
from ranktrail_cli.output import Output
from ranktrail_cli.tables import Column, Table
from ranktrail_client.message_json import enum_word, timestamp_json

DASH = "–"  # noqa: RUF001 - an en dash is what stands for nothing
CANDIDATE_COLUMNS = (
    Column("final", is_number=True),
    Column("by", yields=2),
    Column("exact", is_number=True),
    Column("bm25", is_number=True),
    Column("dense", is_number=True),
    Column("rrf", is_number=True),
    Column("reranker", is_number=True),
    Column("relevance", is_number=True),
    Column("outcome", yields=2),
    Column("delta", yields=2),
    Column("unit", yields=1),
)
CANDIDATES_EXPLAINED = (
    "Each stage shows rank · score. p0: the query is the resource's id; p1: it is a path, file name, title or heading; "
    "p2: one of these starts with it. The final order is by reranker score where there is one, which adds the fused "
    "rank to the model's score; relevance reads the model's part alone."
)
RUN_COLUMNS = (
    Column("run"),
    Column("created"),
    Column("project", yields=2),
    Column("state", yields=2),
    Column("ms", is_number=True),
    Column("candidates", is_number=True, yields=2),
    Column("fragments", is_number=True, yields=2),
    Column("query", yields=1),
)
MICROSECONDS_PER_MILLISECOND = 1_000


def candidates_table(candidates: Iterable[Candidate]) -> Table:
    """Return a table with a row a candidate: each stage's rank and score, and what became of it."""
    table = Table(CANDIDATE_COLUMNS)
    for candidate in candidates:
        table.add(*candidate_cells(candidate), style="" if candidate.selected else "dim")
    return table


def print_candidates(output: Output, candidates: Sequence[Candidate]) -> None:
    """Print every candidate of a Run, and what the columns mean."""
    if not candidates:
        output.line("no candidates")
        return
    output.table(candidates_table(candidates))
    output.line()
    output.note(CANDIDATES_EXPLAINED)


def candidate_cells(candidate: Candidate) -> tuple[str, ...]:
    """Return a candidate's row of CANDIDATE_COLUMNS."""
    return (
        _number(candidate, "final_rank"),
        _number(candidate, "final_stage"),
        _pair(_number(candidate, "exact_rank"), _number(candidate, "exact_priority"), "p"),
        _pair(_number(candidate, "bm25_rank"), _score(candidate, "bm25_score", 3)),
        _pair(_number(candidate, "dense_rank"), _score(candidate, "dense_score", 3)),
        _pair(_number(candidate, "rrf_rank"), _score(candidate, "rrf_score", 5)),
        _pair(_number(candidate, "reranker_rank"), _score(candidate, "reranker_score", 3)),
        _score(candidate, "relevance", 3),
        "selected" if candidate.selected else outcome_word(candidate),
        str(enum_word(DeltaAction.DESCRIPTOR, candidate.delta_action) or DASH),
        candidate.unit_key,
    )


def outcome_word(candidate: Candidate) -> str:
    """Return why a candidate was not selected."""
    return str(enum_word(ExclusionReason.DESCRIPTOR, candidate.exclusion_reason) or DASH)


def _number(candidate: Candidate, field: str) -> str:
    return str(getattr(candidate, field)) if candidate.HasField(field) else DASH  # type: ignore[arg-type]


def _score(candidate: Candidate, field: str, places: int) -> str:
    return f"{getattr(candidate, field):.{places}f}" if candidate.HasField(field) else DASH  # type: ignore[arg-type]


def _pair(rank: str, score: str, prefix: str = "") -> str:
    return DASH if rank == DASH else f"{rank} · {prefix}{score}"


def runs_table(runs: Iterable[RetrievalRun]) -> Table:
    """Return a table with a row a Run."""
    table = Table(RUN_COLUMNS)
    for run in runs:
        table.add(*_run_cells(run))
    return table


def _run_cells(run: RetrievalRun) -> tuple[str, ...]:
    return (
        run.run_id + (" (pinned)" if run.HasField("evaluation_case_id") else ""),
        created(run),
        run.project_id,
        state_word(run) + (f" ({run.failure.code})" if run.HasField("failure") else ""),
        _milliseconds(sum(latency.duration_us for latency in run.stage_latencies)) if run.stage_latencies else DASH,
        str(run.candidate_count) if run.HasField("candidate_count") else DASH,
        str(run.returned_fragment_count) if run.HasField("returned_fragment_count") else DASH,
        shortened(run.query),
    )


def counted(number: int, name: str) -> str:
    """Return a number of things whose plural ends in s, in words."""
    return f"{number} {name}" if number == 1 else f"{number} {name}s"


def state_word(run: RetrievalRun) -> str:
    """Return the JSON word of a Run's state."""
    return str(enum_word(RetrievalRun.State.DESCRIPTOR, run.state) or DASH)


def created(run: RetrievalRun) -> str:
    """Return when a Run began, to the second, in UTC."""
    return seconds_of(run.create_time)


def seconds_of(time: Timestamp) -> str:
    """Return a time to the second, in UTC; a dash for one that was never set."""
    return (timestamp_json(time) or DASH).split(".", maxsplit=1)[0] if time.seconds else DASH


def shortened(text: str, limit: int = 60) -> str:
    """Return the first `limit` characters, and say that there are more."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _milliseconds(microseconds: int) -> str:
    return f"{microseconds / MICROSECONDS_PER_MILLISECOND:.1f}"


def print_run(output: Output, run: RetrievalRun, candidates: Sequence[Candidate]) -> None:
    """Print one Run: what was asked, what ranked it, how long each stage took, and every candidate."""
    output.line(f"Run {run.run_id}: {state_word(run)}, project {run.project_id}, {created(run)} UTC")
    output.line(f"query: {run.query}")
    if run.HasField("failure"):
        failure = run.failure
        output.line(f"failed in stage {failure.stage} with {failure.code}: {failure.summary}")
    if run.HasField("evaluation_case_id"):
        output.line(f"pinned by case {run.evaluation_case_id}")
    for name, value in _revisions(run):
        output.line(f"{name}: {value}")
    stages = ", ".join(f"{stage.stage} {_milliseconds(stage.duration_us)}" for stage in run.stage_latencies)
    output.line(f"milliseconds: {stages or DASH}{' (cold)' if run.cold else ''}")
    if run.HasField("returned_fragment_count"):
        returned = counted(run.returned_fragment_count, "fragment")
        output.line(f"returned: {returned}, {counted(run.returned_token_count, 'token')}")
    output.line()
    print_candidates(output, candidates)


def _revisions(run: RetrievalRun) -> list[tuple[str, str]]:
    profile = run.ranking_profile
    named = [
        (
            "memory",
            f"{run.effective_memory_hash} ({run.resource_count} resources)" if run.effective_memory_hash else "",
        ),
        ("index", f"{run.index_revision} ({run.unit_count} units)" if run.index_revision else ""),
        ("parser", run.parser_revision),
        ("chunker", run.chunker_revision),
        ("lexical", run.lexical_revision),
        ("model", run.model_revision),
        ("vectors", run.vector_index_revision),
        ("reranker", run.reranker_revision),
        ("profile", f"{profile.name} ({profile.digest})" if profile.name else ""),
    ]
    return [(name, value) for name, value in named if value]


def print_fragments(output: Output, fragments: Iterable[Fragment]) -> None:
    """Print what an activation returned, in final order."""
    for position, fragment in enumerate(fragments, start=1):
        place = " > ".join((fragment.path, *fragment.heading_path))
        relevance = f", relevance {fragment.relevance:.3f}" if fragment.HasField("relevance") else ""
        action = enum_word(DeltaAction.DESCRIPTOR, fragment.action) or DASH
        output.line(f"[{position}] {action}  {place}  ({counted(fragment.token_count, 'token')}{relevance})")
        if fragment.HasField("content"):
            output.block(fragment.content.rstrip("\n"))
        else:
            output.line("(known already: its text is not sent again)")
        output.line()
