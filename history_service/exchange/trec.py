"""TREC files: judgments and rankings as `trec_eval` and its successors read them.

The measures of these files are those of the benchmark report. The files name what a judgment is of, and not every unit
by itself: see `Matching.docnos`. A case without a relevant judgment is left out, since the report leaves it out of its
means and these readers would count it as 0.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import BinaryIO
from urllib.parse import quote

from history_service.domain.case import EvaluationCase, Judgment
from history_service.evaluation.fused_set import FusedSet
from history_service.evaluation.judged_case import JudgedCase
from history_service.evaluation.matching import Matching, judgment_id
from history_service.evaluation.variants import VARIANTS

QRELS, TOPICS = "qrels.txt", "topics.tsv"
RUNS = tuple(f"{variant.name}.run" for variant in VARIANTS)
FILES = (QRELS, *RUNS, TOPICS)


def write_trec(cases: Iterable[tuple[EvaluationCase, JudgedCase]], files: Mapping[str, BinaryIO]) -> None:
    """Write cases, in case_id order, to files named as FILES."""
    for case, judged in cases:
        if any(judgment.relevance for judgment in judged.judgments):
            for name, lines in _lines(case, judged):
                files[name].write("".join(lines).encode("utf-8"))


def escaped(identifier: str) -> str:
    """Return an id as one column: white space, control characters and "%" as %XX of their UTF-8 bytes."""
    if identifier.isascii() and identifier.isprintable() and not {" ", "%"} & set(identifier):
        return identifier
    return "".join(quote(one, safe="") if _is_unsafe(one) else one for one in identifier)


def _is_unsafe(character: str) -> bool:
    return character == "%" or character.isspace() or not character.isprintable()


def _lines(case: EvaluationCase, judged: JudgedCase) -> Iterator[tuple[str, Iterable[str]]]:
    units = FusedSet.of(judged.units)
    matching = Matching(units, judged.judgments)
    yield QRELS, _qrels(case.case_id, judged.judgments)
    for name, variant in zip(RUNS, VARIANTS, strict=True):
        yield name, _run(case.case_id, matching.docnos(variant.order(units)), variant.name)
    yield TOPICS, [f"{case.case_id}\t{_one_line(case.query)}\n"]


def _qrels(case_id: str, judgments: Sequence[Judgment]) -> list[str]:
    return [f"{case_id} 0 {escaped(judgment_id(one))} {one.relevance}\n" for one in judgments]


def _run(case_id: str, docnos: Sequence[str], tag: str) -> list[str]:
    # The score is what readers sort by, and they break ties each in their own way: so none ties.
    return [
        f"{case_id} Q0 {escaped(docno)} {rank} {len(docnos) - rank + 1} {tag}\n"
        for rank, docno in enumerate(docnos, start=1)
    ]


def _one_line(query: str) -> str:
    return "".join(one if one.isprintable() else " " for one in query)
