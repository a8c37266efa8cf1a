"""A whole replay: every corpus of a set under today's default profile and each named one."""

from collections.abc import Callable, Sequence

from ranktrail_client.ranker import RankerCalls
from ranktrail_evals.errors import OptionInvalid
from ranktrail_evals.replay.comparison import contestants, ranked
from ranktrail_evals.replay.fixture import EvaluationSet, FrozenCase
from ranktrail_evals.replay.gate import Condition, exit_code
from ranktrail_evals.replay.model import Replay
from ranktrail_evals.replay.ranking import rank_corpus
from ranktrail_evals.replay.trace import Trace
from ranktrail_evals.results.summary import Stamp, product_version

Progress = Callable[[str, int, int], None]


def replay(
    ranker: RankerCalls,
    fixture: EvaluationSet,
    profiles: Sequence[str],
    conditions: Sequence[Condition],
    progress: Progress,
) -> Replay:
    """Rank the set anew under the ranker's default profile and each of `profiles`, and compare; raises RanktrailError.

    Raises OptionInvalid for a profile that the ranker does not have.
    """
    names = profile_names(ranker, profiles)
    found = [
        ranked(name, _ranked(ranker, fixture, name, _within(progress, place, len(names))))
        for place, name in enumerate(names, start=1)
    ]
    compared = contestants(found)
    decisions = tuple(condition.decide(one) for one in compared for condition in conditions)
    stamp = Stamp.now("replay")
    return Replay(
        result_id=stamp.result_id,
        create_time=stamp.create_time,
        product_version=product_version(),
        fixture_sha256=fixture.sha256,
        case_count=len(fixture.cases),
        scored_count=sum(any(one.relevance for one in case.judgments) for case in fixture.cases),
        exit_code=exit_code(decisions, compared),
        decisions=decisions,
        contestants=compared,
    )


def profile_names(ranker: RankerCalls, named: Sequence[str]) -> list[str]:
    """Return the ranker's default profile, then the named ones; raise OptionInvalid for one that it does not have."""
    profiles = ranker.list_profiles().profiles
    known = [one.ranking_profile.name for one in profiles]
    for name in named:
        if name not in known:
            raise OptionInvalid(f"--profile {name!r} is not known to the ranker: it has {', '.join(known)}")
    default = [one.ranking_profile.name for one in profiles if one.is_default]
    return list(dict.fromkeys([*default, *named]))


def _ranked(
    ranker: RankerCalls, fixture: EvaluationSet, profile: str, progress: Progress
) -> list[list[tuple[FrozenCase, Trace]]]:
    return [
        list(zip(corpus.cases, rank_corpus(ranker, corpus, profile, progress), strict=True))
        for corpus in fixture.corpora
    ]


def _within(progress: Progress, place: int, count: int) -> Progress:
    if count == 1:
        return progress
    return lambda phase, done, total: progress(f"{phase} {place}/{count}", done, total)
