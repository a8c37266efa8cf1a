"""`ranktrail evals run`: measures a dataset and gates on the result."""

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ranktrail_cli.commands.evals.files import make_folder, write_files, write_json
from ranktrail_cli.commands.evals.refusals import with_refusals
from ranktrail_cli.commands.evals.sources import LiveOptions, opened_sources
from ranktrail_cli.commands.evals.view import print_result
from ranktrail_cli.completing import ProjectField
from ranktrail_cli.examples import examples
from ranktrail_cli.progress import shown_progress
from ranktrail_cli.session import Session, with_session
from ranktrail_evals.dataset.discovery import find_dataset
from ranktrail_evals.dataset.model import Record
from ranktrail_evals.dataset.selection import selected_records
from ranktrail_evals.evaluation import evaluate
from ranktrail_evals.gate import Gate, make_gate
from ranktrail_evals.judge.address import check_endpoint
from ranktrail_evals.results.model import GateExit, JudgeIdentity, Result
from ranktrail_evals.results.summary import Stamp, Subject, make_result
from ranktrail_evals.runner import Evaluated, Limits, Runner

KEY_VARIABLE = "RANKTRAIL_JUDGE_KEY"
_NO_GENERATOR = "no generator is named, so there are no answers: --require retrieval_recall gates on what is retrieved"
_SECONDS = click.FloatRange(min=0, min_open=True)

_SELECTION = (
    click.option("--dataset", "name", required=True, help="A dataset's name, or the path of its file."),
    click.option("--version", help="Default: the newest."),
    click.option("--dataset-dir", type=click.Path(path_type=Path), help="A folder with datasets of yours."),
    click.option("--split", help="Only this split. Default: all records."),
    click.option("--sample", type=click.IntRange(min=1), help="Only so many records, drawn by --seed."),
    click.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Draws the sample; also the judge's."
    ),
)
_GATE = (
    click.option("--require", "required", multiple=True, metavar="METRIC", help="What gates; may be repeated."),
    click.option(
        "--threshold", "thresholds", multiple=True, metavar="METRIC>=X", help="Where it passes; it then gates, too."
    ),
)
_SOURCES = (
    click.option("--offline", is_flag=True, help="Measure the answers and contexts that the dataset holds."),
    click.option("--project", type=ProjectField("--project"), help="Ask the running ranker for this project's memory."),
    click.option("--profile", help="The ranking profile. Default: the ranker's."),
    click.option(
        "--generator-url", help="An OpenAI-compatible endpoint that answers, such as http://127.0.0.1:8080/v1."
    ),
    click.option("--generator-model", help="The model that answers. Without one there are no answers to measure."),
)
_LIMITS = (
    click.option("--concurrency", type=click.IntRange(1, 256), default=4, show_default=True, help="Calls at once."),
    click.option(
        "--case-timeout",
        type=_SECONDS,
        default=120.0,
        show_default=True,
        help="Seconds for a case's retrieval, for its answer and for each judged metric, each from its own start.",
    ),
    click.option("--metric-timeout", type=_SECONDS, help="Seconds for each judged metric, where they are others."),
)
_JUDGE = (
    click.option("--judge-url", help="An OpenAI-compatible endpoint, such as http://127.0.0.1:8080/v1."),
    click.option("--judge-model", help="The model that judges."),
    click.option("--judge-embedding-model", help="For answer_relevancy. Default: word counts instead of embeddings."),
)


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed((*_SOURCES, *_SELECTION, *_GATE, *_LIMITS, *_JUDGE)):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """Who judges; the key, where the endpoint wants one, is in the environment."""

    url: str
    model: str
    embedding_model: str | None

    @classmethod
    def checked(
        cls, url: str | None, model: str | None, embedding_model: str | None, *, allow_remote: bool
    ) -> "JudgeOptions | None":
        """Return the judge, None where none is configured; raise UsageError for half of one."""
        if url is None and model is None and embedding_model is None:
            return None
        if url is None or model is None:
            raise click.UsageError("a judge needs both --judge-url and --judge-model")
        check_endpoint("--judge-url", url, allow_remote=allow_remote)
        return cls(url, model, embedding_model)


@dataclass(frozen=True, slots=True)
class Plan:
    """One run, checked."""

    subject: Subject
    records: Sequence[Record]
    gate: Gate
    limits: Limits
    judge: JudgeOptions | None
    live: LiveOptions | None
    folder: Path
    stamp: Stamp


