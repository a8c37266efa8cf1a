"""The judge over a real connection: what it says in shape counts, and nothing else of it does."""

import asyncio
import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

import pytest

from ranktrail_evals.cases import Case
from ranktrail_evals.errors import EndpointRemote, OptionInvalid
from ranktrail_evals.evaluation import evaluate
from ranktrail_evals.judge import answer_relevancy, context_precision, statements
from ranktrail_evals.judge.address import check_endpoint
from ranktrail_evals.judge.catalog import JUDGED
from ranktrail_evals.judge.endpoint import INSTRUCTION, EndpointJudge
from ranktrail_evals.runner import Limits, Runner, evaluated
from ranktrail_evals.scores import Reason, Score
from tests.fakes.judge_server import Dies, JudgeServer, Request, Sleeps, good_reply, judge_server, material, shape
from tests.unit.evals.made import a_case, a_record

CASE = a_case(a_record(question="Which one is it?"), answer="It is this one.", contexts=["It is this one.", "Not it."])
NAMES = [metric.definition.name for metric in JUDGED]


def asked(case: Case, server: JudgeServer, *, seconds: float = 5, **options: Any) -> dict[str, Score]:
    """Return the judged scores of one case."""

    async def run() -> dict[str, Score]:
        settings: dict[str, Any] = {"api_key": None, "embedding_model": None, "seed": 7, **options}
        found = evaluated(case, judge_configured=True)
        async with EndpointJudge(server.url, "m", **settings) as judge:
            await Runner(Limits(8, seconds, seconds), lambda *_: None).judge([found], judge)
        return {name: found.scores[name] for name in NAMES}

    return asyncio.run(run())


def saying(reply_of: Mapping[str, Any]) -> Callable[[Request], str]:
    """Return a judge that answers some shapes as given, the others well."""

    def reply(request: Request) -> str:
        return json.dumps(reply_of[shape(request)]) if shape(request) in reply_of else good_reply(request)

    return reply


def test_each_metric_asks_once_and_is_what_its_definition_says() -> None:
    verdicts = {
        "SupportedStatements": {"statements": [{"statement": "s", "supported": at < 3} for at in range(4)]},
        "MadeUpStatements": {"statements": [{"statement": "s", "made_up": at < 1} for at in range(4)]},
        "Questions": {"questions": ["Which one is it?", "something else"]},
        "Usefulness": {"verdicts": [False, True]},
    }
    with judge_server(saying(verdicts)) as server:
        found = asked(CASE, server)
    assert len(server.requests) == len(JUDGED)
    assert found == {
        "faithfulness": 3 / 4,
        "hallucination_rate": 1 / 4,
        "answer_relevancy": pytest.approx((1 + 0) / 2),
        "context_precision": 1 / 2,
        "context_recall": 3 / 4,
    }


def test_the_request_has_a_schema_a_seed_no_temperature_and_only_the_material() -> None:
    with judge_server() as server:
        asked(CASE, server)
    request = next(one for one in server.requests if shape(one) == "SupportedStatements")
    assert request["response_format"]["type"] == "json_schema"
    assert request["response_format"]["json_schema"]["strict"] is True
    assert (request["temperature"], request["seed"], request["model"]) == (0, 7, "m")
    assert set(material(request)) == {"text", "contexts"}


@pytest.mark.parametrize(
    "content",
    [
        "0.8/10",
        "0.8",
        "",
        "null",
        "[]",
        "{}",
        "I would say yes.",
        '{"statements": []}',
        '{"statements": [{"statement": "s", "supported": "yes"}]}',
        '{"statements": [{"statement": "s", "supported": 0.8}]}',
        '{"statements": [{"statement": "s", "supported": true}], "more": 1}',
        '```json\n{"statements": [{"statement": "s", "supported": true}]}\n```',
    ],
)
def test_an_answer_out_of_shape_is_an_error_of_that_metric_alone(content: str) -> None:
    def reply(request: Request) -> str:
        is_faithfulness = shape(request) == "SupportedStatements" and material(request)["text"] == "It is this one."
        return content if is_faithfulness else good_reply(request)

    with judge_server(reply) as server:
        found = asked(CASE, server)
    assert found["faithfulness"] is Reason.JUDGE_ERROR
    assert not [name for name in NAMES[1:] if isinstance(found[name], Reason)]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("context_precision", {"Usefulness": {"verdicts": [True]}}),
        ("context_precision", {"Usefulness": {"verdicts": [True] * 3}}),
        ("answer_relevancy", {"Questions": {"questions": []}}),
    ],
)
def test_verdicts_on_something_else_are_no_verdicts(name: str, said: Mapping[str, Any]) -> None:
    with judge_server(saying(said)) as server:
        assert asked(CASE, server)[name] is Reason.JUDGE_ERROR


def test_a_judge_that_sleeps_is_timed_out_and_its_connection_closed() -> None:
    def reply(request: Request) -> str:
        if shape(request) == "Usefulness":
            raise Sleeps
        return good_reply(request)

    with judge_server(reply) as server:
        found = asked(CASE, server, seconds=0.5)
        assert server.hung_up.wait(5)
    assert found.pop("context_precision") is Reason.JUDGE_TIMEOUT
    assert not [score for score in found.values() if isinstance(score, Reason)]


