"""What a report says of a set of cases."""

from dataclasses import replace

from history_service.evaluation.fused_set import RankedUnit
from history_service.evaluation.report import benchmark_report
from history_service.rpc.candidates import candidate_rows
from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from ranktrail.history.v1 import history_service_pb2
from tests.history_builders import a_candidate
from tests.unit.evaluation.cases import a_case, a_judgment, ranked


def test_the_quality_gate_stays_open_whoever_judged() -> None:
    for source in ("human", "import", "model"):
        report = benchmark_report([a_case(ranked("A#1"), [a_judgment("A", 3, source)])])
        assert report.quality_gate == "production quality gate: open"


def test_only_cases_with_a_persons_judgment_count_as_human_judged() -> None:
    cases = [
        a_case(ranked("A#1"), [a_judgment("A", 3, "model"), a_judgment("B", 0, "human")], case_id="1"),
        a_case(ranked("A#1"), [a_judgment("A", 3, "import"), a_judgment("B", 3, "model")], case_id="2"),
        a_case(ranked("A#1"), case_id="3"),
    ]
    report = benchmark_report(cases, with_comparisons=False)
    assert (report.human_judged_case_count, report.case_count) == (1, 3)


def test_every_variant_has_every_measure_in_the_order_of_the_contract() -> None:
    report = benchmark_report([a_case(ranked("A#1"), {"A": 1})], with_comparisons=False)
    names = ["R@20", "nDCG@10", "RR", "Judged@10", "resource_diversity", "scope_violation", "stale_result"]
    assert [variant.variant for variant in report.variants] == [
        "b1_bm25",
        "b2_dense_vector",
        "b3_hybrid_rrf",
        "b4_reranked",
    ]
    for variant, of_case in zip(report.variants, report.cases[0].variants, strict=True):
        assert [measure.measure for measure in variant.measures] == names
        assert [measure.measure for measure in of_case.measures] == names


def test_cases_stand_in_the_order_of_their_ids_with_their_judgment_versions() -> None:
    cases = [a_case(case_id="b", judgment_version=7), a_case(case_id="a", judgment_version=3)]
    report = benchmark_report(iter(cases), with_comparisons=False)
    assert [(case.case_id, case.judgment_version) for case in report.cases] == [("a", 3), ("b", 7)]


def test_comparisons_may_be_left_out() -> None:
    assert benchmark_report([a_case()], with_comparisons=False).comparisons == ()


def test_what_is_reported_has_the_names_of_the_contracts_fields() -> None:
    report = benchmark_report([a_case(ranked("A#1"), {"A": 1})])
    for value, message in (
        (report, pb.BenchmarkReport),
        (report.variants[0], pb.VariantReport),
        (report.comparisons[0], pb.VariantComparison),
        (report.stage_loss, pb.StageLoss),
        (report.cases[0], pb.CaseReport),
        (report.cases[0].variants[0], pb.CaseVariantReport),
    ):
        assert list(type(value).__slots__) == [field.name for field in message.DESCRIPTOR.fields]
    assert sorted(type(report.variants[0].measures[0]).__slots__) == sorted(pb.MeasureMean.DESCRIPTOR.fields_by_name)
    assert list(report.cases[0].variants[0].measures[0]._fields) == list(pb.MeasureValue.DESCRIPTOR.fields_by_name)


def test_a_candidate_of_a_run_is_read_by_the_names_of_its_columns() -> None:
    frame = history_service_pb2.CandidateFrame(candidates=[a_candidate(3, exact_rank=9, dense_rank=None)])
    (candidate,) = candidate_rows(frame)
    unit = RankedUnit.of(candidate)
    assert unit._asdict() == {name: getattr(candidate, name) for name in RankedUnit._fields}
    assert (unit.exact_rank, unit.dense_rank, unit.exclusion_reason) == (9, None, "token_budget")


def test_a_plain_row_is_as_good_as_a_unit() -> None:
    case = a_case(ranked("A#1", "B#1"), {"B": 2})
    assert benchmark_report([replace(case, units=[unit[:] for unit in case.units])]) == benchmark_report([case])
