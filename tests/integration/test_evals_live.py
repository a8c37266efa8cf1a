"""`ranktrail evals run --project`: a real ranker retrieves, each question is a Run, a generator answers."""

import json
from pathlib import Path
from typing import Any

import pytest

from ranktrail.history.v1 import history_service_pb2 as history_pb
from ranktrail_client.client import Client
from ranktrail_client.run_delivery import delivered_run
from tests.collections import Command, commands_on
from tests.fakes.judge_server import Request, judge_server, material, shape
from tests.memories import remember
from tests.processes import Stack
from tests.unit.evals.made import dataset_json, record_json

PAGES = {
    "lamp.md": "# Lamp\n\nThe lamp is lit at sunset and put out at dawn.\n",
    "horn.md": "# Horn\n\nThe horn sounds in fog, twice a minute.\n",
    "keeper.md": "# Keeper\n\nThe keeper writes down every ship that passes the rock.\n",
}
LIT, SOUNDS = "The lamp is lit at sunset and put out at dawn.", "The horn sounds in fog, twice a minute."


@pytest.fixture
def command(stack: Stack, capsys: pytest.CaptureFixture[str]) -> Command:
    remember(stack.ranker_stub, "light", PAGES)
    return commands_on(stack.data_dir, capsys)


def a_record(record_id: str, question: str, answer: str, citation_id: str, text: str | None = None) -> dict[str, Any]:
    return record_json(
        record_id,
        question=question,
        reference_answer=answer,
        citations=[{"citation_id": citation_id, "source": "s", "text": text}],
        judgments=[{"citation_id": citation_id, "relevant": True}],
    )


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    records = [
        a_record("by-text", "When is the lamp lit?", "at sunset", "lamp", LIT),
        a_record("by-resource", "How often does the horn sound?", "twice a minute", "horn.md"),
        a_record("missed", "What does the keeper write down?", "ships", "boat", "A boat brings bread on Mondays."),
    ]
    path = tmp_path / "light.json"
    path.write_text(json.dumps(dataset_json(*records, dataset_id="light")))
    return path


def by_record(found: dict[str, Any], metric: str) -> dict[str, Any]:
    return {one["record_id"]: one["metrics"][metric] for one in found["records"]}


def test_without_a_generator_the_retrieval_is_measured_and_the_answers_are_unavailable(
    stack: Stack, command: Command, dataset: Path
) -> None:
    ended = command(
        "evals", "run", "--project", "light", "--dataset", dataset, "--require", "retrieval_recall", "--json"
    )
    found = ended.json
    assert (ended.code, found["exit_code"], found["mode"]) == (1, 1, "live")
    assert found["live"] == {"project_id": "light", "profile": "", "generator": None}
    recall = by_record(found, "retrieval_recall")
    assert {name: one["value"] for name, one in recall.items()} == {"by-text": 1.0, "by-resource": 1.0, "missed": 0.0}
    assert {one["reason"] for one in by_record(found, "f1").values()} == {"no_answer"}
    assert found["metrics"]["f1"]["outcome"] == found["metrics"]["exact_match"]["outcome"] == "UNAVAILABLE"
    with Client.connect(stack.data_dir) as client:
        for record in found["records"]:
            run = delivered_run(client, record["run_id"]).run
            assert (run.project_id, run.state) == ("light", history_pb.RetrievalRun.STATE_SUCCEEDED)


def test_required_by_default_are_the_answers_too_so_without_a_generator_a_run_is_incomplete(
    command: Command, dataset: Path
) -> None:
    options = ("evals", "run", "--project", "light", "--dataset", dataset, "--threshold", "retrieval_recall>=0.6")
    ended = command(*options, "--require", "exact_match")
    assert ended.code == 6
    assert "UNAVAILABLE: exact_match scored 0 of 3 (no_answer 3)" in ended.out
    assert "no generator is named" in ended.err
    assert command(*options, "--require", "retrieval_recall").code == 0


ANSWERS = {"When is the lamp lit?": (LIT, "At sunset."), "How often does the horn sound?": (SOUNDS, "Twice a minute.")}


def answers(request: Request) -> str:
    """Answer two questions, citing the contexts that say it, and the third one out of shape."""
    assert shape(request) == "GeneratedAnswer"
    given = material(request)
    if given["question"] not in ANSWERS:
        return "no idea"
    text, answer = ANSWERS[given["question"]]
    return json.dumps(
        {"answer": answer, "contexts": [one["number"] for one in given["contexts"] if text in one["text"]]}
    )


def test_a_generator_answers_from_the_contexts_and_cites_them(command: Command, dataset: Path) -> None:
    with judge_server(answers) as server:
        found = command(
            "evals", "run", "--project", "light", "--dataset", dataset, "--generator-url", server.url,
            "--generator-model", "m", "--json",
        ).json  # fmt: skip
    assert found["live"]["generator"] == "m"
    assert {name: one["value"] for name, one in by_record(found, "exact_match").items()} == {
        "by-text": 1.0, "by-resource": 1.0, "missed": None,
    }  # fmt: skip
    assert by_record(found, "f1")["missed"]["reason"] == "answer_error"
    assert {name: one["value"] for name, one in by_record(found, "citation_accuracy").items()} == {
        "by-text": 1.0, "by-resource": 1.0, "missed": None,
    }  # fmt: skip
    (label,) = [one["labels"] for one in found["records"] if one["record_id"] == "missed"]
    assert "evaluator_failure" in label


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        ((), 2, "name one of --offline and --project"),
        (("--offline", "--project", "light"), 2, "name one of --offline and --project"),
        (("--offline", "--generator-model", "m"), 2, "are for --project"),
        (("--project", "light", "--generator-model", "m"), 2, "needs both --generator-url and --generator-model"),
        (
            ("--project", "light", "--generator-model", "m", "--generator-url", "http://192.0.2.1/v1"),
            5,
            "add --allow-remote",
        ),
        (("--project", "nowhere"), 5, "nowhere"),
        (("--project", "light", "--profile", "none"), 5, "none"),
    ],
)
def test_a_wrong_source_ends_in_one_sentence_and_its_exit_code(
    command: Command, dataset: Path, options: tuple[str, ...], code: int, sentence: str
) -> None:
    ended = command("evals", "run", "--dataset", dataset, *options)
    assert ended.code == code, ended.err
    assert sentence in ended.err.splitlines()[-1]


def test_without_a_ranker_a_live_run_ends_as_unreachable(
    tmp_path: Path, dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = commands_on(tmp_path / "home", capsys)("evals", "run", "--dataset", dataset, "--project", "light")
    assert (ended.code, "ranker cannot be reached" in ended.err) == (3, True)
