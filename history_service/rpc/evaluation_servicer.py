"""EvaluationService: not served by this release; every method says so."""

from typing import Any, NoReturn

import grpc

from history_service.domain.errors import MethodNotServed
from ranktrail.evaluation.v1 import evaluation_service_pb2_grpc

SERVICE = "ranktrail.evaluation.v1.EvaluationService"


class EvaluationServicer(evaluation_service_pb2_grpc.EvaluationServiceServicer):
    """Keeps cases and judgments, and measures."""

    def CreateEvaluationCase(self, request: Any, context: grpc.ServicerContext) -> NoReturn:
        """Refuse."""
        raise MethodNotServed("CreateEvaluationCase")

    def GetEvaluationCase(self, request: Any, context: grpc.ServicerContext) -> NoReturn:
        """Refuse."""
        raise MethodNotServed("GetEvaluationCase")

    def ListEvaluationCases(self, request: Any, context: grpc.ServicerContext) -> NoReturn:
        """Refuse."""
        raise MethodNotServed("ListEvaluationCases")

    def DeleteEvaluationCase(self, request: Any, context: grpc.ServicerContext) -> NoReturn:
        """Refuse."""
        raise MethodNotServed("DeleteEvaluationCase")

    def ListCorpusResources(self, request: Any, context: grpc.ServicerContext) -> NoReturn:
        """Refuse."""
        raise MethodNotServed("ListCorpusResources")

    def ReplaceEvaluationJudgments(self, request: Any, context: grpc.ServicerContext) -> NoReturn:
        """Refuse."""
        raise MethodNotServed("ReplaceEvaluationJudgments")

    def ListJudgmentVersions(self, request: Any, context: grpc.ServicerContext) -> NoReturn:
        """Refuse."""
        raise MethodNotServed("ListJudgmentVersions")

    def GetBenchmarkReport(self, request: Any, context: grpc.ServicerContext) -> NoReturn:
        """Refuse."""
        raise MethodNotServed("GetBenchmarkReport")

    def ExportEvaluationSet(self, request: Any, context: grpc.ServicerContext) -> NoReturn:
        """Refuse."""
        raise MethodNotServed("ExportEvaluationSet")

    def ImportEvaluationSet(self, request: Any, context: grpc.ServicerContext) -> NoReturn:
        """Refuse."""
        raise MethodNotServed("ImportEvaluationSet")
