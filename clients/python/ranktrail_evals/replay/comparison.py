"""Traces of today beside the frozen ones, case by case."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np

from ranktrail_evals.measures import judged
from ranktrail_evals.replay.fixture import FrozenCase
from ranktrail_evals.replay.following import CorpusUnits, Followed, Following, as_judged
from ranktrail_evals.replay.matching import RETURNED as RETURNED_FATE
from ranktrail_evals.replay.measured import Measured, measured
from ranktrail_evals.replay.model import (
    CaseChange,
    Contestant,
    Coverage,
    Difference,
    FailedCase,
    JudgmentChange,
    Measure,
    RevisionChange,
)
from ranktrail_evals.replay.orders import ORDERS, RETURNED
from ranktrail_evals.replay.trace import Trace
from ranktrail_evals.significance import Differences, bootstrap_interval, corrected_p_values

_PLACES = 12
"""Differences that are 0 after rounding to so many places are ties: sums in another order differ in the last one."""

PAIRS = tuple((order.name, measure) for order in ORDERS for measure in Measure)
"""Every comparison of a profile, in the order of reports."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A case before and now, on the same judgments."""

    case: FrozenCase
    now: Trace
    followed: Sequence[Followed]
    before_measures: Measured
    now_measures: Measured

    def delta(self, order: str, measure: str) -> float | None:
        """Return now - before, None where one of the two is undefined."""
        before, now = self.before_measures.values[order, measure], self.now_measures.values[order, measure]
        return None if before is None or now is None else round(now - before, _PLACES)


@dataclass(frozen=True, slots=True)
class Ranked:
    """Every case of a set under one profile, in case_id order: the pairs, and those that were not ranked."""

    profile: str
    pairs: Sequence[Pair]
    failed: Sequence[FailedCase]


def ranked(profile: str, corpora: Sequence[Sequence[tuple[FrozenCase, Trace]]]) -> Ranked:
    """Pair the cases of each corpus with their traces of today."""
    pairs, failed = [], []
    for corpus in corpora:
        units = CorpusUnits([now for _, now in corpus])
        for case, now in corpus:
            if now.failure is not None:
                failed.append(FailedCase(case_id=case.case_id, failure=now.failure))
                continue
            followed = units.follow(case, now)
            before = measured(case.trace, as_judged(case.judgments))
            pairs.append(Pair(case, now, followed, before, measured(now, followed)))
    return Ranked(
        profile,
        sorted(pairs, key=lambda pair: pair.case.case_id),
        sorted(failed, key=lambda one: one.case_id),
    )


def contestants(profiles: Sequence[Ranked]) -> tuple[Contestant, ...]:
    """Compare every profile; Holm's correction is over all comparisons of all of them."""
    rows = [_deltas(one.pairs, order, measure) for one in profiles for order, measure in PAIRS]
    p_values = iter(corrected_p_values(rows))
    return tuple(
        Contestant(
            profile=one.profile,
            revisions=_revisions(one.pairs),
            judgments=_judgments(one.pairs),
            differences=tuple(_difference(one.pairs, *pair, next(p_values)) for pair in PAIRS),
            coverage=tuple(_coverage(one.pairs, order.name) for order in ORDERS),
            changes=tuple(change for pair in one.pairs if (change := _change(pair)) is not None),
            failed=tuple(one.failed),
        )
        for one in profiles
    )


def _deltas(pairs: Sequence[Pair], order: str, measure: str) -> Differences:
    found = (pair.delta(order, measure) for pair in pairs)
    return np.array([one for one in found if one is not None], dtype=np.float64)


def _difference(pairs: Sequence[Pair], order: str, measure: Measure, p_value: float | None) -> Difference:
    shared = [pair for pair in pairs if pair.delta(order, measure) is not None]
    deltas = _deltas(shared, order, measure)
    return Difference(
        order=order,
        measure=measure,
        baseline=_mean([pair.before_measures.values[order, measure] for pair in shared]),
        value=_mean([pair.now_measures.values[order, measure] for pair in shared]),
        difference=_mean(deltas.tolist()),
        interval=bootstrap_interval(deltas) if deltas.any() else None,
        p_value=p_value,
        paired=len(shared),
        better=int((deltas > 0).sum()),
        worse=int((deltas < 0).sum()),
    )


def _coverage(pairs: Sequence[Pair], order: str) -> Coverage:
    key = (order, judged.NAME)
    return Coverage(
        order=order,
        baseline=_mean([pair.before_measures.values[key] for pair in pairs]),
        value=_mean([pair.now_measures.values[key] for pair in pairs]),
    )


def _judgments(pairs: Sequence[Pair]) -> dict[Following, int]:
    counts = Counter(one.following for pair in pairs for one in pair.followed)
    return {following: counts[following] for following in Following}


def _revisions(pairs: Sequence[Pair]) -> tuple[RevisionChange, ...]:
    names = pairs[0].now.revisions if pairs else ()
    return tuple(
        RevisionChange(revision=name, before=_all(pairs, name, now=False), now=_all(pairs, name, now=True))
        for name in names
        if any(pair.case.trace.revisions[name] != pair.now.revisions[name] for pair in pairs)
    )


def _all(pairs: Sequence[Pair], name: str, *, now: bool) -> tuple[str, ...]:
    return tuple(sorted({(pair.now if now else pair.case.trace).revisions[name] for pair in pairs}))


def _change(pair: Pair) -> CaseChange | None:
    before, now = pair.before_measures.fates, pair.now_measures.fates
    changed = [name for name in before if (before[name] == RETURNED_FATE) != (now[name] == RETURNED_FATE)]
    differences = {measure: pair.delta(RETURNED, measure) for measure in Measure}
    if not changed and not any(differences.values()):
        return None
    lost = [JudgmentChange(judgment=one, stage=now[one]) for one in changed if before[one] == RETURNED_FATE]
    gained = [JudgmentChange(judgment=one, stage=before[one]) for one in changed if now[one] == RETURNED_FATE]
    return CaseChange(
        case_id=pair.case.case_id,
        run_id=pair.case.run_id,
        differences=differences,
        lost=tuple(lost),
        gained=tuple(gained),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    found = [one for one in values if one is not None]
    return round(fsum(found) / len(found), _PLACES) if found else None
