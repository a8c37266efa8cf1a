"""Judgments that are not saved yet, kept on disk so that no end of the process loses them.

A draft is a file that `ranktrail judge --file` takes too: DATA/judging/CASE.VERSION.json, where VERSION is the one that
the work began from.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from ranktrail.evaluation.v1.evaluation_service_pb2 import EvaluationJudgment
from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.fields import read_bounded, reason_of
from ranktrail_cli.whole_file import whole_file
from ranktrail_client.errors import FieldInvalid
from ranktrail_client.judgments import parse_judgments
from ranktrail_client.message_json import message_json

MAX_JUDGMENTS_BYTES = 1 << 25
"""More than 5,000 judgments with the most text that a case takes, written as JSON."""


@dataclass(frozen=True, slots=True)
class Drafts:
    """The drafts of one case."""

    folder: Path
    case_id: str

    def path(self, version: int) -> Path:
        """Return where a draft lies that began from `version`."""
        return self.folder / f"{quote(self.case_id, safe='')}.{version}.json"

    def find(self) -> tuple[int, list[EvaluationJudgment]] | None:
        """Return the draft with its version, that of the highest where there are several; None where there is none.

        Raises CommandFailed when it cannot be read.
        """
        version = max(self._versions(), default=None)
        if version is None:
            return None
        path = self.path(version)
        try:
            return version, parse_judgments(read_bounded(path, "draft", MAX_JUDGMENTS_BYTES))
        except FieldInvalid as error:
            raise CommandFailed(f"draft {str(path)!r} is damaged ({error}): delete it", Exit.REFUSED) from error

    def keep(self, version: int, judgments: Iterable[EvaluationJudgment]) -> None:
        """Write the draft, in place of every other; raise CommandFailed when it cannot be."""
        document = json.dumps([message_json(one) for one in judgments], indent=2)
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with whole_file(self.path(version)) as file:
                file.write(document.encode("ascii"))
        except OSError as error:
            raise CommandFailed(
                f"draft {str(self.path(version))!r} cannot be written ({reason_of(error)}): choose another --data-dir",
                Exit.INCOMPLETE,
            ) from error
        self.drop(except_for=version)

    def drop(self, except_for: int | None = None) -> None:
        """Remove the drafts."""
        for version in self._versions():
            if version != except_for:
                self.path(version).unlink(missing_ok=True)

    def _versions(self) -> list[int]:
        prefix = f"{quote(self.case_id, safe='')}."
        names = (path.name for path in self.folder.glob("*.json")) if self.folder.is_dir() else ()
        middles = (name.removeprefix(prefix).removesuffix(".json") for name in names if name.startswith(prefix))
        return [int(middle) for middle in middles if middle.isascii() and middle.isdigit()]