@click.command(
    epilog=examples(
        "ranktrail evals run --offline --dataset localrag-scope",
        "ranktrail evals run --project docs --dataset mine.json --require retrieval_recall",
        "ranktrail evals run --offline --dataset mine.json --split test --json",
        "ranktrail evals run --offline --dataset localrag-core --require retrieval_recall --threshold 'f1>=0.4'",
        "ranktrail evals run --offline --dataset mine.json --judge-url http://127.0.0.1:8080/v1 --judge-model qwen3",
    )
)
@_options
@click.option("--output", "folder", type=click.Path(path_type=Path), help="Default: evals in the data directory.")
@with_session
@with_refusals
def run(session: Session, **options: Any) -> None:
    """Measure a dataset; exit with 0 when every required metric passes.

    With --offline, what the dataset declares; with --project, what the running ranker retrieves, each question a Run,
    and what the generator answers, where one is named.

    1: a required metric misses its threshold. 6: a required metric has no value, or not for every case that asks for
    one. Without --require, the metrics gate that need no judge and whose annotations the dataset has. The result is
    written as JSON, as an HTML page and as JUnit XML.

    The keys of a judge and a generator that want one are read from $RANKTRAIL_JUDGE_KEY and $RANKTRAIL_GENERATOR_KEY.
    """
    plan = _plan(session, **options)
    make_folder(plan.folder)
    result = asyncio.run(_result(session, plan))
    written = write_files(plan.folder, result)
    if session.output.as_json:
        session.output.document(result.model_dump(mode="json"))
    else:
        print_result(session.output, result)
    session.output.remark(f"result: {written}")
    if plan.live is not None and plan.live.generator_url is None and result.exit_code is GateExit.INCOMPLETE:
        session.output.remark(_NO_GENERATOR)
    if result.exit_code:
        raise click.exceptions.Exit(result.exit_code)


def _plan(
    session: Session,
    *,
    offline: bool,
    project: str | None,
    profile: str | None,
    generator_url: str | None,
    generator_model: str | None,
    name: str,
    version: str | None,
    dataset_dir: Path | None,
    split: str | None,
    sample: int | None,
    seed: int,
    required: tuple[str, ...],
    thresholds: tuple[str, ...],
    concurrency: int,
    case_timeout: float,
    metric_timeout: float | None,
    judge_url: str | None,
    judge_model: str | None,
    judge_embedding_model: str | None,
    folder: Path | None,
) -> Plan:
    live = LiveOptions.checked(
        offline=offline,
        project=project,
        profile=profile,
        generator_url=generator_url,
        generator_model=generator_model,
        allow_remote=session.allow_remote,
    )
    judge = JudgeOptions.checked(judge_url, judge_model, judge_embedding_model, allow_remote=session.allow_remote)
    dataset = find_dataset(name, version, dataset_dir)
    records = selected_records(dataset, split, sample, seed)
    identity = None if judge is None else JudgeIdentity(model=judge.model, embedding_model=judge.embedding_model)
    mode = "offline" if live is None else "live"
    return Plan(
        subject=Subject(dataset, split, sample, seed, mode, identity, None if live is None else live.identity),
        records=records,
        gate=make_gate(records, required, thresholds),
        limits=Limits(concurrency, case_timeout, metric_timeout or case_timeout),
        judge=judge,
        live=live,
        folder=folder or session.data_dir / "evals",
        stamp=Stamp.now(dataset.dataset_id),
    )


async def _result(session: Session, plan: Plan) -> Result:
    def store(evaluated: Sequence[Evaluated]) -> None:
        write_json(plan.folder, make_result(plan.subject, plan.stamp, plan.gate, evaluated, is_complete=False))

    seed = plan.subject.seed
    async with AsyncExitStack() as stack:
        progress = stack.enter_context(shown_progress(""))
        sources = await stack.enter_async_context(opened_sources(session, plan.live, plan.limits, seed, progress))
        judge = None if plan.judge is None else await stack.enter_async_context(_endpoint(plan.judge, seed))
        runner = Runner(plan.limits, progress.step)
        found = await evaluate(runner, plan.records, sources.retriever, sources.answerer, judge, store)
    return make_result(plan.subject, plan.stamp, plan.gate, found)


def _endpoint(options: JudgeOptions, seed: int) -> Any:
    from ranktrail_evals.judge.endpoint import EndpointJudge  # noqa: PLC0415 - half a second that most runs do not need

    return EndpointJudge(
        options.url,
        options.model,
        api_key=os.environ.get(KEY_VARIABLE),
        embedding_model=options.embedding_model,
        seed=seed,
    )
