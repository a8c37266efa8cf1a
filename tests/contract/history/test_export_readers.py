"""Exports as the official readers of their formats take them."""

import base64
import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import pytrec_eval
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from tests import evaluation_sets as sets
from tests.fakes.history_server import TIMEOUT, RunningHistory

SCHEMA = json.loads((Path(__file__).resolve().parents[3] / "docs" / "fixture.schema.json").read_text("utf-8"))
VARIANTS = ("b1_bm25", "b2_dense_vector", "b3_hybrid_rrf", "b4_reranked")


@pytest.fixture
def fixture(history: RunningHistory) -> dict[str, Any]:
    sets.a_judged_set(history)
    return sets.read(sets.exported(history))


def test_a_fixture_is_what_its_schema_says(fixture: dict[str, Any]) -> None:
    validator = jsonschema.validators.validator_for(SCHEMA)
    validator.check_schema(SCHEMA)
    assert [error.message for error in validator(SCHEMA).iter_errors(fixture)] == []


@pytest.mark.parametrize(
    ("member", "field", "value"),
    [
        ("cases", "query", None),
        ("cases", "unknown", 1),
        ("resources", "size_bytes", -1),
        ("bodies", "encoding", "latin-1"),
        ("judgment_versions", "judgment_version", "2"),
        ("corpora", "corpus_hash", "X"),
    ],
)
def test_the_schema_refuses_what_is_no_fixture(fixture: dict[str, Any], member: str, field: str, value: Any) -> None:
    fixture[member][0][field] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(fixture, SCHEMA)


def test_trec_files_give_pytrec_eval_the_measures_of_the_report(history: RunningHistory) -> None:
    sets.a_judged_set(history, 14)
    files = sets.files_of(sets.exported(history, format=sets.Format.FORMAT_TREC))
    qrels = pytrec_eval.parse_qrel(io.StringIO(files["qrels.txt"].decode()))
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"recall.20", "recip_rank"})
    request = pb.GetBenchmarkReportRequest(skip_comparisons=True)
    report = history.evaluation.GetBenchmarkReport(request, timeout=TIMEOUT).report
    for variant in report.variants:
        found = evaluator.evaluate(pytrec_eval.parse_run(io.StringIO(files[f"{variant.variant}.run"].decode())))
        means = {one.measure: one.mean for one in variant.measures}
        # What ranked nothing pytrec_eval leaves out, and it is worth 0.
        for theirs, ours in (("recall_20", "R@20"), ("recip_rank", "RR")):
            assert means[ours] == pytest.approx(sum(one[theirs] for one in found.values()) / len(qrels), abs=1e-6)


def test_openinference_lines_are_otlp(history: RunningHistory) -> None:
    case_ids = sets.a_judged_set(history)
    lines = sets.exported(history, format=sets.Format.FORMAT_OPENINFERENCE).decode("utf-8").split("\n")[:-1]
    requests = [json_format.Parse(_with_base64_ids(line), ExportTraceServiceRequest()) for line in lines]
    assert len(requests) == len(case_ids)
    for request in requests:
        (resource,) = request.resource_spans
        (scope,) = resource.scope_spans
        assert scope.scope.name
        assert {len(span.trace_id) for span in scope.spans} == {16}
        assert {len(span.span_id) for span in scope.spans} == {8}
        for span in scope.spans:
            assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano
            assert span.kind == Span.SPAN_KIND_INTERNAL
            attributes: list[KeyValue] = list(span.attributes)
            assert all(attribute.value.WhichOneof("value") for attribute in attributes)
            assert "openinference.span.kind" in {attribute.key for attribute in attributes}


def _with_base64_ids(line: str) -> str:
    """Return an OTLP line for a general reader of protobuf's JSON: OTLP writes ids as hex where that takes base64."""

    def converted(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: base64.b64encode(bytes.fromhex(one)).decode() if key in _IDS else converted(one)
                for key, one in value.items()
            }
        return [converted(one) for one in value] if isinstance(value, list) else value

    return json.dumps(converted(json.loads(line)))


_IDS = {"traceId", "spanId", "parentSpanId"}
