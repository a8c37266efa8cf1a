"""Judgments: from their messages to domain values, unchecked, and their versions back.

What a set may hold depends on its case, so it is checked where the case is known.
"""

from history_service.domain.case import Judgment, JudgmentVersion
from history_service.rpc.convert import judgment_message
from history_service.rpc.fields import timestamp
from history_service.rpc.words import JUDGMENT_SOURCES
from history_service.use_cases.replace_judgments import Replacement
from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb


def replacement(request: pb.ReplaceEvaluationJudgmentsRequest) -> Replacement:
    """Read a new judgment set."""
    return Replacement(
        case_id=request.case_id,
        expected_version=request.expected_judgment_version,
        author=request.author,
        request_id=request.request_id,
        judgments=tuple(map(judgment, request.judgments)),
    )


def judgment(message: pb.EvaluationJudgment) -> Judgment:
    """Read a judgment; a relevance that is absent is -1, and a source that is none of ours is empty."""
    return Judgment(
        resource_id=message.resource_id,
        unit_key=message.unit_key if message.HasField("unit_key") else None,
        relevance=message.relevance if message.HasField("relevance") else -1,
        missed=message.missed,
        notes=message.notes,
        source=JUDGMENT_SOURCES.get(message.source, ""),
    )


def version_message(version: JudgmentVersion) -> pb.JudgmentVersion:
    """Return a version as a message."""
    return pb.JudgmentVersion(
        judgment_version=version.judgment_version,
        author=version.author,
        judge_time=timestamp(version.judge_time_us),
        judgments=map(judgment_message, version.judgments),
    )
