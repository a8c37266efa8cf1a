"""The evaluation service's methods, each under its name in the contract and with its messages. History serves them."""

from collections.abc import Iterable, Iterator

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from ranktrail.evaluation.v1.evaluation_service_pb2_grpc import EvaluationServiceStub
from ranktrail_client.link import READ_DEADLINE, WRITE_DEADLINE, Link

REPORT_DEADLINE = 300.0
IMPORT_DEADLINE = 3_600.0


class EvaluationCalls:
    """Keeps cases and judgments, and measures. Every method raises RanktrailError; `timeout` is in seconds."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._stub = EvaluationServiceStub(link.channel)

    def create_evaluation_case(
        self, request: pb.CreateEvaluationCaseRequest, timeout: float = WRITE_DEADLINE
    ) -> pb.CreateEvaluationCaseResponse:
        """Pin a succeeded Run as a case."""
        return self._link.write(self._stub.CreateEvaluationCase, request, timeout)

    def get_evaluation_case(
        self, request: pb.GetEvaluationCaseRequest, timeout: float = READ_DEADLINE
    ) -> pb.GetEvaluationCaseResponse:
        """Return a case with its present judgments."""
        return self._link.read(self._stub.GetEvaluationCase, request, timeout)

    def list_evaluation_cases(
        self, request: pb.ListEvaluationCasesRequest, timeout: float = READ_DEADLINE
    ) -> pb.ListEvaluationCasesResponse:
        """Return one page of cases, newest first; `paging.pages` turns them."""
        return self._link.read(self._stub.ListEvaluationCases, request, timeout)

    def delete_evaluation_case(
        self, request: pb.DeleteEvaluationCaseRequest, timeout: float = WRITE_DEADLINE
    ) -> pb.DeleteEvaluationCaseResponse:
        """Delete a case with its judgments."""
        return self._link.write(self._stub.DeleteEvaluationCase, request, timeout)

    def list_corpus_resources(
        self, request: pb.ListCorpusResourcesRequest, timeout: float = READ_DEADLINE
    ) -> pb.ListCorpusResourcesResponse:
        """Return one page of a case's frozen manifest; `paging.pages` turns them."""
        return self._link.read(self._stub.ListCorpusResources, request, timeout)

    def replace_evaluation_judgments(
        self, request: pb.ReplaceEvaluationJudgmentsRequest, timeout: float = WRITE_DEADLINE
    ) -> pb.ReplaceEvaluationJudgmentsResponse:
        """Replace a case's whole judgment set; repeated like a read, since the request_id makes that safe."""
        return self._link.read(self._stub.ReplaceEvaluationJudgments, request, timeout)

    def list_judgment_versions(
        self, request: pb.ListJudgmentVersionsRequest, timeout: float = READ_DEADLINE
    ) -> pb.ListJudgmentVersionsResponse:
        """Return one page of versions, newest first; `paging.pages` turns them."""
        return self._link.read(self._stub.ListJudgmentVersions, request, timeout)

    def get_benchmark_report(
        self, request: pb.GetBenchmarkReportRequest, timeout: float = REPORT_DEADLINE
    ) -> pb.GetBenchmarkReportResponse:
        """Measure four variants over the chosen cases."""
        return self._link.read(self._stub.GetBenchmarkReport, request, timeout)

    def export_evaluation_set(
        self, request: pb.ExportEvaluationSetRequest, timeout: float | None = None
    ) -> Iterator[pb.ExportEvaluationSetResponse]:
        """Yield the chosen cases as one document, frame by frame."""
        return self._link.stream(self._stub.ExportEvaluationSet, request, timeout)

    def import_evaluation_set(
        self, frames: Iterable[pb.ImportEvaluationSetRequest], timeout: float = IMPORT_DEADLINE
    ) -> pb.ImportEvaluationSetResponse:
        """Read an exported document back."""
        return self._link.send(self._stub.ImportEvaluationSet, frames, timeout)
