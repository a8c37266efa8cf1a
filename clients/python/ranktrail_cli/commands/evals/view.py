"""Results of evaluations as text."""

from ranktrail_cli.output import Output
from ranktrail_cli.tables import Column, Table
from ranktrail_cli.trace_view import counted
from ranktrail_evals.comparison import Comparison, MetricComparison
from ranktrail_evals.results.model import GateExit, Outcome, Result
from ranktrail_evals.results.words import DASH, number, open_reasons, reasons_text, threshold


def print_result(output: Output, result: Result) -> None:
    """Print a run: its metrics, its failing cases, and what decided."""
    output.line(f"{result.dataset} {result.dataset_version}, {_records(result)}, {result.mode}")
    output.line()
    output.table(_metrics(result))
    if result.label_counts:
        output.line()
        output.table(_failing_cases(result))
    output.line()
    output.note(_verdict(result))


def print_comparison(output: Output, comparison: Comparison) -> None:
    """Print a comparison: each metric, then what got worse, came or went."""
    output.line(f"{comparison.dataset}: {comparison.baseline} and {comparison.candidate}")
    output.line()
    output.table(_deltas(comparison))
    for one in comparison.regressions:
        output.line(
            f"worse     {one.record_id}  {one.metric} {one.baseline:.3f}, now {one.candidate:.3f}{_run(one.run_id)}"
        )
    for lost in comparison.lost_values:
        output.line(f"no value  {lost.record_id}  {lost.metric} ({lost.reason})")
    for record_id in comparison.missing_cases:
        output.line(f"missing   {record_id}")
    for record_id in comparison.new_cases:
        output.line(f"new       {record_id}")


def _records(result: Result) -> str:
    split = "" if result.split is None else f" of split {result.split}"
    sample = "" if result.sample is None else f", drawn by seed {result.seed}"
    return f"{counted(len(result.records), 'record')}{split}{sample}"


def _metrics(result: Result) -> Table:
    table = Table(
        (
            Column("metric"),
            Column("value", is_number=True),
            Column("passes"),
            Column("outcome"),
            Column("required", yields=2),
            Column("scored"),
            Column("lexical", is_number=True, yields=2),
            Column("without a value", yields=1),
        )
    )
    for name, metric in result.metrics.items():
        baseline = result.lexical_baselines.get(name)
        table.add(
            name,
            number(metric.value),
            threshold(metric),
            metric.outcome,
            "yes" if name in result.required else "no",
            f"{metric.scored} of {metric.total}",
            "" if baseline is None else number(baseline.value),
            reasons_text(result, name),
            style="bold" if metric.outcome is Outcome.FAIL and name in result.required else "",
        )
    return table


def _failing_cases(result: Result) -> Table:
    table = Table((Column("failing case"), Column("labels"), Column("Run", yields=1)))
    for record in result.records:
        if record.labels:
            table.add(record.record_id, ", ".join(record.labels), record.run_id or DASH)
    return table


def _verdict(result: Result) -> str:
    code = result.exit_code
    if code is GateExit.PASSED:
        return f"PASS: {', '.join(result.required)}"
    failed = [
        name for name in result.required if name in result.metrics and result.metrics[name].outcome is Outcome.FAIL
    ]
    if failed:
        return f"FAIL: {', '.join(failed)}"
    return "UNAVAILABLE: " + "; ".join(_open(result, name) for name in result.required if _open(result, name))


def _open(result: Result, name: str) -> str:
    metric = result.metrics[name]
    if metric.outcome is Outcome.UNAVAILABLE or open_reasons(result, name):
        return f"{name} scored {metric.scored} of {metric.total} ({reasons_text(result, name)})"
    return ""


def _deltas(comparison: Comparison) -> Table:
    table = Table(
        (
            Column("metric"),
            Column("baseline", is_number=True),
            Column("candidate", is_number=True),
            Column("delta", is_number=True),
            Column("95% interval", yields=1),
            Column("better", is_number=True),
            Column("worse", is_number=True),
            Column("paired", is_number=True),
            Column("", yields=1),
        )
    )
    for name, one in comparison.metrics.items():
        table.add(
            name,
            number(one.baseline),
            number(one.candidate),
            DASH if one.delta is None else f"{one.delta:+.3f}",
            _interval(one),
            str(one.better),
            str(one.worse),
            str(one.paired),
            "REGRESSED" if one.is_regression else "",
        )
    return table


def _interval(one: MetricComparison) -> str:
    return DASH if one.interval is None else f"{one.interval[0]:+.3f} to {one.interval[1]:+.3f}"


def _run(run_id: str | None) -> str:
    return "" if run_id is None else f"  Run {run_id}"
