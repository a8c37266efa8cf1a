"""The measures of a replay against history's own and ir_measures."""

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import RR, Judged, R

from history_service.evaluation import significance as historys
from history_service.evaluation.measures import judged, ndcg, recall, reciprocal_rank
from ranktrail_evals import significance
from ranktrail_evals.replay.measured import MEASURES

relevances = st.lists(st.one_of(st.none(), st.integers(0, 3)), max_size=30)
missed = st.lists(st.integers(0, 3), max_size=5)


@given(relevances, missed)
@settings(max_examples=200, deadline=None)
def test_the_measures_are_historys_bit_for_bit(found: list[int | None], missed: list[int]) -> None:
    every = [one for one in found if one is not None] + missed
    relevant = sum(map(bool, every))
    assert MEASURES["R@20"](found, every) == recall.recall(found, relevant)
    assert MEASURES["nDCG@10"](found, every) == ndcg.ndcg(found, ndcg.ideal_dcg(every))
    assert MEASURES["RR"](found, every) == reciprocal_rank.reciprocal_rank(found, relevant)
    assert MEASURES["Judged@10"](found, every) == judged.judged(found, len(every))


@given(relevances.filter(bool), missed)
@settings(max_examples=60, deadline=None)
def test_the_measures_are_those_of_ir_measures(found: list[int | None], missed: list[int]) -> None:
    every = [one for one in found if one is not None] + missed
    if not any(every):
        return
    qrels = {f"d{place}": one for place, one in enumerate(found) if one is not None}
    qrels |= {f"m{place}": one for place, one in enumerate(missed)}
    run = {f"d{place}": float(len(found) - place) for place in range(len(found))}
    theirs = ir_measures.calc_aggregate([R @ 20, RR, Judged @ 10], {"q": qrels}, {"q": run})
    for measure in (R @ 20, RR):
        assert MEASURES[str(measure)](found, every) == pytest.approx(theirs[measure])
    if len(found) >= 10:  # ir_measures divides by ten, however few units there are
        assert MEASURES["Judged@10"](found, every) == pytest.approx(theirs[Judged @ 10])


@given(st.lists(st.floats(-1, 1).filter(bool), min_size=2, max_size=20))
@settings(max_examples=5, deadline=None)
def test_the_sign_flip_test_is_historys(differences: list[float]) -> None:
    row = np.array(differences)
    assert significance.sign_flip_p(row) == historys.sign_flip_p(row)
