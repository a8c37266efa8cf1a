"""Cases and judgments for tests, over the wire."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from ranktrail.trace.v1 import trace_pb2 as trace
from tests.fakes.history_server import TIMEOUT, HistoryClient
from tests.history_builders import a_candidate, a_corpus, a_run, digest, revisions

HUMAN = pb.EvaluationJudgment.SOURCE_HUMAN
BODIES = {f"doc-{n:04d}": f"body {n}".encode() for n in range(1, 7)}
"""Six documents; a Run of three candidates leaves the last three unrecalled."""
_request_ids = itertools.count()


def a_judgment(number: int = 1, unit: bool = True, **changes: Any) -> pb.EvaluationJudgment:
    """A person's judgment, relevance 2, of the unit that `a_candidate(number)` is, or of its whole resource."""
    values: dict[str, Any] = {
        "resource_id": f"doc-{number:04d}",
        "unit_key": f"doc-{number:04d}#body/1/0" if unit else None,
        "relevance": 2,
        "source": HUMAN,
    }
    return pb.EvaluationJudgment(**{name: value for name, value in (values | changes).items() if value is not None})


def record(
    history: HistoryClient,
    run_id: str = "run-1",
    bodies: Mapping[str, bytes] = BODIES,
    candidates: int | Sequence[trace.Candidate] = 3,
    project_id: str = "demo",
    **started: Any,
) -> None:
    """Record a Run over these bodies."""
    corpus = a_corpus(bodies, project_id)
    history.put(corpus)
    rows = [_of_body(n, bodies) for n in range(1, candidates + 1)] if isinstance(candidates, int) else candidates
    revised = revisions(effective_memory_hash=corpus.hash, resource_count=len(bodies))
    frames = a_run(run_id, candidates=rows, revised=revised, project_id=project_id, **started)
    assert history.record(frames)[run_id].HasField("recorded")


def create(history: HistoryClient, run_id: str = "run-1", **request: Any) -> pb.EvaluationCase:
    """Pin a Run."""
    message = pb.CreateEvaluationCaseRequest(run_id=run_id, **request)
    return history.evaluation.CreateEvaluationCase(message, timeout=TIMEOUT).evaluation_case


def pinned(history: HistoryClient, run_id: str = "run-1", **run: Any) -> pb.EvaluationCase:
    """Record a Run and pin it."""
    record(history, run_id, **run)
    return create(history, run_id)


def get(history: HistoryClient, case_id: str) -> pb.GetEvaluationCaseResponse:
    """Return a case."""
    return history.evaluation.GetEvaluationCase(pb.GetEvaluationCaseRequest(case_id=case_id), timeout=TIMEOUT)


def replace(
    history: HistoryClient, case_id: str, expected: int, *judgments: pb.EvaluationJudgment, **changes: Any
) -> pb.ReplaceEvaluationJudgmentsResponse:
    """Replace a case's judgments, by default as ada and with a new request id."""
    values: dict[str, Any] = {"author": "ada", "request_id": f"request-{next(_request_ids)}"}
    request = pb.ReplaceEvaluationJudgmentsRequest(
        case_id=case_id, expected_judgment_version=expected, judgments=judgments, **(values | changes)
    )
    return history.evaluation.ReplaceEvaluationJudgments(request, timeout=TIMEOUT)


def delete(history: HistoryClient, case_id: str, expected: int = 1) -> None:
    """Delete a case."""
    request = pb.DeleteEvaluationCaseRequest(case_id=case_id, expected_judgment_version=expected)
    history.evaluation.DeleteEvaluationCase(request, timeout=TIMEOUT)


def _of_body(number: int, bodies: Mapping[str, bytes]) -> trace.Candidate:
    return a_candidate(number, resource_digest=digest(bodies.get(f"doc-{number:04d}", b"")))
