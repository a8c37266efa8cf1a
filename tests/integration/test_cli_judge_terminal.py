"""Judging by keys on a real terminal, with the real services."""

import signal
import subprocess
import sys
import termios
from collections.abc import Iterator

import pytest

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from ranktrail_cli.exits import Exit
from tests import history_cases as cases
from tests.fakes.history_server import HistoryClient
from tests.history_builders import a_candidate
from tests.processes import Stack
from tests.terminals import ROWS, SECONDS, Terminal

EVIL = "\x1b]0;owned\x07\x1b[2J \u202egnp"


@pytest.fixture(scope="module")
def history(stack: Stack) -> Iterator[HistoryClient]:
    client = HistoryClient(f"unix:{stack.history.socket}")
    yield client
    client.close()


def on_terminal(stack: Stack, *arguments: str) -> Terminal:
    return Terminal([sys.executable, "-m", "ranktrail_cli", *arguments, "--data-dir", str(stack.data_dir)])


def a_sitting(stack: Stack, case_id: str, *options: str) -> Terminal:
    return on_terminal(stack, "judge", case_id, *options)


def by_subject(history: HistoryClient, case_id: str) -> dict[tuple[str, str], tuple[int, bool]]:
    found = cases.get(history, case_id).judgments
    return {(one.resource_id, one.unit_key): (one.relevance, one.missed) for one in found}


def test_candidates_are_judged_skipped_and_undone_and_missed_evidence_is_found(
    stack: Stack, history: HistoryClient
) -> None:
    case_id = cases.pinned(history, "keys").case_id
    sitting = a_sitting(stack, case_id, "--author", "ada")
    sitting.see("Document 1")
    sitting.press("3", "Document 2")
    sitting.press("1", "Document 3")
    sitting.press("u", "Document 2")
    sitting.press("s", "Document 3")
    sitting.press("0", "every candidate was shown")
    sitting.press("?", "any key goes back")
    sitting.press("x", "every candidate was shown")
    sitting.press("m", "> ")
    found = sitting.press("DOC-\r", "search again")
    assert ("Doc-0004" in found, "Doc-0001" in found) == (True, False)
    sitting.press("2", "body 5")
    sitting.press("2", "judged: u takes it back")
    sitting.press("/", "> ")
    sitting.press("doc-0001\r", "search again")
    sitting.press("1", "body 1")
    sitting.press("1", "judged: u takes it back")
    sitting.press("q", "save 4 judgments as ada?")
    sitting.type("y")
    code, last = sitting.end()
    assert (code, last.splitlines()[-1]) == (Exit.DONE, f"case {case_id}: version 2 has 4 judgments")
    assert by_subject(history, case_id) == {
        ("doc-0001", ""): (1, False),
        ("doc-0001", "doc-0001#body/1/0"): (3, False),
        ("doc-0003", "doc-0003#body/1/0"): (0, False),
        ("doc-0005", ""): (2, True),
    }
    assert cases.get(history, case_id).evaluation_case.judgment_author == "ada"
    assert list((stack.data_dir / "judging").glob("*")) == []


def test_keys_that_were_typed_ahead_all_count(stack: Stack, history: HistoryClient) -> None:
    case_id = cases.pinned(history, "ahead").case_id
    sitting = a_sitting(stack, case_id)
    sitting.type("210qy")
    assert sitting.end()[0] == Exit.DONE
    assert [one.relevance for one in cases.get(history, case_id).judgments] == [2, 1, 0]


