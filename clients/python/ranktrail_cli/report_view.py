"""Benchmark reports as a person reads them."""

from collections.abc import Iterable, Iterator, Sequence

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from ranktrail_cli.output import Output
from ranktrail_cli.tables import Column, Table
from ranktrail_cli.trace_view import DASH, MICROSECONDS_PER_MILLISECOND, counted

PLOTTED = "nDCG@10"
BAR_CELLS = 40
_COMPARISON_COLUMNS = (
    Column("measure"),
    Column("variant", yields=2),
    Column("against", yields=2),
    Column("difference", is_number=True),
    Column("95% interval", is_number=True),
    Column("win/tie/loss", is_number=True),
    Column("p (Holm)", is_number=True),
    Column("verdict", yields=1),
)


def print_report(output: Output, report: pb.BenchmarkReport) -> None:
    """Print a whole report."""
    human = f"{report.human_judged_case_count} of them judged by a person"
    output.line(f"{report.quality_gate}; {counted(report.case_count, 'case')}, {human}")
    if not report.case_count:
        return
    output.line()
    print_measures(output, report)
    _print_bars(output, report.variants)
    if report.comparisons:
        output.line()
        output.table(_comparisons_table(report.comparisons))
    output.line()
    _print_funnel(output, report.stage_loss)
    output.line()
    output.note(
        "Four orders of the same source traces over their fused recall sets, measured on the same judgments. Means are "
        "over the cases where a measure is defined. low and high: nDCG@10 if what nobody judged were irrelevant or had "
        "the highest relevance. Milliseconds are of warm Runs."
    )


def print_measures(output: Output, report: pb.BenchmarkReport) -> None:
    """Print a table with a column a variant and a row a measure."""
    variants = report.variants
    table = Table((Column("measure"), Column("scored", yields=1), *(Column(one.variant, True) for one in variants)))
    for means in zip(*(one.measures for one in variants), strict=True):
        table.add(means[0].measure, _scored(means), *(_figure(one, "mean") for one in means))
        if any(one.HasField("low") for one in means):
            for bound in ("low", "high"):
                table.add(f"  {bound}", "", *(_figure(one, bound) for one in means))
    for name in ("p50_us", "p95_us"):
        table.add(f"{name.removesuffix('_us')} ms", "", *(_milliseconds(one, name) for one in variants))
    output.table(table)


def _scored(means: Sequence[pb.MeasureMean]) -> str:
    """Return "n of m", with an n a variant where they differ."""
    counts = [str(one.scored) for one in means]
    return f"{counts[0] if len(set(counts)) == 1 else '/'.join(counts)} of {means[0].total}"


def _figure(message: pb.MeasureMean | pb.VariantComparison, field: str, form: str = ".4f") -> str:
    return format(getattr(message, field), form) if message.HasField(field) else DASH  # type: ignore[arg-type]


def _milliseconds(variant: pb.VariantReport, field: str) -> str:
    if not variant.HasField(field):  # type: ignore[arg-type]
        return DASH
    return f"{getattr(variant, field) / MICROSECONDS_PER_MILLISECOND:.1f}"


def _print_bars(output: Output, variants: Iterable[pb.VariantReport]) -> None:
    means = {one.variant: mean for one in variants for mean in one.measures if mean.measure == PLOTTED}
    if not any(mean.HasField("mean") for mean in means.values()):
        return
    output.line()
    width = max(map(len, means))
    for name, mean in means.items():
        output.line(f"{PLOTTED}  {name:{width}}  {_figure(mean, 'mean')}  {output.bar(mean.mean, BAR_CELLS)}")


def _comparisons_table(comparisons: Iterable[pb.VariantComparison]) -> Table:
    table = Table(_COMPARISON_COLUMNS)
    for one in comparisons:
        interval = f"{_figure(one, 'interval_low', '+.4f')} to {_figure(one, 'interval_high', '+.4f')}"
        table.add(
            one.measure,
            one.variant,
            one.baseline,
            _figure(one, "mean_difference", "+.4f"),
            interval if one.HasField("interval_low") else DASH,
            f"{one.wins}/{one.ties}/{one.losses}",
            _figure(one, "p_value"),
            one.verdict,
        )
    return table


def _print_funnel(output: Output, loss: pb.StageLoss) -> None:
    stages = dict(_stages(loss))
    width = max(map(len, stages))
    for name, count in stages.items():
        share = count / loss.relevant_count if loss.relevant_count else 0.0
        output.line(f"{name:{width}}  {count:>6}  {share:>5.0%}  {output.bar(share, BAR_CELLS // 2)}".rstrip())
    causes = sorted(loss.lost_counts.items(), key=lambda cause: (-cause[1], cause[0]))
    if causes:
        output.line("lost: " + ", ".join(f"{name} {count}" for name, count in causes))


def _stages(loss: pb.StageLoss) -> Iterator[tuple[str, int]]:
    yield "relevant judgments", loss.relevant_count
    yield "recalled by the lexical leg", loss.lexical_recalled_count
    yield "recalled by the dense leg", loss.dense_recalled_count
    yield "in the fused set", loss.fused_count
    yield "seen by the reranker", loss.reranked_count
    yield "returned", loss.returned_count
