"""Source Runs as OpenInference spans, one line of OTLP JSON a case.

Attribute names are those of the OpenInference semantic conventions (Arize-ai/openinference, semantic_conventions.md and
annotations.md of its specification); the encoding is that of the OpenTelemetry protocol's JSON files: ids as hex,
64-bit integers as text, enums as numbers, one TracesData a line.
"""

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any

from history_service.domain.case import EvaluationCase, Judgment
from history_service.domain.digest import canonical_json, digest_of
from history_service.domain.run import Candidate, RunTrace
from history_service.evaluation.results import CaseReport, MeasureValue

_TRACE_ID_DIGITS, _SPAN_ID_DIGITS = 32, 16
_INTERNAL_SPAN = 1
_STATUS_OK = 1
_RERANK = "rerank"
_MEASURED = {"RETRIEVER": "b3_hybrid_rrf", "RERANKER": "b4_reranked"}
_SCOPE = {"name": "ranktrail"}
_RESOURCE_ATTRIBUTES = ("service.name", "ranktrail")
_ANNOTATORS = {"human": "HUMAN", "import": "IMPORT", "model": "LLM"}

Json = dict[str, Any]


def span_line(case: EvaluationCase, trace: RunTrace, judgments: Sequence[Judgment], report: CaseReport) -> bytes:
    """Return the line of a case: its Run as a chain of a retriever and, where one ran, a reranker."""
    spans = list(_Spans(case, trace, judgments, report).all())
    scoped = {"scope": _SCOPE, "spans": spans}
    resource = {"attributes": _attributes([_RESOURCE_ATTRIBUTES])}
    return canonical_json({"resourceSpans": [{"resource": resource, "scopeSpans": [scoped]}]}) + b"\n"


