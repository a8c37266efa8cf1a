"""Three judgment sets of one case."""

from collections.abc import Mapping

from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from ranktrail.evaluation.v1.evaluation_service_pb2 import EvaluationJudgment
from ranktrail_client.judgment_difference import JudgmentDifference, SubjectDifference, difference_json
from ranktrail_client.judgments import Subject, subject_of

SUBJECTS: list[Subject] = [("a", None), ("a", "a#1"), ("b", None)]
grades = st.dictionaries(st.sampled_from(SUBJECTS), st.integers(0, 3))


def judgment(subject: Subject, relevance: int | None) -> EvaluationJudgment | None:
    if relevance is None:
        return None
    return EvaluationJudgment(resource_id=subject[0], unit_key=subject[1], relevance=relevance, source=1)


def difference(*sets: Mapping[Subject, int]) -> JudgmentDifference:
    subjects = (SubjectDifference(one, *(judgment(one, judged.get(one)) for judged in sets)) for one in SUBJECTS)
    return JudgmentDifference("c", 1, 2, "bob", Timestamp(seconds=1), has_base=True, subjects=tuple(subjects))


@given(grades, grades, grades)
def test_a_merge_has_what_one_side_changed_and_what_was_decided_where_both_did(
    base: dict[Subject, int], theirs: dict[Subject, int], mine: dict[Subject, int]
) -> None:
    merged = difference(base, theirs, mine).merged(lambda one: one.mine)
    found = {subject_of(one): one.relevance for one in merged}
    for subject in SUBJECTS:
        b, t, m = base.get(subject), theirs.get(subject), mine.get(subject)
        # Where I changed it, mine; and where I did not, theirs, changed or not.
        assert found.get(subject) == (m if m != b else t)


@given(grades, grades, grades)
def test_a_clash_is_what_both_sides_changed_in_different_ways_and_is_symmetric(
    base: dict[Subject, int], theirs: dict[Subject, int], mine: dict[Subject, int]
) -> None:
    clashes = [one.subject for one in difference(base, theirs, mine).clashes]
    assert clashes == [one.subject for one in difference(base, mine, theirs).clashes]
    changed = (s for s in SUBJECTS if base.get(s) != theirs.get(s) and base.get(s) != mine.get(s))
    assert clashes == [subject for subject in changed if theirs.get(subject) != mine.get(subject)]


@given(grades, grades)
def test_sets_that_are_alike_differ_in_nothing(base: dict[Subject, int], both: dict[Subject, int]) -> None:
    assert {one.change for one in difference(base, both, both).subjects} <= {"unchanged", "both"}
    assert difference(base, base, base).changed == []


def test_a_difference_as_json_has_the_three_sides_and_a_merge_only_where_nothing_clashes() -> None:
    a, b = SUBJECTS[0], SUBJECTS[2]
    merged = difference_json(difference({}, {a: 1}, {b: 2}))
    assert [(one["resource_id"], one["change"], one["base"]) for one in merged["changes"]] == [
        ("a", "theirs", None),
        ("b", "mine", None),
    ]
    assert [(one["resource_id"], one["relevance"]) for one in merged["merged"]] == [("a", 1), ("b", 2)]
    clashing = difference_json(difference({a: 0}, {a: 1}, {a: 2}))
    assert clashing["merged"] is None
    assert [clashing["changes"][0][side]["relevance"] for side in ("base", "theirs", "mine")] == [0, 1, 2]
    assert (clashing["author"], clashing["judge_time"]) == ("bob", "1970-01-01T00:00:01.000000Z")
