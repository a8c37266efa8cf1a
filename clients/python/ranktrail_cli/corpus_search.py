"""Finding a resource of a frozen corpus, reading it, and judging it as a whole."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from ranktrail.history.v1 import history_service_pb2 as history_pb2
from ranktrail.trace.v1.trace_pb2 import Resource
from ranktrail_cli.judge_screen import Screen
from ranktrail_cli.judging import Judging
from ranktrail_cli.keyboard import ESCAPE, Keyboard
from ranktrail_client.client import Client
from ranktrail_client.paging import pages

SHOWN = 9
"""Resources at a time: each is chosen by one digit."""
TEXT_CHARACTERS = 4_000
MOST_BYTES_PER_CHARACTER = 4


@dataclass(frozen=True, slots=True)
class CorpusSearch:
    """A dialog over the corpus of the case that is judged."""

    client: Client
    judging: Judging
    keyboard: Keyboard
    screen: Screen

    def judge(self, *, only_missed: bool) -> bool:
        """Let a person search until a resource is judged or nothing is typed; say whether one was judged.

        With `only_missed`, resources that the Run found are left out. Raises RanktrailError.
        """
        what = "search for missed evidence" if only_missed else "search the corpus"
        while True:
            self.screen.ask(f"{what}: a part of an id, path or title; nothing goes back")
            text = self.keyboard.line("> ")
            if not text:
                return False
            outcome = self._choose(text, only_missed=only_missed)
            if outcome is not None:
                return outcome

    def _choose(self, text: str, *, only_missed: bool) -> bool | None:
        """Return whether a resource was judged; None to search again."""
        found = self._found(text, only_missed=only_missed)
        shown, more = _next_shown(found, [])
        while True:
            self.screen.found(self.judging, shown, text, has_more=bool(more))
            key = self.keyboard.key()
            if key in {"b", "q", ESCAPE}:
                return False
            if key == "/":
                return None
            if key == "n" and more:
                shown, more = _next_shown(found, more)
            elif key in list("123456789"[: len(shown)]) and self._judge(shown[int(key) - 1]):
                return True

    def _found(self, text: str, *, only_missed: bool) -> Iterator[Resource]:
        request = pb.ListCorpusResourcesRequest(case_id=self.judging.case.case_id, text=text)
        for page in pages(self.client.evaluation.list_corpus_resources, request):
            for resource in page.resources:
                if not (only_missed and self.judging.was_recalled(resource.resource_id)):
                    yield resource

    def _judge(self, resource: Resource) -> bool:
        self.screen.resource(self.judging, resource, self._beginning(resource))
        while True:
            key = self.keyboard.key()
            if key in {"b", "q", ESCAPE}:
                return False
            if key in {"0", "1", "2", "3"}:
                self.judging.judge_resource(resource.resource_id, int(key))
                return True

    def _beginning(self, resource: Resource) -> str:
        """Return the first characters of a resource, as the Run ranked it."""
        request = history_pb2.ReadRunResourceRequest(run_id=self.judging.case.run_id, resource_id=resource.resource_id)
        body = b""
        for frame in self.client.history.read_run_resource(request):
            body += frame.content
            if len(body) >= MOST_BYTES_PER_CHARACTER * TEXT_CHARACTERS:
                break
        return body.decode("utf-8", "replace")[:TEXT_CHARACTERS]


def _next_shown(found: Iterator[Resource], waiting: list[Resource]) -> tuple[list[Resource], list[Resource]]:
    """Return the next resources to show, and the one after them where there is one."""
    several = [*waiting, *itertools.islice(found, SHOWN + 1 - len(waiting))]
    return several[:SHOWN], several[SHOWN:]
