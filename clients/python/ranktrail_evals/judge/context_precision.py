"""context_precision: whether useful contexts come first."""

from collections.abc import Sequence

from ranktrail_evals.cases import Case
from ranktrail_evals.judge.port import Judge, JudgeFailed, Verdicts
from ranktrail_evals.judge.statements import RAGAS, words_held
from ranktrail_evals.passages import Context
from ranktrail_evals.scores import Definition, Direction, Reason, Score

DEFINITION = Definition(
    name="context_precision",
    direction=Direction.HIGHER,
    threshold=0.5,
    meaning="average precision over the ranks of the contexts that are useful for the reference answer: sum of "
    "precision@k at useful ranks / useful contexts; 0 where none is",
    source="context precision of the ragas library, 0.4, after " + RAGAS,
)
ASKED = (
    "For each context, in the given order, say whether it is useful to arrive at the reference answer to the question. "
    "Give exactly one verdict a context."
)
_USEFUL_SHARE = 0.5


class Usefulness(Verdicts):
    """Whether each context is useful, in the order of the contexts."""

    verdicts: list[bool]


async def context_precision(case: Case, judge: Judge) -> Score:
    """Return the average precision of the contexts by the judge's verdicts."""
    contexts = _contexts(case)
    if isinstance(contexts, Reason):
        return contexts
    material = {
        "question": case.record.question,
        "reference_answer": case.record.reference_answer,
        "contexts": [context.text for context in contexts],
    }
    found = await judge.ask(ASKED, material, Usefulness)
    if len(found.verdicts) != len(contexts):
        raise JudgeFailed(f"the judge gave {len(found.verdicts)} verdicts on {len(contexts)} contexts")
    return average_precision(found.verdicts)


def lexical_context_precision(case: Case) -> Score:
    """Return the average precision where a context is useful that has half of the reference answer's words."""
    contexts = _contexts(case)
    if isinstance(contexts, Reason):
        return contexts
    shares = [words_held(case.record.reference_answer, (context,)) for context in contexts]
    return average_precision([not isinstance(share, Reason) and share >= _USEFUL_SHARE for share in shares])


def average_precision(useful: Sequence[bool]) -> float:
    """Return the mean of precision@k over the useful ranks k; 0 where none is."""
    ranks = [rank for rank, one in enumerate(useful, start=1) if one]
    return sum(count / rank for count, rank in enumerate(ranks, start=1)) / len(ranks) if ranks else 0.0


def _contexts(case: Case) -> tuple[Context, ...] | Reason:
    contexts = case.contexts
    return contexts if isinstance(contexts, Reason) or contexts else Reason.NO_CONTEXTS