def test_unsaved_work_survives_ctrl_c_and_a_kill_and_is_offered_the_next_time(
    stack: Stack, history: HistoryClient
) -> None:
    case_id = cases.pinned(history, "draft").case_id
    sitting = a_sitting(stack, case_id)
    sitting.see("Document 1")
    before = termios.tcgetattr(sitting.descriptor)
    sitting.press("3", "Document 2")
    sitting.type("\x03")
    code, last = sitting.end()
    path = stack.data_dir / "judging" / f"{case_id}.1.json"
    assert code == Exit.INTERRUPTED
    assert f"not saved: {path} has it" in "".join(last.split("\n"))
    assert path.exists()
    assert not before[3] & (termios.ECHO | termios.ICANON)
    again = a_sitting(stack, case_id)
    again.see("not saved: a set of 1 judgment, begun from version 1")
    again.press("y", "Document 2")
    again.press("2", "Document 3")
    again.process.kill()
    again.end()
    last_time = a_sitting(stack, case_id)
    last_time.see("not saved: a set of 2 judgments, begun from version 1")
    last_time.press("y", "Document 3")
    last_time.press("q", "save 2 judgments")
    last_time.type("y")
    assert last_time.end()[0] == Exit.DONE
    assert [one.relevance for one in cases.get(history, case_id).judgments] == [3, 2]
    assert not path.exists()


def test_the_terminal_has_its_echo_back_afterwards(stack: Stack, history: HistoryClient) -> None:
    case_id = cases.pinned(history, "echo").case_id
    command = f"{sys.executable} -m ranktrail_cli judge {case_id} --data-dir {stack.data_dir}; stty -a"
    shell = Terminal(["/bin/sh", "-c", command])
    shell.see("Document 1")
    shell.type("q")
    settings = shell.end()[1].split()
    assert ("echo" in settings, "icanon" in settings) == (True, True)


def test_work_is_kept_or_discarded_as_its_person_says(stack: Stack, history: HistoryClient) -> None:
    case_id = cases.pinned(history, "leave").case_id
    sitting = a_sitting(stack, case_id)
    sitting.press("3", "Document 2")
    sitting.press("q", "save 1 judgment")
    sitting.press("c", "Document 2")
    sitting.press("q", "save 1 judgment")
    sitting.type("k")
    code, last = sitting.end()
    assert (code, "not saved: " in last) == (Exit.DONE, True)
    again = a_sitting(stack, case_id)
    again.see("not saved: a set of 1 judgment")
    again.press("n", "Document 1")
    again.press("2", "Document 2")
    again.press("q", "save 1 judgment")
    again.type("d")
    assert "nothing was saved" in again.end()[1]
    assert cases.get(history, case_id).judgments == []
    assert list((stack.data_dir / "judging").glob(f"{case_id}*")) == []


def test_somebody_else_s_version_is_shown_and_merged_by_choice(stack: Stack, history: HistoryClient) -> None:
    case_id = cases.pinned(history, "merge").case_id
    sitting = a_sitting(stack, case_id, "--author", "ada")
    sitting.see("Document 1")
    sitting.press("32", "Document 3")
    theirs = [cases.a_judgment(1, relevance=0), cases.a_judgment(3, relevance=1)]
    cases.replace(history, case_id, 1, *theirs, author="bob")
    sitting.press("q", "save 2 judgments")
    shown = sitting.press("y", "doc-0001#body/1/0: which one stands?")
    assert "version 2 by bob stands since" in shown
    assert {word for word in ("clash", "theirs", "mine") if word in shown} == {"clash", "theirs", "mine"}
    sitting.press("m", "save both sides' changes as version 3?")
    cases.replace(history, case_id, 2, *theirs, cases.a_judgment(5, unit=False, missed=True), author="bob")
    sitting.press("y", "save both sides' changes as version 4?")
    sitting.type("y")
    code, last = sitting.end()
    assert (code, "version 4 has 4 judgments" in last) == (Exit.DONE, True)
    assert {key[0]: value for key, value in by_subject(history, case_id).items()} == {
        "doc-0001": (3, False),
        "doc-0002": (2, False),
        "doc-0003": (1, False),
        "doc-0005": (2, True),
    }
    versions = history.evaluation.ListJudgmentVersions(pb.ListJudgmentVersionsRequest(case_id=case_id)).versions
    assert [one.author for one in versions] == ["ada", "bob", "bob", ""]


