"""The evaluation service's methods, each under its name in the contract and with its messages. History serves them."""

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from ranktrail_client.async_link import AsyncCalls
from ranktrail_client.link import Calls
from ranktrail_client.method import READ_DEADLINE, WRITE_DEADLINE
from ranktrail_client.methods import Stream, Unary, Upload

REPORT_DEADLINE = 300.0
IMPORT_DEADLINE = 3_600.0


class EvaluationMethods:
    """Keeps cases and judgments, and measures."""

    SERVICE = "ranktrail.evaluation.v1.EvaluationService"

    create_evaluation_case = Unary(
        pb.CreateEvaluationCaseRequest, pb.CreateEvaluationCaseResponse, WRITE_DEADLINE, repeats=False
    )
    """Pin a succeeded Run as a case."""

    get_evaluation_case = Unary(pb.GetEvaluationCaseRequest, pb.GetEvaluationCaseResponse, READ_DEADLINE)
    """Return a case with its present judgments."""

    list_evaluation_cases = Unary(pb.ListEvaluationCasesRequest, pb.ListEvaluationCasesResponse, READ_DEADLINE)
    """Return one page of cases, newest first; `paging` turns them."""

    delete_evaluation_case = Unary(
        pb.DeleteEvaluationCaseRequest, pb.DeleteEvaluationCaseResponse, WRITE_DEADLINE, repeats=False
    )
    """Delete a case with its judgments."""

    list_corpus_resources = Unary(pb.ListCorpusResourcesRequest, pb.ListCorpusResourcesResponse, READ_DEADLINE)
    """Return one page of a case's frozen manifest; `paging` turns them."""

    replace_evaluation_judgments = Unary(
        pb.ReplaceEvaluationJudgmentsRequest, pb.ReplaceEvaluationJudgmentsResponse, WRITE_DEADLINE
    )
    """Replace a case's whole judgment set; repeated like a read, since the request_id makes that safe."""

    list_judgment_versions = Unary(pb.ListJudgmentVersionsRequest, pb.ListJudgmentVersionsResponse, READ_DEADLINE)
    """Return one page of versions, newest first; `paging` turns them."""

    get_benchmark_report = Unary(pb.GetBenchmarkReportRequest, pb.GetBenchmarkReportResponse, REPORT_DEADLINE)
    """Measure four variants over the chosen cases."""

    export_evaluation_set = Stream(pb.ExportEvaluationSetRequest, pb.ExportEvaluationSetResponse)
    """Yield the chosen cases as one document, frame by frame."""

    import_evaluation_set = Upload(
        pb.ImportEvaluationSetRequest, pb.ImportEvaluationSetResponse, IMPORT_DEADLINE, repeats=False
    )
    """Read an exported document back."""


class EvaluationCalls(EvaluationMethods, Calls):
    """The evaluation service's calls, each of which waits for its answer."""


class AsyncEvaluationCalls(EvaluationMethods, AsyncCalls):
    """The evaluation service's calls, each of which is awaited."""