class _Spans:
    """The spans of one Run."""

    def __init__(
        self, case: EvaluationCase, trace: RunTrace, judgments: Sequence[Judgment], report: CaseReport
    ) -> None:
        self._case = case
        self._trace = trace
        self._report = report
        self._judged = {(one.resource_id, one.unit_key): one for one in judgments}
        self._begin_us = trace.start.create_time_us

    def all(self) -> Iterator[Json]:
        """Yield the root first."""
        end_us = self._trace.end.complete_time_us
        yield self._span("activate_memory", "CHAIN", self._begin_us, end_us, self._root())
        rerank = self._rerank_times()
        retrieved_us = end_us if rerank is None else rerank[0]
        yield self._span("retrieve", "RETRIEVER", self._begin_us, retrieved_us, self._retriever())
        if rerank is not None:
            yield self._span("rerank", "RERANKER", *rerank, self._reranker())

    def _root(self) -> Iterator[tuple[str, Any]]:
        start, revised, returned = self._trace.start, self._trace.revisions, self._returned()
        yield from _text_input(start.query)
        yield "output.value", canonical_json([one.unit_key for one in returned]).decode("utf-8")
        yield "output.mime_type", "application/json"
        yield (
            "metadata",
            _json_text(
                {
                    "case_id": self._case.case_id,
                    "run_id": start.run_id,
                    "project_id": start.project_id,
                    "effective_memory_hash": revised.effective_memory_hash,
                    "index_revision": revised.index_revision,
                    "ranking_profile": revised.profile_name,
                    "judgment_version": self._case.judgment_version,
                }
            ),
        )
        if self._case.category:
            yield "tag.tags", [self._case.category]
        yield from self._judgments()

    def _judgments(self) -> Iterator[tuple[str, Any]]:
        for number, judgment in enumerate(self._judged.values()):
            prefix = f"annotations.{number}.annotation"
            yield f"{prefix}.name", "relevance"
            yield f"{prefix}.score", judgment.relevance
            yield f"{prefix}.annotator_kind", _ANNOTATORS[judgment.source]
            yield f"{prefix}.identifier", judgment.unit_key or judgment.resource_id
            if judgment.notes:
                yield f"{prefix}.explanation", judgment.notes
            about = {"resource_id": judgment.resource_id, "unit_key": judgment.unit_key, "missed": judgment.missed}
            yield f"{prefix}.metadata", _json_text(about)

    def _retriever(self) -> Iterator[tuple[str, Any]]:
        yield from _text_input(self._trace.start.query)
        ranked = _ranked(self._trace.candidates, "rrf_rank")
        yield from self._documents("retrieval.documents", ranked, "rrf_score")
        yield from self._measures("RETRIEVER")

    def _reranker(self) -> Iterator[tuple[str, Any]]:
        ranked = _ranked(self._trace.candidates, "reranker_rank")
        yield "reranker.query", self._trace.start.query
        yield "reranker.model_name", self._trace.revisions.reranker_revision or ""
        yield "reranker.top_k", len(ranked)
        before = sorted(ranked, key=lambda one: one.rrf_rank or 0)
        yield from self._documents("reranker.input_documents", before, "rrf_score")
        yield from self._documents("reranker.output_documents", ranked, "reranker_score")
        yield from self._measures("RERANKER")

    def _documents(self, prefix: str, candidates: Iterable[Candidate], score: str) -> Iterator[tuple[str, Any]]:
        for number, one in enumerate(candidates):
            field = f"{prefix}.{number}.document"
            yield f"{field}.id", one.unit_key
            yield f"{field}.content", one.excerpt
            if getattr(one, score) is not None:
                yield f"{field}.score", float(getattr(one, score))
            yield f"{field}.metadata", _json_text(self._about(one))

    def _about(self, one: Candidate) -> Json:
        names = ("resource_id", "path", "title", "start_byte", "end_byte", "unit_digest", "resource_digest")
        about: Json = {name: getattr(one, name) for name in names} | {"heading_path": one.headings}
        about |= {"selected": bool(one.selected), "exclusion_reason": one.exclusion_reason}
        judgment = self._judged.get((one.resource_id, one.unit_key)) or self._judged.get((one.resource_id, None))
        return about | {"judged_relevance": None if judgment is None else judgment.relevance}

    def _measures(self, kind: str) -> Iterator[tuple[str, Any]]:
        variant = next(one for one in self._report.variants if one.variant == _MEASURED[kind])
        known: list[MeasureValue] = [one for one in variant.measures if one.value is not None]
        for number, measure in enumerate(known):
            prefix = f"evaluations.{number}.evaluation"
            yield f"{prefix}.name", measure.measure
            yield f"{prefix}.score", float(measure.value or 0)
            yield f"{prefix}.annotator_kind", "CODE"

    def _returned(self) -> list[Candidate]:
        return sorted((one for one in self._trace.candidates if one.selected), key=lambda one: one.final_rank or 0)

    def _rerank_times(self) -> tuple[int, int] | None:
        """Return when reranking began and ended; the stages ran one after another, from the Run's begin."""
        at_us = self._begin_us
        for latency in self._trace.end.stage_latencies:
            if latency.stage == _RERANK:
                return at_us, at_us + latency.duration_us
            at_us += latency.duration_us
        return None

    def _span(self, name: str, kind: str, begin_us: int, end_us: int, attributes: Iterable[tuple[str, Any]]) -> Json:
        run_id = self._trace.start.run_id
        root_id = digest_of(f"{run_id}\0activate_memory".encode())[:_SPAN_ID_DIGITS]
        span_id = digest_of(f"{run_id}\0{name}".encode())[:_SPAN_ID_DIGITS]
        return {
            "traceId": digest_of(run_id.encode())[:_TRACE_ID_DIGITS],
            "spanId": span_id,
            **({} if span_id == root_id else {"parentSpanId": root_id}),
            "name": name,
            "kind": _INTERNAL_SPAN,
            "startTimeUnixNano": str(begin_us * 1_000),
            "endTimeUnixNano": str(end_us * 1_000),
            "attributes": _attributes([("openinference.span.kind", kind), *attributes]),
            "status": {"code": _STATUS_OK},
        }


def _ranked(candidates: Iterable[Candidate], rank: str) -> list[Candidate]:
    of = attrgetter(rank)
    return sorted((one for one in candidates if of(one) is not None), key=of)


def _text_input(query: str) -> Iterator[tuple[str, Any]]:
    yield "input.value", query
    yield "input.mime_type", "text/plain"


def _json_text(value: Json) -> str:
    return canonical_json(value).decode("utf-8")


def _attributes(pairs: Iterable[tuple[str, Any]]) -> list[Json]:
    return [{"key": key, "value": _value(value)} for key, value in pairs]


def _value(value: Any) -> Json:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(item) for item in value]}}
    return {"stringValue": value}