def test_a_merge_that_is_put_off_loses_nothing(stack: Stack, history: HistoryClient) -> None:
    case_id = cases.pinned(history, "put-off").case_id
    sitting = a_sitting(stack, case_id)
    sitting.see("Document 1")
    sitting.press("3", "Document 2")
    cases.replace(history, case_id, 1, cases.a_judgment(1, relevance=0), author="bob")
    sitting.press("q", "save 1 judgment")
    sitting.press("y", "which one stands?")
    sitting.press("c", "1 unsaved")
    sitting.press("q", "save 1 judgment")
    sitting.press("y", "which one stands?")
    sitting.type("t")
    code, last = sitting.end()
    assert (code, "nothing of yours is left to save" in last) == (Exit.DONE, True)
    assert [one.relevance for one in cases.get(history, case_id).judgments] == [0]


def test_a_service_that_goes_leaves_the_work_and_says_so(stack: Stack, history: HistoryClient) -> None:
    case_id = cases.pinned(history, "gone").case_id
    sitting = a_sitting(stack, case_id)
    sitting.press("3", "Document 2")
    stack.history.send(signal.SIGKILL)
    assert stack.history.process is not None
    stack.history.process.wait()
    sitting.press("q", "save 1 judgment")
    sitting.press("y", "not done: history cannot be reached")
    stack.history.start()
    sitting.press("q", "save 1 judgment")
    sitting.type("y")
    assert sitting.end()[0] == Exit.DONE


def test_text_from_a_memory_does_not_steer_the_terminal(stack: Stack, history: HistoryClient) -> None:
    rows = [a_candidate(1, title=EVIL, path=f"{EVIL}.md", heading_path=[EVIL], excerpt=f"{EVIL}\nsecond line")]
    case_id = cases.pinned(history, "evil", candidates=rows, query=f"{EVIL} asked").case_id
    sitting = a_sitting(stack, case_id)
    shown = sitting.see("q save and quit")
    assert "\x1b]" not in shown
    assert "\u202e" not in shown
    assert "␛]0;owned␇" in shown
    assert "second line" in shown
    sitting.type("q")
    sitting.end()


def test_a_long_text_is_cut_to_the_screen(stack: Stack, history: HistoryClient) -> None:
    rows = [a_candidate(1, excerpt="\n".join(f"line {number}" for number in range(100)))]
    case_id = cases.pinned(history, "long", candidates=rows).case_id
    sitting = a_sitting(stack, case_id)
    assert sitting.see("q save and quit").count("\r\n") < ROWS
    sitting.type("q")
    sitting.end()


@pytest.mark.parametrize("answer", ["y", "n", ""])
def test_a_deletion_is_asked_about_at_a_terminal(stack: Stack, history: HistoryClient, answer: str) -> None:
    case_id = cases.pinned(history, f"asked-{answer}").case_id
    terminal = on_terminal(stack, "case", "delete", case_id)
    terminal.see("[y/N] ")
    terminal.type(f"{answer}\n")
    assert terminal.end()[0] == (Exit.DONE if answer == "y" else Exit.NEGATIVE)
    listed = history.evaluation.ListEvaluationCases(pb.ListEvaluationCasesRequest(page_size=100)).evaluation_cases
    assert (case_id in {one.case_id for one in listed}) == (answer != "y")


def test_without_a_terminal_a_sentence_says_what_to_do(stack: Stack, history: HistoryClient) -> None:
    case_id = cases.pinned(history, "no-terminal").case_id
    command = [sys.executable, "-m", "ranktrail_cli", "judge", case_id, "--data-dir", str(stack.data_dir)]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=SECONDS)
    assert (ended.returncode, ended.stdout) == (Exit.USAGE, b"")
    assert b"needs a terminal: use one, or give --file and --expected-version" in ended.stderr
