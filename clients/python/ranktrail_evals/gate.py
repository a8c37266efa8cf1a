"""What decides the exit code: which metrics are required, and from where on each passes."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ranktrail_evals.dataset.model import Record
from ranktrail_evals.errors import OptionInvalid
from ranktrail_evals.judge.catalog import JUDGED
from ranktrail_evals.metrics.catalog import DETERMINISTIC
from ranktrail_evals.scores import Definition

DEFINITIONS: Mapping[str, Definition] = MappingProxyType(
    {metric.definition.name: metric.definition for metric in (*DETERMINISTIC, *JUDGED)}
)
_THRESHOLD = re.compile(r"\s*(?P<name>[\w@]+)\s*(?P<comparison>>=|<=)\s*(?P<value>\S+)\s*")


@dataclass(frozen=True, slots=True)
class Gate:
    """Names of the required metrics, and the threshold of every metric."""

    required: frozenset[str]
    thresholds: Mapping[str, float]


def make_gate(records: Sequence[Record], required: Sequence[str], thresholds: Sequence[str]) -> Gate:
    """Return the gate of `--require` and `--threshold` options.

    Without `required`, those without a judge are required whose annotations some record has. A metric that is given a
    threshold is required, too. Raises OptionInvalid for an unknown metric and for a threshold that none can have.
    """
    given = dict(map(_threshold, thresholds))
    names = set(map(_known, required)) or {
        metric.definition.name for metric in DETERMINISTIC if any(map(metric.is_annotated, records))
    }
    defaults = {name: definition.threshold for name, definition in DEFINITIONS.items()}
    return Gate(frozenset(names | given.keys()), defaults | given)


def _threshold(text: str) -> tuple[str, float]:
    match = _THRESHOLD.fullmatch(text)
    if match is None:
        raise OptionInvalid(f"--threshold {text!r} is no threshold: write it like f1>=0.5")
    name, comparison = _known(match["name"]), match["comparison"]
    wanted = DEFINITIONS[name].direction.comparison
    if comparison != wanted:
        raise OptionInvalid(f"--threshold {text!r}: {name} passes {wanted} its threshold: write {name}{wanted}X")
    try:
        value = float(match["value"])
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise OptionInvalid(f"--threshold {text!r}: {match['value']!r} is no number from 0 to 1")
    return name, value


def _known(name: str) -> str:
    if name not in DEFINITIONS:
        raise OptionInvalid(f"{name!r} is no metric: there are {', '.join(DEFINITIONS)}")
    return name
