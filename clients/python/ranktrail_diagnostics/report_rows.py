"""A benchmark report as the rows that tables and drawings share, so that both have the same numbers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from ranktrail_client.trace_words import optional

VARIANTS = {
    "b1_bm25": "B1 BM25",
    "b2_dense_vector": "B2 dense",
    "b3_hybrid_rrf": "B3 fusion",
    "b4_reranked": "B4 reranked",
}
MEASURES = ("nDCG@10", "R@20", "RR", "Judged@10", "resource_diversity", "scope_violation", "stale_result")
LOSSES = {"not_recalled": "no leg recalled it"}
"""Fates of relevant evidence that are no exclusion of a candidate."""


def variant_name(variant: str) -> str:
    """Return a variant's name for people; one that this release does not know keeps its word."""
    return VARIANTS.get(variant, variant.replace("_", " "))


@dataclass(frozen=True, slots=True)
class MeasureRow:
    """One measure over the variants of a report, in their order."""

    measure: str
    means: list[pb.MeasureMean]

    @property
    def has_bounds(self) -> bool:
        """Whether it has a range for what nobody judged."""
        return any(one.HasField("low") for one in self.means)

    @property
    def scored(self) -> str:
        """On how many of the cases it is defined, with a number a variant where they differ."""
        counts = [str(one.scored) for one in self.means]
        return f"scored {counts[0] if len(set(counts)) == 1 else '/'.join(counts)} of {self.means[0].total}"


def measure_rows(report: pb.BenchmarkReport) -> list[MeasureRow]:
    """Return a row a measure, in the report's order."""
    columns = [variant.measures for variant in report.variants]
    return [MeasureRow(means[0].measure, list(means)) for means in zip(*columns, strict=True)]


@dataclass(frozen=True, slots=True)
class Step:
    """How many relevant judgments a stage still had."""

    name: str
    count: int
    share: float


def funnel(loss: pb.StageLoss) -> list[Step]:
    """Return the stages of a report's stage loss, from all relevant judgments to those returned."""
    counts = (
        ("relevant judgments", loss.relevant_count),
        ("recalled by the lexical leg", loss.lexical_recalled_count),
        ("recalled by the dense leg", loss.dense_recalled_count),
        ("in the fused set", loss.fused_count),
        ("seen by the reranker", loss.reranked_count),
        ("returned", loss.returned_count),
    )
    return [Step(name, count, count / loss.relevant_count if loss.relevant_count else 0.0) for name, count in counts]


@dataclass(frozen=True, slots=True)
class CaseDifference:
    """What a measure is for one case under two variants."""

    case_id: str
    value: float
    baseline: float

    @property
    def difference(self) -> float:
        """Variant minus baseline."""
        return self.value - self.baseline


def case_differences(cases: Iterable[pb.CaseReport], measure: str, variant: str, baseline: str) -> list[CaseDifference]:
    """Return the cases where both have the measure, largest difference first, then by case id."""
    found = []
    for case in cases:
        values = case_values(case, measure)
        value, other = values.get(variant), values.get(baseline)
        if value is not None and other is not None:
            found.append(CaseDifference(case.case_id, value, other))
    return sorted(found, key=lambda one: (-one.difference, one.case_id))


def case_values(case: pb.CaseReport, measure: str) -> Mapping[str, float | None]:
    """Return a measure of one case by variant, None where it is undefined."""
    return {
        variant.variant: optional(one, "value")
        for variant in case.variants
        for one in variant.measures
        if one.measure == measure
    }
