"""Judging a case by single keys, from the first candidate to a saved version."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from ranktrail_cli.case_view import judgment_words
from ranktrail_cli.corpus_search import CorpusSearch
from ranktrail_cli.difference_view import print_difference, subject_words
from ranktrail_cli.drafts import Drafts
from ranktrail_cli.judge_screen import Screen
from ranktrail_cli.judging import Judging, by_subject
from ranktrail_cli.keyboard import ESCAPE, Keyboard
from ranktrail_cli.output import Output
from ranktrail_cli.trace_view import counted
from ranktrail_client.client import Client
from ranktrail_client.errors import EvaluationJudgmentConflict, RanktrailError
from ranktrail_client.judgment_difference import Judged, JudgmentDifference, SubjectDifference, read_difference

CANCEL = "c"


class Cancelled(Exception):
    """A person goes back to judging."""


@dataclass(slots=True)
class JudgeDialog:
    """One sitting. What is not saved is in a draft after every key."""

    client: Client
    judging: Judging
    drafts: Drafts
    author: str
    keyboard: Keyboard
    screen: Screen
    output: Output
    _message: str = ""

    def run(self) -> str:
        """Judge until the person leaves; return what became of the judgments, in one sentence."""
        self._offer_draft()
        while True:
            self.screen.candidate(self.judging, self._message)
            self._message = ""
            key = self.keyboard.key()
            try:
                if key == "q":
                    return self._leave()
                self._act(key)
            except Cancelled:
                continue
            except RanktrailError as error:
                self._message = f"not done: {error}"

    def _act(self, key: str) -> None:
        match key:
            case "0" | "1" | "2" | "3":
                self.judging.judge_candidate(int(key))
                self._keep()
            case "s":
                self.judging.move(1)
            case "b":
                self.judging.move(-1)
            case "u":
                self._undo()
            case "m" | "/":
                self._search(only_missed=key == "m")
            case "?":
                self.screen.help()
                self.keyboard.key()
            case _:
                self._message = "that key does nothing: ? shows those that do"

    def _undo(self) -> None:
        if not self.judging.undo():
            self._message = "nothing to undo"
        self._keep()

    def _search(self, *, only_missed: bool) -> None:
        search = CorpusSearch(self.client, self.judging, self.keyboard, self.screen)
        if search.judge(only_missed=only_missed):
            self._keep()
            self._message = "judged: u takes it back"

    def _keep(self) -> None:
        if self.judging.is_changed:
            self.drafts.keep(self.judging.version, self.judging.whole_set())
        else:
            self.drafts.drop()

    def _offer_draft(self) -> None:
        draft = self.drafts.find()
        if draft is None:
            return
        version, judgments = draft
        self.screen.clear()
        judged = counted(len(judgments), "judgment")
        self.screen.ask(
            f"not saved: a set of {judged}, begun from version {version}", "y go on with it  n discard it for good"
        )
        if self._choice("yn") == "y":
            self.judging.replace_by(judgments)
            if self.judging.is_changed:
                self.judging.version = version
        self._keep()

    def _leave(self) -> str:
        if not self.judging.is_changed:
            self.drafts.drop()
            return f"case {self.judging.case.case_id}: nothing was changed"
        self.screen.ask(
            f"save {counted(len(self.judging.judgments), 'judgment')} as {self.author}?",
            "y save  k keep for later  d discard for good  c go on judging",
        )
        choice = self._choice("ykdc")
        if choice == "y":
            return self._save()
        if choice == "d":
            self.drafts.drop()
            return f"case {self.judging.case.case_id}: nothing was saved"
        if choice == "k":
            return (
                f"not saved: `ranktrail judge {self.judging.case.case_id}` offers it again; it is in {self.draft_path}"
            )
        raise Cancelled

    @property
    def draft_path(self) -> str:
        """Where what is not saved lies."""
        return str(self.drafts.path(self.judging.version))

    def _save(self) -> str:
        """Save; where somebody else was faster, merge and save again."""
        while True:
            request = pb.ReplaceEvaluationJudgmentsRequest(
                case_id=self.judging.case.case_id,
                expected_judgment_version=self.judging.version,
                author=self.author,
                request_id=uuid.uuid4().hex,
                judgments=self.judging.whole_set(),
            )
            try:
                version = self.client.evaluation.replace_evaluation_judgments(request).judgment_version
            except EvaluationJudgmentConflict:
                if self._merge():
                    continue
                self.drafts.drop()
                return f"version {self.judging.version} stands, and nothing of yours is left to save"
            self.drafts.drop()
            judged = counted(len(self.judging.judgments), "judgment")
            return f"case {self.judging.case.case_id}: version {version} has {judged}"

    def _merge(self) -> bool:
        """Bring both sides' changes together; say whether that is more than what stands."""
        case_id, mine = self.judging.case.case_id, self.judging.whole_set()
        difference = read_difference(self.client.evaluation, case_id, self.judging.version, mine)
        self.screen.clear()
        print_difference(self.output, difference)
        self.judging.judgments = by_subject(difference.merged(self._decided(difference)))
        self.judging.stored = by_subject(one.theirs for one in difference.subjects if one.theirs is not None)
        self.judging.version = difference.current_version
        self._keep()
        if not self.judging.is_changed:
            return False
        self.screen.ask(
            f"save both sides' changes as version {difference.current_version + 1}?", "y save  c go on judging"
        )
        if self._choice("yc") == CANCEL:
            raise Cancelled
        return True

    def _decided(self, difference: JudgmentDifference) -> Callable[[SubjectDifference], Judged]:
        """Ask about each clash; return what was decided."""
        decided = {one.subject: self._decision(one) for one in difference.clashes}
        return lambda one: decided[one.subject]

    def _decision(self, one: SubjectDifference) -> Judged:
        sides = {"b": ("base", one.base), "t": ("theirs", one.theirs), "m": ("mine", one.mine)}
        self.screen.ask(
            f"{subject_words(one)}: which one stands?",
            "  ".join(f"{key} {name}: {judgment_words(judged)}" for key, (name, judged) in sides.items())
            + "  c go on judging",
        )
        choice = self._choice("btmc")
        if choice == CANCEL:
            raise Cancelled
        return sides[choice][1]

    def _choice(self, keys: str) -> str:
        """Wait for one of the keys; Escape cancels where that is one of them."""
        while True:
            key = self.keyboard.key().lower()
            if key == ESCAPE:
                key = CANCEL
            if key in keys:
                return key
