"""`ranktrail report`: the four variants side by side."""

from typing import Any

import click

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from ranktrail_cli.completing import CaseField, ProjectField
from ranktrail_cli.examples import examples
from ranktrail_cli.report_view import print_report
from ranktrail_cli.session import Session, with_session
from ranktrail_client.message_json import message_json


@click.command(
    epilog=examples(
        "ranktrail report --project docs",
        "ranktrail report --case 01JD5ZB0M3T8V6C1E9H2K7P4QR --case 01JD5ZC4XN8W2Y6T0F3G5H7J9K",
        "ranktrail report --json",
    )
)
@click.option("--project", type=ProjectField("--project"), default="", help="Only this project's cases.")
@click.option("--case", "cases", multiple=True, type=CaseField("--case"), help="Only this case; may be repeated.")
@with_session
def report(session: Session, project: str, cases: tuple[str, ...]) -> None:
    """Measure four orders of the same traces against what people judged.

    BM25, dense vectors, their fusion, and the reranked order: every measure with how many cases it is defined for, what
    tells the variants apart, where relevant evidence was lost, and latencies.
    """
    request = pb.GetBenchmarkReportRequest(project_id=project, case_ids=cases)
    with session.connect("history") as client:
        measured = client.evaluation.get_benchmark_report(request).report
    if session.output.as_json:
        session.output.document(report_json(measured))
    else:
        print_report(session.output, measured)


def report_json(measured: pb.BenchmarkReport) -> dict[str, Any]:
    """Return a report as a JSON value, the measures of a variant by name; only nDCG@10 has bounds."""
    whole = message_json(measured)
    return {
        "quality_gate": measured.quality_gate,
        "case_count": measured.case_count,
        "variants": [_variant_json(variant) for variant in whole["variants"]],
        "comparisons": whole["comparisons"],
        "stage_loss": whole["stage_loss"],
        "cases": whole["cases"],
    }


def _variant_json(variant: dict[str, Any]) -> dict[str, Any]:
    return {**variant, "measures": {one["measure"]: _measure_json(one) for one in variant["measures"]}}


def _measure_json(mean: dict[str, Any]) -> dict[str, Any]:
    bounds = {name: mean[name] for name in ("low", "high") if mean[name] is not None}
    return {"mean": mean["mean"], "scored": mean["scored"], "total": mean["total"], **bounds}
