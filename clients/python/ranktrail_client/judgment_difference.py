"""What to tell somebody whose judgments met another version than expected: a three-way difference.

Base is the version that they started from, theirs the present one, mine the set that was refused. A subject that one
side alone changed is merged by itself; one that both changed in different ways is a clash, and a person's to decide.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from google.protobuf.timestamp_pb2 import Timestamp

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from ranktrail_client.evaluation import EvaluationCalls
from ranktrail_client.judgments import Subject, subject_of, subject_order
from ranktrail_client.message_json import message_json, timestamp_json
from ranktrail_client.paging import pages

Judged: TypeAlias = pb.EvaluationJudgment | None
"""A judgment; None where a version has none of the subject."""
Change: TypeAlias = Literal["unchanged", "mine", "theirs", "both", "clash"]


@dataclass(frozen=True, slots=True)
class SubjectDifference:
    """One subject in the three sets."""

    subject: Subject
    base: Judged
    theirs: Judged
    mine: Judged

    @property
    def change(self) -> Change:
        """Who changed it; "both" changed it in the same way, in a "clash" in different ones."""
        if self.theirs == self.mine:
            return "unchanged" if self.base == self.mine else "both"
        if self.base == self.theirs:
            return "mine"
        return "theirs" if self.base == self.mine else "clash"


@dataclass(frozen=True, slots=True)
class JudgmentDifference:
    """Three judgment sets of one case, by subject; `author` and `judge_time` are those of the present version.

    `base_author` is empty and `base_time` None for a version that nobody wrote.

    `has_base` is False where the expected version never was: then base is taken as empty.
    """

    case_id: str
    expected_version: int
    current_version: int
    author: str
    judge_time: Timestamp
    has_base: bool
    subjects: tuple[SubjectDifference, ...]
    base_author: str = ""
    base_time: Timestamp | None = None

    @property
    def changed(self) -> list[SubjectDifference]:
        """Every subject that somebody changed."""
        return [one for one in self.subjects if one.change != "unchanged"]

    @property
    def clashes(self) -> list[SubjectDifference]:
        """Every subject that a person has to decide."""
        return [one for one in self.subjects if one.change == "clash"]

    def merged(self, decide: Callable[[SubjectDifference], Judged]) -> list[pb.EvaluationJudgment]:
        """Return the set that has both sides' changes; `decide` says what becomes of a clash."""
        chosen = (_chosen(one, decide) for one in self.subjects)
        return [judgment for judgment in chosen if judgment is not None]


def read_difference(
    evaluation: EvaluationCalls, case_id: str, expected_version: int, mine: Iterable[pb.EvaluationJudgment]
) -> JudgmentDifference:
    """Compare a refused set with the version it expected and the present one; raises RanktrailError."""
    current, base = _versions(evaluation, case_id, expected_version)
    sets = [_by_subject(judgments) for judgments in (base.judgments, current.judgments, mine)]
    subjects = sorted(set().union(*sets), key=subject_order)
    return JudgmentDifference(
        case_id=case_id,
        expected_version=expected_version,
        current_version=current.judgment_version,
        author=current.author,
        judge_time=current.judge_time,
        has_base=base.judgment_version == expected_version,
        subjects=tuple(SubjectDifference(one, *(judged.get(one) for judged in sets)) for one in subjects),
        base_author=base.author,
        base_time=base.judge_time if base.HasField("judge_time") else None,
    )


def difference_json(difference: JudgmentDifference) -> dict[str, Any]:
    """Return a difference as a JSON value; `merged` is null where there are clashes, else the set to send next."""
    merged = None if difference.clashes else [message_json(one) for one in difference.merged(lambda one: one.mine)]
    return {
        "case_id": difference.case_id,
        "expected_judgment_version": difference.expected_version,
        "current_judgment_version": difference.current_version,
        "author": difference.author,
        "judge_time": timestamp_json(difference.judge_time),
        "changes": [_subject_json(one) for one in difference.changed],
        "merged": merged,
    }


def _versions(
    evaluation: EvaluationCalls, case_id: str, expected_version: int
) -> tuple[pb.JudgmentVersion, pb.JudgmentVersion]:
    """Return the present version and the expected one, which is empty where there is none."""
    current: pb.JudgmentVersion | None = None
    request = pb.ListJudgmentVersionsRequest(case_id=case_id)
    for page in pages(evaluation.list_judgment_versions, request):
        for version in page.versions:
            current = current or version
            if version.judgment_version <= expected_version:
                is_it = version.judgment_version == expected_version
                return current, version if is_it else pb.JudgmentVersion()
    return current or pb.JudgmentVersion(), pb.JudgmentVersion()


def _by_subject(judgments: Iterable[pb.EvaluationJudgment]) -> Mapping[Subject, pb.EvaluationJudgment]:
    return {subject_of(one): one for one in judgments}


def _chosen(one: SubjectDifference, decide: Callable[[SubjectDifference], Judged]) -> Judged:
    if one.change == "clash":
        return decide(one)
    return one.mine if one.change == "mine" else one.theirs


def _subject_json(one: SubjectDifference) -> dict[str, Any]:
    resource_id, unit_key = one.subject
    sides = {"base": one.base, "theirs": one.theirs, "mine": one.mine}
    values = {name: None if judged is None else message_json(judged) for name, judged in sides.items()}
    return {"resource_id": resource_id, "unit_key": unit_key, "change": one.change, **values}
