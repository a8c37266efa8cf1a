"""The evaluation set: its cases, what they say of the four variants, and its way out and in."""

from starlette.requests import Request
from starlette.responses import Response

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from ranktrail_client.message_json import enum_words
from ranktrail_client.paging import pages
from ranktrail_client.trace_words import EXCLUSIONS
from ranktrail_diagnostics.charts.differences import differences_chart
from ranktrail_diagnostics.charts.funnel import funnel_chart
from ranktrail_diagnostics.charts.measures import measures_chart
from ranktrail_diagnostics.rendering import is_part, render
from ranktrail_diagnostics.report_rows import (
    LOSSES,
    MEASURES,
    VARIANTS,
    case_differences,
    case_values,
    funnel,
    measure_rows,
    variant_name,
)

CASES_PAGE = 50
FORMATS = enum_words(pb.ExportEvaluationSetRequest.Format.DESCRIPTOR)
DEFAULT_PAIR = ("b4_reranked", "b3_hybrid_rrf")


def show(request: Request) -> Response:
    """Show the frame of the page; report, cases and differences come after it, each by itself."""
    runtime = request.app.state.services.snapshot().ranker.runtime
    return render(
        request,
        "evaluation/evaluation.html",
        project=_project(request),
        projects=[] if runtime is None else [project.project_id for project in runtime.projects],
        measures=MEASURES,
        variants=VARIANTS,
        formats=FORMATS,
        pair=DEFAULT_PAIR,
    )


def show_report(request: Request) -> Response:
    """Show the means, the comparisons and the stage loss."""
    wanted = pb.GetBenchmarkReportRequest(project_id=_project(request))
    report = request.app.state.client.evaluation.get_benchmark_report(wanted).report
    rows, steps = measure_rows(report), funnel(report.stage_loss)
    names = [variant_name(one.variant) for one in report.variants]
    return render(
        request,
        "evaluation/report.html",
        report=report,
        rows=rows,
        names=names,
        steps=steps,
        losses=sorted(report.stage_loss.lost_counts.items(), key=lambda one: (-one[1], one[0])),
        loss_words={**EXCLUSIONS, **LOSSES},
        measures_chart=measures_chart(rows, names),
        funnel_chart=funnel_chart(steps),
        variant_name=variant_name,
    )


def show_cases(request: Request) -> Response:
    """Show one page of cases, newest first, each with a measure of every variant."""
    project, measure, token = _project(request), _measure(request), request.query_params.get("page_token", "")
    client = request.app.state.client
    wanted = pb.ListEvaluationCasesRequest(project_id=project, page_size=CASES_PAGE, page_token=token)
    page = client.evaluation.list_evaluation_cases(wanted)
    reports = _reports(request, [one.case_id for one in page.evaluation_cases])
    return render(
        request,
        "evaluation/case_rows.html" if token and is_part(request) else "evaluation/cases.html",
        cases=page.evaluation_cases,
        values={case_id: case_values(one, measure) for case_id, one in reports.items()},
        judged={case_id: case_values(one, "Judged@10") for case_id, one in reports.items()},
        project=project,
        measure=measure,
        variants=VARIANTS,
        next_token=page.next_page_token,
    )


def show_differences(request: Request) -> Response:
    """Show how two variants differ, case by case."""
    project, measure = _project(request), _measure(request)
    variant, baseline = (
        value if (value := request.query_params.get(name, default)) in VARIANTS else default
        for name, default in zip(("variant", "baseline"), DEFAULT_PAIR, strict=True)
    )
    wanted = pb.GetBenchmarkReportRequest(project_id=project, skip_comparisons=True)
    report = request.app.state.client.evaluation.get_benchmark_report(wanted).report
    differences = case_differences(report.cases, measure, variant, baseline)
    return render(
        request,
        "evaluation/differences.html",
        differences=differences,
        queries=_queries(request, project),
        case_count=report.case_count,
        chart=differences_chart(differences, measure),
        measure=measure,
        names=(variant_name(variant), variant_name(baseline)),
    )


def _reports(request: Request, case_ids: list[str]) -> dict[str, pb.CaseReport]:
    if not case_ids:
        return {}
    wanted = pb.GetBenchmarkReportRequest(case_ids=case_ids, skip_comparisons=True)
    report = request.app.state.client.evaluation.get_benchmark_report(wanted).report
    return {one.case_id: one for one in report.cases}


def _queries(request: Request, project: str) -> dict[str, str]:
    listed = pages(
        request.app.state.client.evaluation.list_evaluation_cases, pb.ListEvaluationCasesRequest(project_id=project)
    )
    return {one.case_id: one.query for page in listed for one in page.evaluation_cases}


def _project(request: Request) -> str:
    return request.query_params.get("project", "")


def _measure(request: Request) -> str:
    measure = request.query_params.get("measure", "")
    return measure if measure in MEASURES else MEASURES[0]
