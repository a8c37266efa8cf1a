"""EvaluationService: each method converts in, calls one use case, converts out."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import grpc

from history_service.domain import limits
from history_service.domain.errors import FieldInvalid
from history_service.rpc.convert import case_message, judgment_message
from history_service.rpc.exchanging import contents, export_responses, form_of
from history_service.rpc.fields import checked_run_id, checked_text, timestamp
from history_service.rpc.judgments import replacement, version_message
from history_service.rpc.page_token import Scalar, make_page_token, page_size_of, read_page_token
from history_service.rpc.reports import report_message
from history_service.rpc.resources import resource_message
from history_service.use_cases.benchmark import Benchmark
from history_service.use_cases.create_case import CreateCase
from history_service.use_cases.delete_case import DeleteCase
from history_service.use_cases.export_set import ExportSet
from history_service.use_cases.import_set import ImportSet
from history_service.use_cases.read_cases import ReadCases
from history_service.use_cases.replace_judgments import ReplaceJudgments
from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from ranktrail.evaluation.v1 import evaluation_service_pb2_grpc

SERVICE = "ranktrail.evaluation.v1.EvaluationService"
EXPORT_METHOD = f"/{SERVICE}/ExportEvaluationSet"
IMPORT_METHOD = f"/{SERVICE}/ImportEvaluationSet"


@dataclass(frozen=True, slots=True)
class EvaluationServicer(evaluation_service_pb2_grpc.EvaluationServiceServicer):
    """Keeps cases and judgments, and measures."""

    create: CreateCase
    read: ReadCases
    delete: DeleteCase
    replace: ReplaceJudgments
    benchmark: Benchmark
    exporter: ExportSet
    importer: ImportSet

    def CreateEvaluationCase(
        self, request: pb.CreateEvaluationCaseRequest, context: grpc.ServicerContext
    ) -> pb.CreateEvaluationCaseResponse:
        """Pin a Run."""
        category = checked_text("category", request.category, limits.MAX_CATEGORY_BYTES, required=False)
        notes = checked_text("notes", request.notes, limits.MAX_NOTES_BYTES, required=False)
        case, existed = self.create.create(checked_run_id(request.run_id), category, notes)
        return pb.CreateEvaluationCaseResponse(evaluation_case=case_message(case), already_existed=existed)

    def GetEvaluationCase(
        self, request: pb.GetEvaluationCaseRequest, context: grpc.ServicerContext
    ) -> pb.GetEvaluationCaseResponse:
        """Return one case."""
        case, judgments = self.read.one(_case_id(request))
        return pb.GetEvaluationCaseResponse(
            evaluation_case=case_message(case), judgments=map(judgment_message, judgments)
        )

    def ListEvaluationCases(
        self, request: pb.ListEvaluationCasesRequest, context: grpc.ServicerContext
    ) -> pb.ListEvaluationCasesResponse:
        """List cases, newest first."""
        size, project = page_size_of(request.page_size), _project_id(request)
        category = checked_text("category", request.category, limits.MAX_CATEGORY_BYTES, required=False) or None
        filters: list[Scalar] = [project, category]
        position = read_page_token("ListEvaluationCases", filters, request.page_token, (int, int))
        found = self.read.page(project, category, (position[0], position[1]) if position else None, size + 1)
        page, token = found[:size], ""
        if len(found) > size:
            token = make_page_token("ListEvaluationCases", filters, [page[-1].case.create_time_us, page[-1].sequence])
        return pb.ListEvaluationCasesResponse(
            evaluation_cases=[case_message(stored.case) for stored in page], next_page_token=token
        )

    def DeleteEvaluationCase(
        self, request: pb.DeleteEvaluationCaseRequest, context: grpc.ServicerContext
    ) -> pb.DeleteEvaluationCaseResponse:
        """Delete a case."""
        self.delete.delete(_case_id(request), request.expected_judgment_version)
        return pb.DeleteEvaluationCaseResponse()

    def ListCorpusResources(
        self, request: pb.ListCorpusResourcesRequest, context: grpc.ServicerContext
    ) -> pb.ListCorpusResourcesResponse:
        """List a frozen corpus."""
        size, case_id = page_size_of(request.page_size), _case_id(request)
        text = checked_text("text", request.text, limits.MAX_CORPUS_TEXT_BYTES, required=False)
        filters: list[Scalar] = [case_id, text]
        position = read_page_token("ListCorpusResources", filters, request.page_token, (str,))
        found = self.read.resources(case_id, text, position[0] if position else None, size + 1)
        page, token = found.resources[:size], ""
        if len(found.resources) > size:
            token = make_page_token("ListCorpusResources", filters, [page[-1].resource_id])
        return pb.ListCorpusResourcesResponse(
            resources=map(resource_message, page), next_page_token=token, resource_count=found.resource_count
        )

    def ReplaceEvaluationJudgments(
        self, request: pb.ReplaceEvaluationJudgmentsRequest, context: grpc.ServicerContext
    ) -> pb.ReplaceEvaluationJudgmentsResponse:
        """Replace a case's judgments."""
        standing = self.replace.replace(replacement(request))
        return pb.ReplaceEvaluationJudgmentsResponse(
            judgment_version=standing.judgment_version, judge_time=timestamp(standing.judge_time_us)
        )

    def ListJudgmentVersions(
        self, request: pb.ListJudgmentVersionsRequest, context: grpc.ServicerContext
    ) -> pb.ListJudgmentVersionsResponse:
        """List every version of a case's judgments."""
        size, case_id = page_size_of(request.page_size), _case_id(request)
        position = read_page_token("ListJudgmentVersions", [case_id], request.page_token, (int,))
        page = self.read.versions(case_id, position[0] if position else None, size)
        token = ""
        if page.more:
            token = make_page_token("ListJudgmentVersions", [case_id], [page.versions[-1].judgment_version])
        return pb.ListJudgmentVersionsResponse(versions=map(version_message, page.versions), next_page_token=token)

    def GetBenchmarkReport(
        self, request: pb.GetBenchmarkReportRequest, context: grpc.ServicerContext
    ) -> pb.GetBenchmarkReportResponse:
        """Measure four variants over the chosen cases."""
        report = self.benchmark.report(
            _project_id(request), list(request.case_ids), with_comparisons=not request.skip_comparisons
        )
        return pb.GetBenchmarkReportResponse(report=report_message(report))

    def ExportEvaluationSet(
        self, request: pb.ExportEvaluationSetRequest, context: grpc.ServicerContext
    ) -> Iterator[pb.ExportEvaluationSetResponse]:
        """Stream the chosen cases as one document."""
        frames = self.exporter.export(form_of(request), _project_id(request), list(request.case_ids))
        yield from export_responses(frames, context.cancel)

    def ImportEvaluationSet(
        self, request_iterator: Any, context: grpc.ServicerContext
    ) -> pb.ImportEvaluationSetResponse:
        """Read a document back."""
        imported = self.importer.read(contents(request_iterator))
        return pb.ImportEvaluationSetResponse(
            imported_case_count=imported.new_count, already_existing_case_count=imported.existing_count
        )


def _case_id(request: Any) -> str:
    """Return the case asked for; what is no id is that of no case."""
    if not request.case_id:
        raise FieldInvalid("case_id", "is missing: send it")
    return str(request.case_id)


def _project_id(request: Any) -> str | None:
    return checked_text("project_id", request.project_id, limits.MAX_PROJECT_ID_BYTES, required=False) or None
