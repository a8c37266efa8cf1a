"""Benchmark reports as messages; what is undefined stays absent."""

from history_service.evaluation import results
from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb


def report_message(report: results.BenchmarkReport) -> pb.BenchmarkReport:
    """Return a report as a message."""
    return pb.BenchmarkReport(
        quality_gate=report.quality_gate,
        case_count=report.case_count,
        human_judged_case_count=report.human_judged_case_count,
        variants=map(_variant, report.variants),
        comparisons=map(_comparison, report.comparisons),
        stage_loss=_stage_loss(report.stage_loss),
        cases=map(_case, report.cases),
    )


def _variant(variant: results.VariantReport) -> pb.VariantReport:
    measures = [
        pb.MeasureMean(
            measure=mean.measure, mean=mean.mean, scored=mean.scored, total=mean.total, low=mean.low, high=mean.high
        )
        for mean in variant.measures
    ]
    return pb.VariantReport(variant=variant.variant, measures=measures, p50_us=variant.p50_us, p95_us=variant.p95_us)


def _comparison(comparison: results.VariantComparison) -> pb.VariantComparison:
    return pb.VariantComparison(
        variant=comparison.variant,
        baseline=comparison.baseline,
        measure=comparison.measure,
        mean_difference=comparison.mean_difference,
        interval_low=comparison.interval_low,
        interval_high=comparison.interval_high,
        wins=comparison.wins,
        ties=comparison.ties,
        losses=comparison.losses,
        p_value=comparison.p_value,
        verdict=comparison.verdict,
    )


def _stage_loss(loss: results.StageLoss) -> pb.StageLoss:
    return pb.StageLoss(
        relevant_count=loss.relevant_count,
        lexical_recalled_count=loss.lexical_recalled_count,
        dense_recalled_count=loss.dense_recalled_count,
        fused_count=loss.fused_count,
        reranked_count=loss.reranked_count,
        returned_count=loss.returned_count,
        lost_counts=loss.lost_counts,
    )


def _case(case: results.CaseReport) -> pb.CaseReport:
    return pb.CaseReport(
        case_id=case.case_id,
        judgment_version=case.judgment_version,
        variants=map(_case_variant, case.variants),
        stage_loss=_stage_loss(case.stage_loss),
    )


def _case_variant(variant: results.CaseVariantReport) -> pb.CaseVariantReport:
    measures = [
        pb.MeasureValue(measure=one.measure, value=one.value, low=one.low, high=one.high) for one in variant.measures
    ]
    return pb.CaseVariantReport(variant=variant.variant, measures=measures)
