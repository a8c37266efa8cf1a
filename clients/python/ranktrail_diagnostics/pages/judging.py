"""Saving judgments: under compare-and-set, and with both sides' changes for who was too late."""

import json
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from ranktrail_client import message_json
from ranktrail_client.errors import EvaluationJudgmentConflict
from ranktrail_client.judgment_difference import Judged, JudgmentDifference, read_difference
from ranktrail_client.judgments import parse_judgments
from ranktrail_diagnostics.bodies import whole
from ranktrail_diagnostics.judging_page import embedded
from ranktrail_diagnostics.rendering import render

MAX_JUDGMENTS_BYTES = 1 << 25
"""More than 5,000 judgments with the most text that a case takes, written as JSON."""
CONFLICT = 409


async def save(request: Request) -> Response:
    """Replace a case's judgments by those sent; answer 409 with the three sides when the version is another one."""
    wanted = _wanted(request.path_params["case_id"], await whole(request, MAX_JUDGMENTS_BYTES))
    return await run_in_threadpool(_save, request, wanted)


def _save(request: Request, wanted: pb.ReplaceEvaluationJudgmentsRequest) -> Response:
    evaluation = request.app.state.client.evaluation
    try:
        standing = evaluation.replace_evaluation_judgments(wanted)
    except EvaluationJudgmentConflict:
        difference = read_difference(evaluation, wanted.case_id, wanted.expected_judgment_version, wanted.judgments)
        return _conflict(request, difference)
    return JSONResponse(message_json(standing))


def _wanted(case_id: str, body: bytes) -> pb.ReplaceEvaluationJudgmentsRequest:
    """Read what the page's script sends; raise HTTPException or FieldInvalid."""
    try:
        sent = json.loads(body)
        return pb.ReplaceEvaluationJudgmentsRequest(
            case_id=case_id,
            expected_judgment_version=sent["expected_judgment_version"],
            author=sent["author"],
            request_id=sent["request_id"],
            judgments=parse_judgments(json.dumps(sent["judgments"]).encode("ascii")),
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise HTTPException(400, "What was sent are no judgments.") from error


def _conflict(request: Request, difference: JudgmentDifference) -> Response:
    changed = difference.changed
    document: dict[str, Any] = {
        "version": difference.current_version,
        "unchanged": [_json(one.mine) for one in difference.subjects if one.change == "unchanged" and one.mine],
        "theirs": [_json(one.theirs) for one in difference.subjects if one.theirs],
        "changes": [[_json(side) for side in (one.base, one.theirs, one.mine)] for one in changed],
    }
    return render(
        request,
        "cases/conflict.html",
        CONFLICT,
        difference=difference,
        document=embedded(document),
    )


def _json(judged: Judged) -> dict[str, Any] | None:
    return None if judged is None else message_json(judged)