def test_a_judge_that_dies_in_the_middle_is_an_error_of_that_metric_alone() -> None:
    def reply(request: Request) -> str:
        if shape(request) == "MadeUpStatements":
            raise Dies
        return good_reply(request)

    with judge_server(reply) as server:
        found = asked(CASE, server)
    assert found.pop("hallucination_rate") is Reason.JUDGE_ERROR
    assert not [score for score in found.values() if isinstance(score, Reason)]


def test_a_judge_that_is_not_there_is_an_error() -> None:
    with judge_server() as server:
        pass
    assert set(asked(CASE, server).values()) == {Reason.JUDGE_ERROR}


def test_a_judge_is_asked_nothing_where_there_is_nothing_to_judge() -> None:
    with judge_server() as server:
        unanswered = asked(a_case(answer=Reason.NO_ANSWER, contexts=[]), server)
        bare = asked(a_case(answer="It is.", contexts=[]), server)
    assert [shape(one) for one in server.requests] == ["Questions"]
    assert unanswered == {
        "faithfulness": Reason.NO_ANSWER,
        "hallucination_rate": Reason.NO_ANSWER,
        "answer_relevancy": Reason.NO_ANSWER,
        "context_precision": Reason.NO_CONTEXTS,
        "context_recall": 0.0,
    }
    assert bare["faithfulness"] is Reason.NO_CONTEXTS


def test_embeddings_are_used_where_a_model_is_named() -> None:
    with judge_server(saying({"Questions": {"questions": ["Which one is it??"]}})) as server:
        found = asked(CASE, server, embedding_model="e")
    assert found["answer_relevancy"] == pytest.approx(1 / 2**0.5)
    assert next(one for one in server.requests if "input" in one)["model"] == "e"


def test_the_lexical_baselines_need_nobody() -> None:
    found = evaluated(CASE, judge_configured=False).lexical_baselines
    assert found["faithfulness"] == 1.0
    assert found["hallucination_rate"] == 0.0
    assert found["context_recall"] == 1.0
    assert found["context_precision"] == 1.0
    assert found["answer_relevancy"] == pytest.approx(3 / (4**0.5 * 4**0.5))


def test_no_proxy_key_or_redirect_of_the_environment_gets_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    with judge_server() as server, judge_server() as elsewhere:
        monkeypatch.setenv("HTTP_PROXY", elsewhere.url)
        monkeypatch.setenv("ALL_PROXY", elsewhere.url)
        monkeypatch.setenv("OPENAI_API_KEY", "secret")
        monkeypatch.setenv("OPENAI_ORG_ID", "secret")
        monkeypatch.setenv("OPENAI_BASE_URL", elsewhere.url)
        found = asked(CASE, server)
        assert "secret" not in json.dumps(server.headers)
    assert not elsewhere.requests
    assert not [score for score in found.values() if isinstance(score, Reason)]


def test_a_redirect_is_not_followed() -> None:
    with judge_server() as elsewhere, judge_server() as server:
        server.redirect_to = elsewhere.url
        assert set(asked(CASE, server).values()) == {Reason.JUDGE_ERROR}
    assert not elsewhere.requests


def test_no_more_judges_are_asked_at_once_than_the_concurrency_allows() -> None:
    class Offline:
        async def retrieve(self, record: Any) -> Any:
            return CASE.retrieval

        async def answer(self, record: Any, retrieval: Any) -> Any:
            return CASE.answer

    async def run(server: JudgeServer) -> None:
        async with EndpointJudge(server.url, "m", api_key=None, embedding_model=None, seed=0) as judge:
            records = [a_record(record_id=f"r{at}") for at in range(4)]
            await evaluate(Runner(Limits(2, 5, 5), lambda *_: None), records, Offline(), Offline(), judge)

    with judge_server() as server:
        asyncio.run(run(server))
    assert len(server.requests) == 20
    assert server.most_active <= 2


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/v1", "http://[::1]:1/v1", "https://localhost/v1", "http://127.9.9.9"]
)
def test_an_endpoint_on_this_machine_may_be_asked(url: str) -> None:
    check_endpoint("--judge-url", url, allow_remote=False)


@pytest.mark.parametrize(
    "url",
    ["http://192.0.2.1/v1", "https://judge.example/v1", "http://127.0.0.1.judge.example/v1", "http://2130706433/"],
)
def test_an_endpoint_elsewhere_needs_a_permission(url: str) -> None:
    with pytest.raises(EndpointRemote, match=r"--judge-url .* add --allow-remote"):
        check_endpoint("--judge-url", url, allow_remote=False)
    check_endpoint("--judge-url", url, allow_remote=True)


@pytest.mark.parametrize(
    "url", ["127.0.0.1:80", "ftp://127.0.0.1", "http://", "http://u:p@127.0.0.1/", "http://[::1", "http://a:b/"]
)
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(OptionInvalid, match="is no"):
        check_endpoint("--judge-url", url, allow_remote=True)


def test_a_changed_question_is_a_changed_contract() -> None:
    """The judge's questions are part of what a value means: who changes one counts `contract` of its metric up."""
    asked = (statements.SUPPORTED, statements.UNSUPPORTED, answer_relevancy.ASKED, context_precision.ASKED)
    contracts = [metric.definition.contract for metric in JUDGED]
    digest = sha256(json.dumps([INSTRUCTION, asked, contracts]).encode()).hexdigest()[:16]
    assert digest == "dbe9426a80426678"
