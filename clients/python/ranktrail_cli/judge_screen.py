"""What a person who judges sees: one candidate at a time, what was judged of it, and the keys."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from ranktrail.trace.v1.trace_pb2 import Candidate, Resource
from ranktrail_cli.case_view import judgment_words
from ranktrail_cli.judging import Judging
from ranktrail_cli.trace_view import counted
from ranktrail_client.safe_text import safe_block, safe_line

WIDEST = 100
QUERY_LINES = 2
LINES_BESIDE_TEXT = 15
FEWEST_TEXT_LINES = 6
GRADES = "0 not relevant  1 marginally  2 relevant  3 an answer"
KEYS = "s skip  b back  m missed evidence  / search  u undo  ? help  q save and quit"
END_KEYS = "b back  m missed evidence  / search  u undo  ? help  q save and quit"
HELP = (
    ("0 1 2 3", "judge what is shown: not relevant, marginally, relevant, an answer; then the next one comes"),
    ("s", "skip: the next one comes, and this one stays as it is"),
    ("b", "back: the one before"),
    ("m", "missed evidence: search the corpus for a resource of which nothing was found, and judge it"),
    ("/", "search the whole corpus, read a resource and judge it as a whole"),
    ("u", "undo the last judgment; again: the one before it"),
    ("q", "quit: save, keep for later, or discard"),
    ("Ctrl-C", "end at once; what is not saved is kept for the next time"),
)


class Screen:
    """Draws on standard output, which must be a terminal. Text from a memory steers nothing."""

    def __init__(self) -> None:
        self._console = Console(markup=False, highlight=False, emoji=False)

    def candidate(self, judging: Judging, message: str) -> None:
        """Show the candidate that is looked at, or that there is none left."""
        self._begin(judging)
        candidate = judging.candidate
        if candidate is None:
            self._line("every candidate was shown" if judging.candidates else "the Run had no candidates")
            self._end(message, END_KEYS)
            return
        self._line(candidate.title or candidate.path, "bold")
        self._line(_place(candidate), "dim")
        self._line()
        self._text(candidate.excerpt)
        self._line()
        self._line(f"judged: {judgment_words(judging.judgment_of(candidate.resource_id, candidate.unit_key))}")
        whole = judging.judgment_of(candidate.resource_id)
        if whole is not None:
            self._line(f"its whole resource: {judgment_words(whole)}")
        self._end(message, GRADES, KEYS)

    def found(self, judging: Judging, resources: Sequence[Resource], text: str, *, has_more: bool) -> None:
        """Show what a search found, numbered from 1."""
        self._begin(judging)
        self._line(f"resources with {text!r}" if resources else f"no resource with {text!r}", "bold")
        for number, resource in enumerate(resources, start=1):
            state = "candidate" if judging.was_recalled(resource.resource_id) else "not found by the Run"
            judged = judging.judgment_of(resource.resource_id)
            mark = f"{state}, judged {judged.relevance}" if judged else state
            self._line(f"{number}  {resource.title or resource.path}  ({mark})")
            self._line(f"   {resource.path}", "dim")
        choice = f"1-{len(resources)} read and judge  " if resources else ""
        self._end("", f"{choice}{'n more  ' if has_more else ''}/ search again  b back")

    def resource(self, judging: Judging, resource: Resource, text: str) -> None:
        """Show the beginning of a resource."""
        self._begin(judging)
        self._line(resource.title or resource.path, "bold")
        self._line(resource.path, "dim")
        self._line()
        self._text(text)
        self._line()
        self._line(f"judged as a whole: {judgment_words(judging.judgment_of(resource.resource_id))}")
        self._end("", GRADES, "b back")

    def help(self) -> None:
        """Show what each key does."""
        self._console.clear()
        for key, meaning in HELP:
            self._line(f"{key:>8}  {meaning}")
        self._end("", "any key goes back")

    def ask(self, question: str, keys: str = "") -> None:
        """Show a question below what is there."""
        self._line()
        self._line(question, "bold")
        if keys:
            self._line(keys, "reverse")

    def clear(self) -> None:
        """Show nothing."""
        self._console.clear()

    @property
    def _width(self) -> int:
        return min(self._console.width, WIDEST)

    def _begin(self, judging: Judging) -> None:
        self._console.clear()
        one, count = judging.case, len(judging.candidates)
        where = f"{min(judging.position + 1, count)} of {count}"
        unsaved = f", {judging.changed_count} unsaved" if judging.is_changed else ""
        judged = counted(len(judging.judgments), "judgment")
        self._line(f"case {one.case_id}  {where}  version {judging.version}  {judged}{unsaved}", "dim")
        self._lines(Text(safe_line(one.query), "bold cyan"), QUERY_LINES)
        self._line()

    def _end(self, message: str, *keys: str) -> None:
        if message:
            self._line(message, "yellow")
        for line in keys:
            self._line(line, "reverse")

    def _text(self, text: str) -> None:
        self._lines(
            Text(safe_block(text.strip("\n"))), max(self._console.height - LINES_BESIDE_TEXT, FEWEST_TEXT_LINES)
        )

    def _lines(self, text: Text, at_most: int) -> None:
        lines = list(text.wrap(self._console, self._width))
        for line in lines[:at_most]:
            self._console.print(line)
        if len(lines) > at_most:
            self._line("…", "dim")

    def _line(self, text: str = "", style: str = "") -> None:
        self._console.print(Text(safe_line(text), style), width=self._width)


def _place(candidate: Candidate) -> str:
    return " > ".join((candidate.path, *candidate.heading_path))
