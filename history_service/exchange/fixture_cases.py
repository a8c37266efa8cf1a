"""Cases, Runs, judgments and corpora as elements of a fixture, and back.

What comes back was checked against the schema before.
"""

from collections.abc import Iterable
from itertools import chain
from operator import itemgetter
from typing import Any

import orjson

from history_service.domain.case import EvaluationCase, Judgment, JudgmentVersion
from history_service.domain.corpus import Resource
from history_service.domain.errors import FixtureInvalid
from history_service.domain.limits import MAX_RUN_CANDIDATE_BYTES
from history_service.domain.run import Candidate, Revisions, RunEnd, RunStart, RunState, RunTrace, StageLatency
from history_service.evaluation.results import BenchmarkReport, CaseReport
from history_service.exchange.canonical import quick_json, time_text, time_us
from history_service.exchange.fixture import Element

_CASE_FIELDS = (
    "case_id",
    "run_id",
    "project_id",
    "query",
    "corpus_hash",
    "resource_count",
    "category",
    "notes",
    "judgment_version",
    "judgment_count",
    "human_judged",
    "judgment_author",
)
_START_FIELDS = tuple(name for name in RunStart.__slots__ if name != "create_time_us")
_REVISION_FIELDS = tuple(name for name in Revisions.__slots__ if not name.startswith("profile_"))
_END_FIELDS = (
    "cold",
    "query_token_count",
    "query_tokens_encoded",
    "returned_fragment_count",
    "returned_token_count",
    "candidate_count",
    "candidates_digest",
)
_SCORES = ("bm25_score", "dense_score", "rrf_score", "reranker_score", "late_interaction_score", "relevance")
_MEASURED = ("value", "low", "high")
_TEXT_LIMIT = MAX_RUN_CANDIDATE_BYTES
"""Of all candidates of a Run: no more than could have been recorded."""
_scores_of, _measured_of = itemgetter(*_SCORES), itemgetter(*_MEASURED)
_AT = {name: place for place, name in enumerate(Candidate._fields)}


def case_element(case: EvaluationCase, trace: RunTrace, report: CaseReport) -> Element:
    """Return a case with its source trace and its measures."""
    variants = [
        {"measures": [measure._asdict() for measure in one.measures], "variant": one.variant} for one in report.variants
    ]
    measured = {"stage_loss": _fields(report.stage_loss), "variants": variants}
    return {"report": measured, **pinned_element(case, trace)}


def case_json(element: Element) -> bytes:
    """Return the canonical JSON of a case."""
    candidates = element["run"]["candidates"]
    measures = [one for variant in element["report"]["variants"] for one in variant["measures"]]
    return quick_json(element, chain(*map(_scores_of, candidates), *map(_measured_of, measures)))


def report_element(report: BenchmarkReport) -> Element:
    """Return the measures of the whole set, without those of single cases and without comparisons."""
    variants = [_fields(one) | {"measures": [_fields(mean) for mean in one.measures]} for one in report.variants]
    return {
        "quality_gate": report.quality_gate,
        "case_count": report.case_count,
        "human_judged_case_count": report.human_judged_case_count,
        "variants": variants,
        "stage_loss": _fields(report.stage_loss),
    }


def pinned_element(case: EvaluationCase, trace: RunTrace) -> Element:
    """Return a case with its source trace, without its measures, which follow from the rest."""
    return {name: getattr(case, name) for name in _CASE_FIELDS} | {
        "create_time": time_text(case.create_time_us),
        "judge_time": None if case.judge_time_us is None else time_text(case.judge_time_us),
        "run": run_element(trace),
    }


def run_element(trace: RunTrace) -> Element:
    """Return a Run with its whole trace."""
    start, revised, end = trace.start, trace.revisions, trace.end
    return {
        **{name: getattr(start, name) for name in _START_FIELDS},
        **{name: getattr(revised, name) for name in _REVISION_FIELDS},
        **{name: getattr(end, name) for name in _END_FIELDS},
        "state": end.state.value,
        "create_time": time_text(start.create_time_us),
        "complete_time": time_text(end.complete_time_us),
        "ranking_profile": {"digest": revised.profile_digest, "name": revised.profile_name},
        "stage_latencies": [_fields(latency) for latency in end.stage_latencies],
        "candidates": [_candidate_element(candidate) for candidate in trace.candidates],
    }


def version_element(case_id: str, version: JudgmentVersion) -> Element:
    """Return one version of a case's judgments."""
    return {
        "author": version.author,
        "case_id": case_id,
        "judge_time": time_text(version.judge_time_us),
        "judgment_version": version.judgment_version,
        "judgments": [_fields(judgment) for judgment in version.judgments],
    }


