"""What an evaluation can refuse, each as one sentence that names the file or option and the fix.

EvalsError
├── DatasetInvalid      the file is no dataset; has every problem that was found
├── DatasetNotFound     no dataset has this name or version, or not that split or so many records
├── OptionInvalid       an option is no metric, threshold or address
├── EndpointRemote      an address leaves this machine, and nobody allowed that
├── ResultInvalid       the file is no result
├── FixtureRefused      the file is no exported evaluation set, or was changed
└── NotComparable       two results that do not measure the same thing
"""

from collections.abc import Sequence
from pathlib import Path


class EvalsError(Exception):
    """Any refusal."""


class DatasetInvalid(EvalsError):
    """A dataset file with problems; each of `problems` names the record and the field."""

    def __init__(self, path: Path, problems: Sequence[str]) -> None:
        more = f" (and {len(problems) - 1} more: `ranktrail evals datasets validate`)" if len(problems) > 1 else ""
        super().__init__(f"dataset {str(path)!r}: {problems[0]}{more}")
        self.path = path
        self.problems = tuple(problems)


class DatasetNotFound(EvalsError):
    """No dataset has this name or version, or it has not that split or so many records."""


class OptionInvalid(EvalsError):
    """An option names no metric, no threshold that it can have, or no address."""


class EndpointRemote(EvalsError):
    """Texts would leave this machine without --allow-remote."""


class ResultInvalid(EvalsError):
    """A file that is no result of a run."""


class FixtureRefused(EvalsError):
    """A file that is no exported evaluation set, or one that was damaged or changed."""


class NotComparable(EvalsError):
    """Two results do not measure the same thing, or one is not finished."""
