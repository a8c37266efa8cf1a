"""A real language model judges over the wire: structured output of an OpenAI-compatible endpoint becomes values."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import smollm2
from tests.collections import commands_on

pytestmark = pytest.mark.slow

JUDGED = ("faithfulness", "hallucination_rate", "answer_relevancy", "context_precision", "context_recall")
OFFLINE = ("evals", "run", "--offline", "--dataset", "localrag-cited", "--sample", "1", "--json")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    try:
        with smollm2.served() as url:
            yield url
    except smollm2.NotInstalled as missing:
        pytest.skip(str(missing))


def test_a_small_model_judges_and_every_value_has_a_reason_or_a_number(
    endpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = commands_on(tmp_path / "home", capsys)
    alone = command(*OFFLINE).json
    ended = command(*OFFLINE, "--judge-url", endpoint, "--judge-model", smollm2.MODEL, "--concurrency", "1")
    found = json.loads(ended.out)
    assert (ended.code, found["judge"]["model"], found["is_complete"]) == (0, smollm2.MODEL, True)
    answered = 0
    for record, before in zip(found["records"], alone["records"], strict=True):
        for name, value in record["metrics"].items():
            if name not in JUDGED:
                assert value == before["metrics"][name]
            elif value["value"] is None:
                assert value["reason"] == "judge_error"
            else:
                answered += 1
    # A model of this size does not always end its answer.
    assert answered
    assert found["lexical_baselines"]["faithfulness"]["scored"] == len(found["records"])
