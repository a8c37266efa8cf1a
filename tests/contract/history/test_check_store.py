"""CheckStore: every kind of damage is found and named, and what can be is put right without losing anything."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ranktrail.evaluation.v1 import evaluation_service_pb2
from ranktrail.history.v1 import history_service_pb2 as pb
from tests import history_cases as cases
from tests.fakes.history_server import TIMEOUT, RunningHistory
from tests.history_builders import a_corpus, a_failure, a_run, a_start, digest
from tests.store_checks import body_path, edit, problems_of

BODY = cases.BODIES["doc-0002"]
NAME = f"history/evaluation-corpora/blobs/{digest(BODY)[:2]}/{digest(BODY)}"
STRAY = b"a body that nobody knows"
ORPHAN = f"history/evaluation-corpora/blobs/{digest(STRAY)[:2]}/{digest(STRAY)}"


@pytest.fixture
def store(history: RunningHistory) -> RunningHistory:
    """Two Runs over one memory, of which one is pinned and judged, a failed one, a running one, and an empty memory."""
    case = cases.pinned(history, "run-1")
    cases.replace(history, case.case_id, 1, cases.a_judgment(1), cases.a_judgment(5, unit=False, missed=True))
    cases.record(history, "run-2")
    assert len(history.record([*a_run("run-3", failure=a_failure()), *a_run("run-4"), a_start("run-5")])) == 2
    return history


def _flip(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(bytes([content[0] ^ 1]) + content[1:])


def _replaced(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.unlink()
        make(path)

    return damage


def _linked(path: Path) -> None:
    elsewhere = path.parent.parent.parent.parent / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


def test_a_sound_store_has_no_problems_whatever_it_holds(store: RunningHistory) -> None:
    assert problems_of(store.history) == []
    assert problems_of(store.history, repair=True) == []


def test_an_empty_store_has_no_problems(history: RunningHistory) -> None:
    assert problems_of(history.history) == []


@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        (_flip, "body_digest"),
        (lambda path: path.write_bytes(BODY[:-1]), "body_size"),
        (lambda path: path.write_bytes(b""), "body_size"),
        (Path.unlink, "body_missing"),
        (_linked, "body_not_a_file"),
        (_replaced(Path.mkdir), "body_not_a_file"),
        (_replaced(os.mkfifo), "body_not_a_file"),
    ],
)
def test_a_damaged_body_is_named_and_a_repair_leaves_it_alone(
    store: RunningHistory, damage: Callable[[Path], None], kind: str
) -> None:
    damage(body_path(store.data_dir, BODY))
    for repair in (False, True, False):
        assert [(one.kind, one.subject, one.repairable) for one in problems_of(store.history, repair)] == [
            (kind, NAME, False)
        ]


def test_a_body_found_damaged_is_asked_for_when_it_is_put_again(store: RunningHistory) -> None:
    path = body_path(store.data_dir, BODY)
    before = path.stat()
    _flip(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert len(problems_of(store.history)) == 1
    assert store.put(a_corpus(cases.BODIES))[0] == [digest(BODY)]
    assert problems_of(store.history) == []


@pytest.mark.parametrize(
    ("below", "mode"),
    [(NAME, 0o644), (NAME, 0o400), (NAME[: NAME.rindex("/")], 0o755), ("history/local.db", 0o640), ("history", 0o750)],
)
def test_a_mode_that_lets_others_in_is_named_and_put_right(store: RunningHistory, below: str, mode: int) -> None:
    path = store.data_dir / below
    wanted = path.stat().st_mode
    path.chmod(mode)
    assert [(one.kind, one.subject) for one in problems_of(store.history)] == [("mode", below)]
    assert path.stat().st_mode != wanted
    assert [one.repaired for one in problems_of(store.history, repair=True)] == [True]
    assert path.stat().st_mode == wanted
    assert problems_of(store.history) == []


def test_an_orphan_file_is_named_and_adopted(store: RunningHistory) -> None:
    path = store.data_dir / ORPHAN
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_bytes(STRAY)
    path.chmod(0o600)
    before = store.runtime().blob_count
    assert [(one.kind, one.subject, one.repaired) for one in problems_of(store.history)] == [
        ("orphan_file", ORPHAN, False)
    ]
    assert [one.repaired for one in problems_of(store.history, repair=True)] == [True]
    assert problems_of(store.history) == []
    assert (path.read_bytes(), store.runtime().blob_count) == (STRAY, before + 1)


def test_an_orphan_whose_bytes_are_not_its_own_is_named_and_left_alone(store: RunningHistory) -> None:
    path = store.data_dir / ORPHAN
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_bytes(b"else")
    for _ in range(2):
        assert [(one.kind, one.subject) for one in problems_of(store.history, repair=True)] == [
            ("orphan_damaged", ORPHAN)
        ]
    assert path.read_bytes() == b"else"


def test_a_body_that_lost_its_row_gets_it_back(store: RunningHistory) -> None:
    edit(store.data_dir, "DELETE FROM retrieval_corpus_blobs WHERE digest = ?", digest(BODY))
    assert [(one.kind, one.repairable) for one in problems_of(store.history)] == [
        ("orphan_file", True),
        ("body_unlisted", True),
    ]
    assert all(one.repaired for one in problems_of(store.history, repair=True))
    assert problems_of(store.history) == []


def test_a_body_that_lost_its_row_and_its_file_is_named_and_not_invented(store: RunningHistory) -> None:
    edit(store.data_dir, "DELETE FROM retrieval_corpus_blobs WHERE digest = ?", digest(BODY))
    body_path(store.data_dir, BODY).unlink()
    for _ in range(2):
        (problem,) = problems_of(store.history, repair=True)
        assert (problem.kind, problem.subject, problem.repairable) == ("body_unlisted", f"body {digest(BODY)}", False)


@pytest.mark.parametrize("name", [f"evaluation-corpora/blobs/{digest(BODY)[:2]}/.draft-1-2", ".snapshot-x"])
def test_what_a_killed_process_left_is_named_and_removed(store: RunningHistory, name: str) -> None:
    path = store.data_dir / "history" / name
    path.mkdir(mode=0o700) if "snapshot" in name else path.write_bytes(b"half")
    assert [(one.kind, one.subject) for one in problems_of(store.history)] == [("temporary_file", f"history/{name}")]
    assert path.exists()
    assert [one.repaired for one in problems_of(store.history, repair=True)] == [True]
    assert not path.exists()
    assert problems_of(store.history) == []


@pytest.mark.parametrize("name", ["notes.txt", "ab/notes.txt", "ab/" + "c" * 64, "abc", "ab/\udcff"])
def test_what_the_store_never_made_is_named_and_left_alone(store: RunningHistory, name: str) -> None:
    path = store.data_dir / "history" / "evaluation-corpora" / "blobs" / name
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_bytes(b"mine")
    for _ in range(2):
        (problem,) = problems_of(store.history, repair=True)
        assert (problem.kind, problem.repairable) == ("unexpected_file", False)
        assert problem.subject.endswith(name.replace("\udcff", "\\xff"))
    assert path.read_bytes() == b"mine"


ONE = "run_sequence = 1 AND unit_key = 'doc-0002#body/1/0'"


@pytest.mark.parametrize(
    ("statement", "problems"),
    [
        ("DELETE FROM retrieval_run_candidates WHERE ONE", ["count run run-1"]),
        ("UPDATE retrieval_runs SET candidate_count = 2 WHERE run_id = 'run-2'", ["count run run-2"]),
        (
            "UPDATE retrieval_run_candidates SET bm25_score = bm25_score + 1e-12 WHERE ONE",
            ["candidates_digest run run-1"],
        ),
        (
            "UPDATE retrieval_run_candidates SET excerpt = excerpt || '.' WHERE ONE",
            ["candidates_digest run run-1"],
        ),
        (
            "UPDATE retrieval_run_candidates SET heading_path = 'no JSON' WHERE ONE",
            ["row_unreadable run run-1"],
        ),
        ("UPDATE retrieval_runs SET query = 'why?' WHERE run_id = 'run-2'", ["trace_digest run run-2"]),
        ("UPDATE retrieval_runs SET failure_code = 'other' WHERE run_id = 'run-3'", ["trace_digest run run-3"]),
        (
            "UPDATE retrieval_runs SET candidates_digest = trace_digest WHERE run_id = 'run-2'",
            ["candidates_digest run run-2", "trace_digest run run-2"],
        ),
        (
            "UPDATE retrieval_run_resources SET title = 'Other' WHERE resource_id = 'doc-0004'",
            ["manifest_digest manifest {memory}"],
        ),
        (
            "DELETE FROM retrieval_run_resources WHERE resource_id = 'doc-0004'",
            ["manifest_digest manifest {memory}"],
        ),
        ("DELETE FROM retrieval_run_resources", ["manifest_missing run run-1", "manifest_missing run run-2"]),
        (
            "UPDATE retrieval_run_resources SET size_bytes = 1 WHERE resource_id = 'doc-0004'",
            ["count body " + digest(cases.BODIES["doc-0004"])],
        ),
        ("UPDATE evaluation_corpora SET resource_count = 1", ["count corpus {memory}"]),
        (
            "UPDATE evaluation_corpus_resources SET path = 'x' WHERE resource_id = 'doc-0004'",
            ["manifest_digest corpus {memory}"],
        ),
        ("UPDATE evaluation_cases SET query = 'why?'", ["case_differs case {case}"]),
        ("UPDATE evaluation_cases SET judgment_count = 1", ["case_differs case {case}"]),
        ("UPDATE evaluation_cases SET judgment_version = 1", ["case_differs case {case}"]),
        ("UPDATE evaluation_cases SET human_judged = 0", ["case_differs case {case}"]),
        (
            "UPDATE evaluation_judgments SET resource_id = 'nowhere' WHERE position = 2",
            ["judgment_invalid case {case}"],
        ),
        (
            "UPDATE evaluation_judgments SET unit_key = 'doc-0009#x/1/0' WHERE position = 1",
            ["judgment_invalid case {case}"],
        ),
        (
            "DELETE FROM evaluation_corpora",
            ["reference_broken table evaluation_cases", "reference_broken table evaluation_corpus_resources"],
        ),
        ("UPDATE daemon_meta SET value = '2' WHERE key = 'retrieval_change_sequence'", ["count table daemon_meta"]),
    ],
)
def test_a_changed_row_is_named_and_no_repair_touches_it(
    store: RunningHistory, statement: str, problems: list[str]
) -> None:
    request = evaluation_service_pb2.ListEvaluationCasesRequest()
    (case,) = store.evaluation.ListEvaluationCases(request, timeout=TIMEOUT).evaluation_cases
    edit(store.data_dir, statement.replace("ONE", ONE))
    wanted = {problem.format(case=case.case_id, memory=case.corpus_hash) for problem in problems}
    for _ in range(2):
        found = problems_of(store.history, repair=True)
        assert {f"{one.kind} {one.subject}" for one in found} == wanted
        assert not any(one.repairable for one in found)


def test_a_damaged_page_is_a_problem_and_the_check_goes_on(store: RunningHistory) -> None:
    cases.record(store, "run-6", bodies={f"doc-{n:04d}": b"%d" % n * 50 for n in range(300)})
    edit(store.data_dir, "UPDATE daemon_meta SET value = value WHERE key = 'schema_version'")
    store.close()
    path = store.data_dir / "history" / "local.db"
    content = bytearray(path.read_bytes())
    at = content.index(b"doc-0150")
    content[at - at % 8_192 : at - at % 8_192 + 100] = b"\xff" * 100
    path.write_bytes(content)
    (store.data_dir / "history" / "local.db-wal").unlink(missing_ok=True)
    again = RunningHistory(store.data_dir, "--inspect")
    kinds = {one.event.problem.kind for one in again.history.CheckStore(pb.CheckStoreRequest(), timeout=TIMEOUT)}
    again.close()
    assert "database_damaged" in kinds


def test_an_inspection_tidies_nothing_until_it_is_asked_and_the_next_start_does(store: RunningHistory) -> None:
    store.close()
    history = store.data_dir / "history"
    (history / ".snapshot-x").mkdir(mode=0o700)
    draft = body_path(store.data_dir, BODY).with_name(".draft-1-2")
    draft.write_bytes(b"half")
    edit(
        store.data_dir,
        "UPDATE retrieval_runs SET state = 'running', complete_time_us = NULL, failure_code = NULL "
        "WHERE run_id = 'run-5'",
    )
    looking = RunningHistory(store.data_dir, "--inspect")
    assert sorted(one.kind for one in problems_of(looking.history)) == ["temporary_file", "temporary_file"]
    assert looking.runtime().running_run_count == 1
    looking.close()
    assert (history / ".snapshot-x").exists()
    started = RunningHistory(store.data_dir)
    assert started.runtime().running_run_count == 0
    assert problems_of(started.history) == []
    started.close()
    assert not draft.exists()
