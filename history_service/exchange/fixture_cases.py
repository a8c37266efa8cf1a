"""Cases, Runs, judgments and corpora as elements of a fixture, and back.

What comes back was checked against the schema before.
"""

from collections.abc import Iterable
from typing import Any

import orjson

from history_service.domain.case import EvaluationCase, Judgment, JudgmentVersion
from history_service.domain.corpus import Resource
from history_service.domain.errors import FixtureInvalid
from history_service.domain.run import Candidate, Revisions, RunEnd, RunStart, RunState, RunTrace, StageLatency
from history_service.evaluation.results import CaseReport
from history_service.exchange.canonical import plain, time_text, time_us
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
_AT = {name: place for place, name in enumerate(Candidate._fields)}


def case_element(case: EvaluationCase, trace: RunTrace, report: CaseReport) -> Element:
    """Return a case with its source trace and its measures."""
    judged = None if case.judge_time_us is None else time_text(case.judge_time_us)
    return {name: getattr(case, name) for name in _CASE_FIELDS} | {
        "create_time": time_text(case.create_time_us),
        "judge_time": judged,
        "report": {"stage_loss": plain(report.stage_loss), "variants": plain(report.variants)},
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
        "stage_latencies": plain(end.stage_latencies),
        "candidates": [_candidate_element(candidate) for candidate in trace.candidates],
    }


def version_element(case_id: str, version: JudgmentVersion) -> Element:
    """Return one version of a case's judgments."""
    return {
        "author": version.author,
        "case_id": case_id,
        "judge_time": time_text(version.judge_time_us),
        "judgment_version": version.judgment_version,
        "judgments": plain(version.judgments),
    }


def resource_element(corpus_hash: str, resource: Resource) -> Element:
    """Return a resource of a corpus."""
    return {"corpus_hash": corpus_hash, **plain(resource)}


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
    return RunTrace(start, revised, end, tuple(_candidates(element["candidates"], f"{field}.candidates")))


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


def _candidate_element(candidate: Candidate) -> Element:
    values: Element = dict(zip(Candidate._fields, candidate, strict=True))
    values["heading_path"] = orjson.loads(candidate.heading_path)
    values["selected"] = bool(candidate.selected)
    if candidate.reranker_truncated is not None:
        values["reranker_truncated"] = bool(candidate.reranker_truncated)
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
