"""The cases of EvaluationService."""

from collections.abc import Iterable, Iterator
from typing import Any

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from tests import evaluation_sets, history_cases
from tests.rpc_cases.case import Requests, RpcCases
from tests.rpc_cases.world import World

STALE = 7
"""A judgment version that no new case has."""


def _replacement(case_id: str, expected: int = 1, **judgment: Any) -> list[pb.ReplaceEvaluationJudgmentsRequest]:
    return [
        pb.ReplaceEvaluationJudgmentsRequest(
            case_id=case_id,
            expected_judgment_version=expected,
            author="ada",
            request_id="request-1",
            judgments=[history_cases.a_judgment(**judgment)],
        )
    ]


def _exported(world: World) -> bytes:
    return evaluation_sets.exported(world.history, case_ids=[world.case().case_id])


def _fixture(world: World) -> Iterator[pb.ImportEvaluationSetRequest]:
    document = _exported(world)
    yield pb.ImportEvaluationSetRequest(content=document[:100])
    yield pb.ImportEvaluationSetRequest(content=document[100:])


def _damaged_fixture(world: World) -> Iterable[Any]:
    fixture = evaluation_sets.read(_exported(world))
    fixture["bodies"][0]["content"] = "other"
    return [pb.ImportEvaluationSetRequest(content=evaluation_sets.signed(fixture))]


def _damaged_case(world: World) -> Iterable[Any]:
    bodies = world.new_body()
    case = world.case(bodies=bodies, candidates=1)
    world.damage(bodies["doc-0001"])
    return [pb.ExportEvaluationSetRequest(case_ids=[case.case_id])]


def _of_no_case(request: type[Any], **fields: Any) -> dict[str, Requests]:
    return {"CASE_NOT_FOUND": lambda world: [request(case_id=world.new("nobody"), **fields)]}


def _of_no_cases(request: type[Any]) -> dict[str, Requests]:
    return {"CASE_NOT_FOUND": lambda world: [request(case_ids=[world.new("nobody")])]}


def _foreign_token(request: type[Any]) -> dict[str, Requests]:
    return {"PAGE_TOKEN_INVALID": lambda world: [request(case_id=world.case().case_id, page_token="?")]}  # noqa: S106


_EVALUATION = "ranktrail.evaluation.v1.EvaluationService"
CASES = {
    f"{_EVALUATION}.CreateEvaluationCase": RpcCases(
        requests=lambda world: [pb.CreateEvaluationCaseRequest(run_id=world.run())],
        answers=lambda responses: responses[0].evaluation_case.judgment_version == 1,
        refusals={
            "RUN_NOT_FOUND": lambda world: [pb.CreateEvaluationCaseRequest(run_id=world.new("nobody"))],
            "RUN_NOT_SUCCEEDED": lambda world: [pb.CreateEvaluationCaseRequest(run_id=world.failed_run())],
            "FIELD_INVALID": lambda world: [pb.CreateEvaluationCaseRequest(run_id=world.run(), category="c" * 129)],
        },
    ),
    f"{_EVALUATION}.GetEvaluationCase": RpcCases(
        requests=lambda world: [pb.GetEvaluationCaseRequest(case_id=world.case().case_id)],
        answers=lambda responses: responses[0].evaluation_case.resource_count == 6,
        refusals=_of_no_case(pb.GetEvaluationCaseRequest),
    ),
    f"{_EVALUATION}.ListEvaluationCases": RpcCases(
        requests=lambda world: [pb.ListEvaluationCasesRequest(page_size=1, project_id=world.case().project_id)],
        answers=lambda responses: len(responses[0].evaluation_cases) == 1,
        refusals={
            "FIELD_INVALID": lambda _world: [pb.ListEvaluationCasesRequest(page_size=-1)],
            "PAGE_TOKEN_INVALID": lambda _world: [pb.ListEvaluationCasesRequest(page_token="?")],  # noqa: S106
        },
    ),
    f"{_EVALUATION}.DeleteEvaluationCase": RpcCases(
        requests=lambda world: [
            pb.DeleteEvaluationCaseRequest(case_id=world.case().case_id, expected_judgment_version=1)
        ],
        answers=lambda responses: len(responses) == 1,
        refusals={
            **_of_no_case(pb.DeleteEvaluationCaseRequest, expected_judgment_version=1),
            "EVALUATION_JUDGMENT_CONFLICT": lambda world: [
                pb.DeleteEvaluationCaseRequest(case_id=world.case().case_id, expected_judgment_version=STALE)
            ],
        },
    ),
    f"{_EVALUATION}.ListCorpusResources": RpcCases(
        requests=lambda world: [pb.ListCorpusResourcesRequest(case_id=world.case().case_id, page_size=2)],
        answers=lambda responses: (len(responses[0].resources), responses[0].resource_count) == (2, 6),
        refusals={
            **_of_no_case(pb.ListCorpusResourcesRequest),
            **_foreign_token(pb.ListCorpusResourcesRequest),
        },
    ),
    f"{_EVALUATION}.ReplaceEvaluationJudgments": RpcCases(
        requests=lambda world: _replacement(world.case().case_id),
        answers=lambda responses: responses[0].judgment_version == 2,
        refusals={
            "CASE_NOT_FOUND": lambda world: _replacement(world.new("nobody")),
            "EVALUATION_JUDGMENT_CONFLICT": lambda world: _replacement(world.case().case_id, STALE),
            "FIELD_INVALID": lambda world: _replacement(world.case().case_id, relevance=4),
        },
    ),
    f"{_EVALUATION}.ListJudgmentVersions": RpcCases(
        requests=lambda world: [pb.ListJudgmentVersionsRequest(case_id=world.case().case_id)],
        answers=lambda responses: [version.judgment_version for version in responses[0].versions] == [1],
        refusals={
            **_of_no_case(pb.ListJudgmentVersionsRequest),
            **_foreign_token(pb.ListJudgmentVersionsRequest),
        },
    ),
    f"{_EVALUATION}.GetBenchmarkReport": RpcCases(
        requests=lambda world: [pb.GetBenchmarkReportRequest(case_ids=[world.case().case_id])],
        answers=lambda responses: len(responses[0].report.variants) == 4,
        refusals={
            **_of_no_cases(pb.GetBenchmarkReportRequest),
            "FIELD_INVALID": lambda _world: [pb.GetBenchmarkReportRequest(project_id="p" * 513)],
        },
    ),
    f"{_EVALUATION}.ExportEvaluationSet": RpcCases(
        requests=lambda world: [pb.ExportEvaluationSetRequest(case_ids=[world.case().case_id])],
        answers=lambda responses: responses[0].content.startswith(b"{"),
        refusals={**_of_no_cases(pb.ExportEvaluationSetRequest), "BLOB_CORRUPT": _damaged_case},
    ),
    f"{_EVALUATION}.ImportEvaluationSet": RpcCases(
        requests=_fixture,
        answers=lambda responses: responses[0].already_existing_case_count == 1,
        refusals={
            "FIXTURE_INVALID": lambda _world: [pb.ImportEvaluationSetRequest(content=b"{}")],
            "BLOB_DIGEST_MISMATCH": _damaged_fixture,
        },
    ),
}
