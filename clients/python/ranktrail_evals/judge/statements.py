"""Metrics over a text's statements: faithfulness, hallucination_rate, context_recall."""

from ranktrail_evals.cases import Case
from ranktrail_evals.judge.port import Judge, JudgeFailed, Verdicts
from ranktrail_evals.metrics.answer_words import answer_words
from ranktrail_evals.passages import Context
from ranktrail_evals.scores import Definition, Direction, Reason, Score

RAGAS = "Es et al., RAGAS, EACL 2024 (arXiv 2309.15217)"

FAITHFULNESS = Definition(
    name="faithfulness",
    direction=Direction.HIGHER,
    threshold=0.6,
    meaning="statements of the answer that the contexts support / statements of the answer",
    source=RAGAS,
)
HALLUCINATION_RATE = Definition(
    name="hallucination_rate",
    direction=Direction.LOWER,
    threshold=0.4,
    meaning="statements of the answer that the contexts do not support / statements of the answer; asked apart from "
    "faithfulness",
    source=f"complement of faithfulness: {RAGAS}",
)
CONTEXT_RECALL = Definition(
    name="context_recall",
    direction=Direction.HIGHER,
    threshold=0.5,
    meaning="statements of the reference answer that the contexts support / statements of the reference answer",
    source="context recall of the ragas library, 0.4, after " + RAGAS,
)

_BREAK_UP = (
    "Break the text up into short statements that can each be understood alone. Leave out nothing that it claims and "
    "add nothing. A text that claims nothing, such as a refusal, is one statement. "
)
SUPPORTED = (
    _BREAK_UP
    + "For each statement say whether it is supported: true when it follows from the contexts alone, false when "
    "the contexts contradict it or do not say it. Do not use what you know yourself."
)
UNSUPPORTED = (
    _BREAK_UP + "For each statement say whether it is made up: true when the contexts contradict it or do not say it, "
    "false when it follows from the contexts alone. Do not use what you know yourself."
)


class SupportedStatement(Verdicts):
    """A statement, and whether the contexts support it."""

    statement: str
    supported: bool


class SupportedStatements(Verdicts):
    """The statements of a text."""

    statements: list[SupportedStatement]


class MadeUpStatement(Verdicts):
    """A statement, and whether the contexts lack it."""

    statement: str
    made_up: bool


class MadeUpStatements(Verdicts):
    """The statements of a text."""

    statements: list[MadeUpStatement]


async def faithfulness(case: Case, judge: Judge) -> Score:
    """Return |supported| / |statements| of the answer."""
    asked = _answer_and_contexts(case)
    return asked if isinstance(asked, Reason) else await _supported_share(judge, *asked)


async def hallucination_rate(case: Case, judge: Judge) -> Score:
    """Return |unsupported| / |statements| of the answer."""
    asked = _answer_and_contexts(case)
    if isinstance(asked, Reason):
        return asked
    found = await judge.ask(UNSUPPORTED, _material(*asked), MadeUpStatements)
    return _share([one.made_up for one in found.statements])


async def context_recall(case: Case, judge: Judge) -> Score:
    """Return |supported| / |statements| of the reference answer; 0 where nothing was retrieved."""
    contexts = case.contexts
    if isinstance(contexts, Reason):
        return contexts
    if not contexts:
        return 0.0
    return await _supported_share(judge, case.record.reference_answer, contexts)


def lexical_faithfulness(case: Case) -> Score:
    """Return the share of the answer's words that stand in the contexts."""
    asked = _answer_and_contexts(case)
    return asked if isinstance(asked, Reason) else words_held(*asked)


def lexical_hallucination_rate(case: Case) -> Score:
    """Return the share of the answer's words that do not stand in the contexts."""
    value = lexical_faithfulness(case)
    return value if isinstance(value, Reason) else 1 - value


def lexical_context_recall(case: Case) -> Score:
    """Return the share of the reference answer's words that stand in the contexts."""
    contexts = case.contexts
    return contexts if isinstance(contexts, Reason) else words_held(case.record.reference_answer, contexts)


def words_held(text: str, contexts: tuple[Context, ...]) -> Score:
    """Return the share of a text's words, repeated ones counted, that stand in the contexts."""
    found = answer_words(text)
    held = {word for context in contexts for word in answer_words(context.text)}
    return sum(word in held for word in found) / len(found) if found else Reason.MISSING_ANNOTATION


def _answer_and_contexts(case: Case) -> tuple[str, tuple[Context, ...]] | Reason:
    contexts, text = case.contexts, case.answer_text
    if isinstance(text, Reason):
        return text
    if isinstance(contexts, Reason):
        return contexts
    if not text.strip():
        return Reason.NO_ANSWER
    return (text, contexts) if contexts else Reason.NO_CONTEXTS


async def _supported_share(judge: Judge, text: str, contexts: tuple[Context, ...]) -> float:
    found = await judge.ask(SUPPORTED, _material(text, contexts), SupportedStatements)
    return _share([one.supported for one in found.statements])


def _material(text: str, contexts: tuple[Context, ...]) -> dict[str, object]:
    return {"text": text, "contexts": [context.text for context in contexts]}


def _share(verdicts: list[bool]) -> float:
    if not verdicts:
        raise JudgeFailed("the judge found no statement")
    return sum(verdicts) / len(verdicts)
