"""Figures and the bars that they must reach."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True, slots=True)
class Line:
    """One figure, the median of several; `bar` is the most it may be, or with `at_least` the least; None is no bar."""

    name: str
    value: float
    low: float
    high: float
    bar: float | None = None
    at_least: bool = False

    @classmethod
    def of(cls, name: str, values: Sequence[float], bar: float | None = None, *, at_least: bool = False) -> "Line":
        """Return the median of figures and their spread."""
        return cls(name, median(values), min(values), max(values), bar, at_least)

    @property
    def holds(self) -> bool:
        """Say whether the bar is reached."""
        return self.bar is None or (self.value >= self.bar if self.at_least else self.value <= self.bar)


def finish(lines: Sequence[Line], details: dict[str, Any], *, as_json: bool) -> None:
    """Print the figures, as one JSON document or as a table, and exit: 1 where a bar is missed."""
    if as_json:
        print(json.dumps(details | {"lines": [asdict(line) | {"holds": line.holds} for line in lines]}))
    else:
        for line in lines:
            bar = "" if line.bar is None else f"{'at least' if line.at_least else 'at most'} {line.bar:g}"
            missed = "" if line.holds else "  MISSED"
            print(f"{line.name:44} {line.value:9.3f}  ({line.low:.3f} to {line.high:.3f})  {bar}{missed}")
    sys.exit(not all(line.holds for line in lines))


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Return ours / theirs, round by round."""
    return [mine / other for mine, other in zip(ours, theirs, strict=True)]
