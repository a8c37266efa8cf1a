"""answer_relevancy: whether the answer answers this question (Es et al., RAGAS, EACL 2024)."""

from collections import Counter
from math import sqrt

from ranktrail_evals.cases import Case
from ranktrail_evals.judge.port import Judge, JudgeFailed, Verdicts
from ranktrail_evals.judge.statements import RAGAS
from ranktrail_evals.metrics.answer_words import answer_words
from ranktrail_evals.scores import Definition, Direction, Reason, Score

QUESTION_COUNT = 3

DEFINITION = Definition(
    name="answer_relevancy",
    direction=Direction.HIGHER,
    threshold=0.6,
    meaning="mean similarity of the question to questions that the judge makes of the answer alone: cosine of "
    "embeddings where an embedding model is configured, else of word counts; below 0 counts as 0",
    source=RAGAS,
)
ASKED = f"Write {QUESTION_COUNT} different questions that the text answers. Use nothing but the text."


class Questions(Verdicts):
    """Questions that a text answers."""

    questions: list[str]


async def answer_relevancy(case: Case, judge: Judge) -> Score:
    """Return the mean similarity of the made questions to the real one."""
    text = case.answer_text
    if isinstance(text, Reason):
        return text
    if not text.strip():
        return Reason.NO_ANSWER
    made = await judge.ask(ASKED, {"text": text}, Questions)
    if not made.questions:
        raise JudgeFailed("the judge made no question")
    similarities = await judge.similarities(case.record.question, made.questions)
    return min(1.0, max(0.0, sum(similarities) / len(similarities)))


def lexical_answer_relevancy(case: Case) -> Score:
    """Return the cosine of the question's and the answer's word counts."""
    text = case.answer_text
    return text if isinstance(text, Reason) else word_cosine(case.record.question, text)


def word_cosine(one: str, other: str) -> float:
    """Return the cosine of two texts' word counts; 0 where one has no words."""
    left, right = Counter(answer_words(one)), Counter(answer_words(other))
    product = sum(count * right[word] for word, count in left.items())
    lengths = sqrt(sum(n * n for n in left.values())) * sqrt(sum(n * n for n in right.values()))
    return min(1.0, product / lengths) if lengths else 0.0