def resource_element(corpus_hash: str, resource: Resource) -> Element:
    """Return a resource of a corpus."""
    return {"corpus_hash": corpus_hash, **_fields(resource)}


def case_of(element: Element, field: str) -> EvaluationCase:
    """Return the case of an element; raise FixtureInvalid where a time is none."""
    judged = element["judge_time"]
    return EvaluationCase(
        create_time_us=_time(f"{field}.create_time", element["create_time"]),
        judge_time_us=None if judged is None else _time(f"{field}.judge_time", judged),
        **{name: element[name] for name in _CASE_FIELDS},
    )


def trace_of(element: Element, field: str) -> RunTrace:
    """Return the Run of an element; raise FixtureInvalid, naming the field, where its parts do not fit together."""
    profile = element["ranking_profile"]
    revised = Revisions(
        profile_name=profile["name"],
        profile_digest=profile["digest"],
        **{name: element[name] for name in _REVISION_FIELDS},
    )
    start = RunStart(
        create_time_us=_time(f"{field}.create_time", element["create_time"]),
        **{name: element[name] for name in _START_FIELDS},
    )
    end = RunEnd(
        state=RunState(element["state"]),
        complete_time_us=_time(f"{field}.complete_time", element["complete_time"]),
        stage_latencies=tuple(StageLatency(**latency) for latency in element["stage_latencies"]),
        failure=None,
        **{name: element[name] for name in _END_FIELDS},
    )
    candidates = tuple(_candidates(element["candidates"], f"{field}.candidates"))
    texts = [text for row in candidates for text in row if isinstance(text, str)]
    # Most are far shorter than a quarter of the limit, where no encoding can exceed it.
    if sum(map(len, texts)) * 4 > _TEXT_LIMIT and sum(len(text.encode("utf-8")) for text in texts) > _TEXT_LIMIT:
        raise FixtureInvalid(f"{field}.candidates", f"have more than {_TEXT_LIMIT} bytes of text")
    return RunTrace(start, revised, end, candidates)


def version_of(element: Element, field: str) -> JudgmentVersion:
    """Return the version of an element; raise FixtureInvalid where its time is none."""
    return JudgmentVersion(
        judgment_version=element["judgment_version"],
        author=element["author"],
        judge_time_us=_time(f"{field}.judge_time", element["judge_time"]),
        judgments=tuple(Judgment(**judgment) for judgment in element["judgments"]),
    )


def resource_of(element: Element) -> Resource:
    """Return the resource of an element."""
    return Resource(**{name: element[name] for name in Resource.__slots__})


def _fields(value: Any) -> Element:
    return {name: getattr(value, name) for name in value.__slots__}


def _candidate_element(candidate: Candidate) -> Element:
    values: Element = dict(zip(Candidate._fields, candidate, strict=True))
    values["heading_path"] = orjson.loads(candidate.heading_path)
    values["selected"] = bool(candidate.selected)
    truncated = candidate.reranker_truncated
    values["reranker_truncated"] = None if truncated is None else bool(truncated)
    return values


def _candidates(elements: Iterable[Element], field: str) -> Iterable[Candidate]:
    seen: set[str] = set()
    for number, element in enumerate(elements):
        problem = _candidate_problem(element, seen)
        if problem is not None:
            raise FixtureInvalid(f"{field}[{number}].{problem[0]}", problem[1])
        seen.add(element["unit_key"])
        values: list[Any] = [element[name] for name in Candidate._fields]
        # The same encoder as where Runs are recorded, so that the row is the same.
        values[_AT["heading_path"]] = orjson.dumps(element["heading_path"]).decode("utf-8")
        for name in ("selected", "reranker_truncated"):
            values[_AT[name]] = None if element[name] is None else int(element[name])
        yield Candidate._make(values)


def _candidate_problem(element: Element, seen: set[str]) -> tuple[str, str] | None:
    if element["unit_key"] in seen:
        return "unit_key", "stands twice in one Run"
    if element["end_byte"] < element["start_byte"]:
        return "end_byte", "is smaller than start_byte"
    if (element["exclusion_reason"] is None) != element["selected"]:
        return "exclusion_reason", "must be null exactly when selected"
    if (element["delta_action"] is None) == element["selected"]:
        return "delta_action", "must be null exactly when not selected"
    return None


def _time(field: str, text: str) -> int:
    try:
        return time_us(text)
    except ValueError as error:
        raise FixtureInvalid(field, str(error)) from error
