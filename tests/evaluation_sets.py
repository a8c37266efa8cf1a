"""Exported sets for tests, over the wire."""

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from random import Random
from typing import Any, NoReturn

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from ranktrail.trace.v1 import trace_pb2 as trace
from tests import history_cases as cases
from tests.fakes.history_server import TIMEOUT, HistoryClient
from tests.history_builders import a_candidate, digest

Format = pb.ExportEvaluationSetRequest


def exported_frames(history: HistoryClient, **request: Any) -> list[bytes]:
    """Export and return the frames."""
    stream = history.evaluation.ExportEvaluationSet(pb.ExportEvaluationSetRequest(**request), timeout=TIMEOUT)
    return [response.content for response in stream]


def exported(history: HistoryClient, **request: Any) -> bytes:
    """Export and return the document."""
    return b"".join(exported_frames(history, **request))


def imported(history: HistoryClient, document: bytes, frame_bytes: int = 1_048_576) -> tuple[int, int]:
    """Import a document; return (cases that are new, cases that were there)."""
    starts = range(0, len(document), frame_bytes)
    frames = (pb.ImportEvaluationSetRequest(content=document[at : at + frame_bytes]) for at in starts)
    answer = history.evaluation.ImportEvaluationSet(frames, timeout=TIMEOUT)
    return answer.imported_case_count, answer.already_existing_case_count


def read(document: bytes) -> dict[str, Any]:
    """Parse a document as strictly as JSON allows."""
    return dict(json.loads(document.decode("utf-8"), parse_constant=_refuse))


def timeless(document: bytes) -> dict[str, Any]:
    """Return a document without the time of its export."""
    return {name: value for name, value in read(document).items() if name != "exported_at"}


def canonical(value: Any) -> bytes:
    """Return canonical JSON, written down a second time."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def signed(fixture: Mapping[str, Any]) -> bytes:
    """Return a fixture with the digest that its schema describes, which a changed one lacks."""
    covered: dict[str, Any] = {name: fixture[name] for name in fixture.keys() - {"exported_at", "sha256"}}
    bodies = fixture.get("bodies")
    if isinstance(bodies, list) and all(isinstance(body, dict) for body in bodies):
        covered["bodies"] = [{key: body[key] for key in body.keys() - {"content"}} for body in bodies]
    return canonical({**fixture, "sha256": hashlib.sha256(canonical(covered)).hexdigest()})


def files_of(tar: bytes) -> dict[str, bytes]:
    """Return the files of a tar by name."""
    with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]


def shuffled_run(random: Random, size: int) -> list[trace.Candidate]:
    """Candidates of six resources in an order of its own a stage; not every stage saw every one."""
    orders = {name: random.sample(range(1, size + 1), size) for name in ("bm25", "dense", "rrf", "reranker")}
    return [_shuffled(number, {name: order[number] for name, order in orders.items()}) for number in range(size)]


def a_judged_set(history: HistoryClient, count: int = 6, project_id: str = "demo") -> list[str]:
    """Record, pin and judge Runs of every kind; return the ids of their cases."""
    random = Random(project_id)
    name = project_id.partition(" ")[0]
    return [_judged(history, random, f"{name}-{number}", project_id) for number in range(count)]


def _judged(history: HistoryClient, random: Random, run_id: str, project_id: str) -> str:
    candidates = shuffled_run(random, random.choice([0, 3, 18]))
    cases.record(history, run_id, candidates=candidates, project_id=project_id, query=f"how do we {run_id}?\0\t😀")
    case = cases.create(history, run_id, category=random.choice(["", "deploy"]), notes="noted\nhere ✓")
    for version in range(1, 1 + random.randrange(3)):
        judgments = _judgments(random, candidates)
        cases.replace(history, case.case_id, version, *judgments, author=f"ada {version}")
    return case.case_id


def _judgments(random: Random, candidates: list[trace.Candidate]) -> list[pb.EvaluationJudgment]:
    seen = {candidate.resource_id for candidate in candidates}
    whole = [
        cases.a_judgment(number, unit=False, relevance=random.randrange(4), missed=f"doc-{number:04d}" not in seen)
        for number in range(1, 7)
        if random.random() < 0.6
    ]
    units = [
        cases.a_judgment(unit_key=one.unit_key, resource_id=one.resource_id, relevance=random.randrange(4), notes="ü\0")
        for one in candidates
        if random.random() < 0.3
    ]
    return whole + units


def _shuffled(number: int, ranks: Mapping[str, int]) -> trace.Candidate:
    resource_id = f"doc-{number % 6 + 1:04d}"
    reranked = ranks["reranker"] <= 10
    return a_candidate(
        number + 1,
        unit_key=f"{resource_id}#body {number}%/1/0",
        resource_id=resource_id,
        resource_digest=digest(cases.BODIES[resource_id]),
        exact_rank=1 if number == 3 else None,
        exact_priority=0 if number == 3 else None,
        bm25_rank=ranks["bm25"] if ranks["bm25"] <= 14 else None,
        bm25_score=1e-7 / ranks["bm25"] if ranks["bm25"] <= 14 else None,
        lexical_rank=ranks["bm25"] if ranks["bm25"] <= 14 else None,
        dense_rank=ranks["dense"] if ranks["dense"] <= 12 else None,
        dense_score=-1 / ranks["dense"] if ranks["dense"] <= 12 else None,
        rrf_rank=ranks["rrf"],
        rrf_score=1 / (60 + ranks["rrf"]),
        reranker_rank=ranks["reranker"] if reranked else None,
        reranker_score=1 / ranks["reranker"] if reranked else None,
        reranker_truncated=bool(number % 2) if reranked else None,
        relevance=None,
        heading_path=["Über\0", '"quoted"'],
        excerpt="😀\ud7ff\x7f\u2028 text",
    )


def _refuse(word: str) -> NoReturn:
    raise AssertionError(f"{word} is no JSON")
