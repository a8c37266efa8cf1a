"""The faithfulness metric beside its lexical baseline, on answers whose attribution people labelled.

BEGIN, Wizard of Wikipedia, dev: each response is an answer whose only context is its knowledge snippet. Prints the AUC
of each, which is how often an attributable response has a higher value than one that is not, ties counted half. The
judge is SmolLM2 from its package, or whatever endpoint is named.

    python bench/faithfulness.py [--sample 150] [--judge-url URL --judge-model NAME] [--json]
"""

import argparse
import asyncio
import contextlib
import csv
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass

import corpora
import smollm2
from scipy.stats import mannwhitneyu

from ranktrail_evals.answers import Answer
from ranktrail_evals.cases import Case
from ranktrail_evals.contexts import Retrieval
from ranktrail_evals.dataset.model import Record
from ranktrail_evals.judge.endpoint import EndpointJudge
from ranktrail_evals.judge.port import JudgeFailed
from ranktrail_evals.judge.statements import faithfulness, lexical_faithfulness
from ranktrail_evals.passages import Context
from ranktrail_evals.scores import Reason

ATTRIBUTABLE = "Fully attributable"
SECONDS = 120.0


@dataclass(frozen=True)
class Labelled:
    """A case and what people say of it."""

    case: Case
    is_attributable: bool


def labelled() -> list[Labelled]:
    """Read every response."""
    with (corpora.DATA / "begin-wow-dev" / "begin_dev_wow.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [
        Labelled(
            _case(str(number), row["message"], row["knowledge"], row["response"]), row["begin_label"] == ATTRIBUTABLE
        )
        for number, row in enumerate(rows)
    ]


def _case(number: str, message: str, knowledge: str, response: str) -> Case:
    record = Record(record_id=number, question=message, reference_answer="")
    return Case(record, Retrieval((Context(knowledge),), None), Answer(response))


async def judged(cases: Sequence[Labelled], url: str, model: str) -> list[float | None]:
    """Ask the judge about one case after another; None where it gave no answer in shape."""
    found: list[float | None] = []
    async with EndpointJudge(url, model, api_key=None, embedding_model=None, seed=0) as judge:
        for one in cases:
            value: float | None = None
            with contextlib.suppress(JudgeFailed, TimeoutError):
                async with asyncio.timeout(SECONDS):
                    score = await faithfulness(one.case, judge)
                    value = None if isinstance(score, Reason) else score
            found.append(value)
    return found


def lexical(one: Labelled) -> float | None:
    """Return the baseline's value."""
    score = lexical_faithfulness(one.case)
    return None if isinstance(score, Reason) else score


def auc(cases: Sequence[Labelled], values: Sequence[float | None]) -> float:
    """Return the area under the ROC curve: U / (n1 n2) (Mann and Whitney, 1947), over the cases that have a value."""
    pairs = [(one.is_attributable, value) for one, value in zip(cases, values, strict=True) if value is not None]
    yes, no = ([value for label, value in pairs if label is wanted] for wanted in (True, False))
    return float(mannwhitneyu(yes, no).statistic) / (len(yes) * len(no))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--sample", type=int, default=150, help="responses that the judge is asked about, drawn by seed 0"
    )
    parser.add_argument("--judge-url", help="default: SmolLM2 from its package")
    parser.add_argument("--judge-model", default=smollm2.MODEL)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    everything = labelled()
    sample = random.Random(0).sample(everything, min(options.sample, len(everything)))
    with contextlib.ExitStack() as stack:
        url = options.judge_url or stack.enter_context(smollm2.served())
        values = asyncio.run(judged(sample, url, options.judge_model))
    answered = [one for one, value in zip(sample, values, strict=True) if value is not None]
    found = {
        "model": options.judge_model,
        "asked": len(sample),
        "answered": len(answered),
        "judge_auc": auc(sample, values),
        "lexical_auc_answered": auc(answered, [lexical(one) for one in answered]),
        "lexical_auc_sample": auc(sample, [lexical(one) for one in sample]),
        "lexical_auc_all": auc(everything, [lexical(one) for one in everything]),
        "responses": len(everything),
    }
    print(json.dumps(found) if options.json else "\n".join(f"{name:22}{value}" for name, value in found.items()))


if __name__ == "__main__":
    main()
