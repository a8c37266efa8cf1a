"""Judgments in the store: compare-and-set, and which sets may stand."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from history_service.domain.case import Judgment, in_order
from history_service.domain.errors import CaseNotFound, FieldInvalid, JudgmentConflict, WriteFailed
from history_service.store import judgments
from history_service.use_cases import replace_judgments
from history_service.use_cases.check_judgments import Judgeable, check_judgments
from history_service.use_cases.replace_judgments import Replacement
from tests.unit.history.kept import FIRST_CASE, Store, a_memory

BODIES = {f"doc-{n:04d}": f"body {n}".encode() for n in range(1, 5)}
MEMORY = a_memory(BODIES)
ONE = Judgment("doc-0001", "doc-0001#body/1/0", 2, False, "", "human")
ALLOWED = Judgeable(frozenset("abc"), {"a#1": "a", "a#2": "a", "b#1": "b", "z#1": "z"})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path) as opened:
        opened.put(MEMORY, BODIES)
        opened.record("run-1", MEMORY, candidates=2)
        opened.create_case.create("run-1", "", "")
        yield opened


def _version(store: Store) -> int:
    return int(store.rows("SELECT judgment_version FROM evaluation_cases")[0][0])


def test_of_two_editors_of_one_version_exactly_one_wins_each_time(store: Store) -> None:
    for version in range(1, 40):
        outcomes: list[object] = []
        gate = threading.Barrier(2)

        def edit(outcomes: list[object] = outcomes, gate: threading.Barrier = gate, version: int = version) -> None:
            gate.wait()
            try:
                outcomes.append(store.judge(FIRST_CASE, version, ONE))
            except JudgmentConflict as lost:
                outcomes.append(lost)

        threads = [threading.Thread(target=edit) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert outcomes.count(version + 1) == 1
        (conflict,) = [outcome for outcome in outcomes if isinstance(outcome, JudgmentConflict)]
        assert (conflict.expected, conflict.current, conflict.author) == (version, version + 1, "ada")
        assert _version(store) == version + 1


def test_a_version_and_its_judgments_are_stored_together_or_not_at_all(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.judge(FIRST_CASE, 1, ONE)
    before = store.rows("SELECT * FROM evaluation_cases"), store.rows("SELECT * FROM evaluation_judgments")
    insert = judgments.insert_version

    def torn(db: Any, *arguments: Any) -> None:
        insert(db, *arguments)
        raise OSError("disk full")

    monkeypatch.setattr(judgments, "insert_version", torn)
    with pytest.raises(WriteFailed):
        store.judge(FIRST_CASE, 2, ONE, request_id="again")
    monkeypatch.undo()
    assert (store.rows("SELECT * FROM evaluation_cases"), store.rows("SELECT * FROM evaluation_judgments")) == before
    assert store.judge(FIRST_CASE, 2, ONE, request_id="again") == 3


def test_a_set_that_may_not_stand_leaves_the_version_as_it_was(store: Store) -> None:
    with pytest.raises(FieldInvalid):
        store.judge(FIRST_CASE, 1, replace(ONE, relevance=4), request_id="r")
    assert _version(store) == 1
    assert store.judge(FIRST_CASE, 1, ONE, request_id="r") == 2


def test_a_case_that_is_deleted_while_its_judgments_are_checked_is_not_found(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deleting(*_arguments: Any) -> None:
        store.delete_case.delete(FIRST_CASE, 1)

    monkeypatch.setattr(replace_judgments, "check_judgments", deleting)
    with pytest.raises(CaseNotFound):
        store.judge(FIRST_CASE, 1, ONE)


def test_a_request_is_the_same_whatever_the_order_of_its_judgments_and_the_version_it_saw() -> None:
    two = replace(ONE, unit_key=None)
    request = Replacement(FIRST_CASE, 1, "ada", "r", (ONE, two))
    assert request.digest == replace(request, judgments=(two, ONE), expected_version=9, request_id="s").digest
    for other in (
        replace(request, author="grace"),
        replace(request, judgments=(ONE,)),
        replace(request, judgments=(ONE, replace(two, unit_key=""))),
        *(
            replace(request, judgments=(ONE, replace(two, **{name: value})))
            for name, value in {
                "relevance": 1,
                "missed": True,
                "notes": "n",
                "source": "model",
                "resource_id": "x",
            }.items()
        ),
    ):
        assert other.digest != request.digest


_judgments = st.lists(
    st.builds(
        Judgment,
        resource_id=st.sampled_from(["a", "b", "c", "z"]),
        unit_key=st.sampled_from([None, "a#1", "a#2", "b#1", "z#1", "c#1", ""]),
        relevance=st.integers(-1, 4),
        missed=st.booleans(),
        notes=st.just(""),
        source=st.sampled_from(["human", "import", "model", ""]),
    ),
    max_size=4,
)


@given(_judgments)
def test_exactly_the_sets_that_the_contract_allows_may_stand(wanted: list[Judgment]) -> None:
    try:
        check_judgments(wanted, ALLOWED)
        stands = True
    except FieldInvalid:
        stands = False
    assert stands == _may_stand(wanted)


def _may_stand(wanted: Sequence[Judgment]) -> bool:
    """The rules a second time, each by itself."""
    units = {"a": {"a#1", "a#2"}, "b": {"b#1"}, "c": set[str]()}
    return (
        len({(one.resource_id, one.unit_key) for one in wanted}) == len(wanted)
        and all(one.relevance in (0, 1, 2, 3) for one in wanted)
        and all(one.source in ("human", "import", "model") for one in wanted)
        and all(one.resource_id in units for one in wanted)
        and all(one.unit_key is None or one.unit_key in units[one.resource_id] for one in wanted)
        and all(not one.missed or not units[one.resource_id] for one in wanted)
    )


@given(
    st.lists(
        st.builds(
            Judgment,
            st.text(max_size=3),
            st.none() | st.text(max_size=3),
            st.just(1),
            st.just(False),
            st.just(""),
            st.just("human"),
        ),
        max_size=6,
    )
)
def test_judgments_are_in_the_order_in_which_the_database_would_have_them(wanted: list[Judgment]) -> None:
    by_bytes = sorted(
        wanted, key=lambda one: (one.resource_id.encode(), one.unit_key is not None, (one.unit_key or "").encode())
    )
    assert in_order(wanted) == by_bytes
