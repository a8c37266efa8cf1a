"""Cases that hypothesis makes, and their TREC form: ties, units of one resource, missed and unjudged ones.

The names of the TREC form are made here a second time, straight from the rule, so that they are a check as well.
"""

from collections.abc import Iterable, Mapping, Sequence
from random import Random

from hypothesis import strategies as st

from history_service.evaluation.fused_set import FusedSet
from history_service.evaluation.judged_case import JudgedCase
from history_service.evaluation.matching import Matching, judgment_id
from history_service.evaluation.variants import Variant
from tests.unit.evaluation.cases import a_case, a_unit

_RESOURCES = [f"R{number:02d}" for number in range(14)]
_UNIT_KEYS = [f"{resource}#{unit}" for resource in _RESOURCES for unit in "123"]
# A seed for the order costs hypothesis less of its budget than drawing one, which leaves it for more cases.
_LISTS = st.builds(lambda size, seed: Random(seed).sample(_UNIT_KEYS, size), st.integers(0, 36), st.integers(0, 2**16))
_TARGETS = st.sampled_from([*_RESOURCES, *_RESOURCES, *_UNIT_KEYS, "missed", "another missed"])
_JUDGMENTS = st.dictionaries(_TARGETS, st.integers(0, 3), max_size=14)
_RERANKED = 24


def _case(case_id: str, parts: tuple[list[str], list[str], int, Mapping[str, int]]) -> JudgedCase:
    lexical, dense, tie_width, judgments = parts
    fused = list(dict.fromkeys([*lexical, *dense]))
    units = [
        a_unit(
            key,
            exact_rank=1 + lexical.index(key) if key in lexical[5:8] else None,
            bm25_rank=1 + lexical.index(key) if key in lexical else None,
            dense_rank=1 + dense.index(key) // tie_width if key in dense else None,
            rrf_rank=1 + place,
            reranker_rank=_RERANKED - place if place < _RERANKED else None,
        )
        for place, key in enumerate(fused)
    ]
    return a_case(units, judgments, case_id=case_id)


CASE_SETS = st.lists(st.tuples(_LISTS, _LISTS, st.sampled_from([1, 2, 5]), _JUDGMENTS), min_size=10, max_size=30).map(
    lambda sets: [_case(f"case-{number:02d}", parts) for number, parts in enumerate(sets)]
)
"""Sets of cases whose rankings have up to 42 units of 14 resources; the dense ranks may tie."""


def is_defined(case: JudgedCase) -> bool:
    """Whether something in the case is relevant."""
    return any(judgment.relevance for judgment in case.judgments)


def qrels(cases: Iterable[JudgedCase]) -> dict[str, dict[str, int]]:
    """The judgments of cases by case and docno."""
    return {case.case_id: {judgment_id(j): j.relevance for j in case.judgments} for case in cases}


def run(case: JudgedCase, variant: Variant) -> dict[str, float]:
    """The ranking of one variant as scores by docno, strictly decreasing."""
    units = FusedSet.of(case.units)
    ranking = variant.order(units)
    names = Matching(units, case.judgments).docnos(ranking)
    assert names == _names([case.units[place][0] for place in ranking], {judgment_id(j) for j in case.judgments})
    assert len(set(names)) == len(names)
    return {name: float(len(names) - at) for at, name in enumerate(names)}


def _names(unit_keys: Sequence[str], judged: set[str]) -> list[str]:
    """Name units by the rule: a judged unit by itself, else its resource if that is judged and not named yet."""
    names: list[str] = []
    for unit_key in unit_keys:
        resource_id = unit_key.partition("#")[0]
        whole = unit_key not in judged and resource_id in judged and resource_id not in names
        names.append(resource_id if whole else unit_key)
    return names
