"""Questions and their answers that any reranker must tell from one another before it may rank."""

from collections.abc import Callable, Sequence

PAIRS = (
    (
        "how do plants make food from sunlight",
        "Photosynthesis lets plants turn sunlight, water and air into food.",
    ),
    ("what is the capital of France", "Paris is the capital of France and its largest city."),
    (
        "how to reset a forgotten password",
        "To reset a forgotten password, follow the link on the sign-in page.",
    ),
    ("why does ice float on water", "Ice floats on water because it is less dense than the liquid."),
    (
        "when was the telephone invented",
        "The telephone was invented in 1876, by Alexander Graham Bell.",
    ),
    ("how much coffee is safe in a day", "Up to four cups of coffee a day are considered safe for most adults."),
)
REQUIRED_HITS = 5
"""A checkpoint that cannot tell them apart gets one right by chance, and five of six once in 1,500 times."""

Score = Callable[[str, Sequence[str]], Sequence[float]]


def hits(score: Score) -> int:
    """Return for how many questions `score` gives their own answer, of all the answers, strictly the highest value."""
    answers = [answer for _, answer in PAIRS]
    found = 0
    for position, (question, _) in enumerate(PAIRS):
        values = list(score(question, answers))
        others = values[:position] + values[position + 1 :]
        found += values[position] > max(others)
    return found
