"""What decides the exit code of a replay."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ranktrail_evals.errors import OptionInvalid
from ranktrail_evals.replay.model import Contestant, Decision, Difference, Measure
from ranktrail_evals.replay.orders import ORDERS, RETURNED
from ranktrail_evals.results.model import GateExit, Outcome

_CONDITION = re.compile(
    r"\s*(?:(?P<order>\w+)\s*:\s*)?(?P<measure>[\w@]+)\s*>=\s*"
    r"(?:(?P<baseline>baseline)\s*(?:(?P<sign>[+-])\s*(?P<margin>[0-9.]+))?|(?P<value>[0-9.]+))\s*"
)
_NAMES = {**{str(one): one for one in Measure}, "MRR": Measure.RR}
_PLACES = 12


@dataclass(frozen=True, slots=True)
class Condition:
    """A measure of an order must reach a bar: the baseline's value plus `margin`, or a value.

    Neither: it must not be shown to be worse than the baseline.
    """

    text: str
    order: str
    measure: Measure
    margin: float | None = None
    value: float | None = None

    def decide(self, contestant: Contestant) -> Decision:
        """Return how it came out for a profile."""
        found = next(one for one in contestant.differences if (one.order, one.measure) == (self.order, self.measure))
        bar, outcome = self._bar(found), Outcome.UNAVAILABLE
        if found.value is not None:
            passes = not found.is_drop if bar is None else round(found.value - bar, _PLACES) >= 0
            outcome = Outcome.PASS if passes else Outcome.FAIL
        return Decision(profile=contestant.profile, condition=self.text, outcome=outcome, value=found.value, bar=bar)

    def _bar(self, found: Difference) -> float | None:
        if self.margin is not None and found.baseline is not None:
            return round(found.baseline + self.margin, _PLACES)
        return self.value


DEFAULT = tuple(Condition(f"{RETURNED}:{one} no significant drop", RETURNED, one) for one in Measure)
"""Without a gate of the caller's: nothing of what is returned may be shown to be worse."""


def conditions(texts: Sequence[str]) -> tuple[Condition, ...]:
    """Return the conditions of `--gate` options, the default ones without any; raise OptionInvalid."""
    return tuple(map(_condition, texts)) or DEFAULT


def exit_code(decisions: Sequence[Decision], contestants: Sequence[Contestant]) -> GateExit:
    """Return FAILED where a condition fails, INCOMPLETE where one cannot be told or a case was not ranked."""
    outcomes = {one.outcome for one in decisions}
    if Outcome.FAIL in outcomes:
        return GateExit.FAILED
    is_incomplete = Outcome.UNAVAILABLE in outcomes or any(one.failed for one in contestants)
    return GateExit.INCOMPLETE if is_incomplete else GateExit.PASSED


def _condition(text: str) -> Condition:
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise OptionInvalid(f"--gate {text!r} is no condition: write it like nDCG@10>=baseline-0.01")
    order, measure = match["order"] or RETURNED, _NAMES.get(match["measure"])
    if measure is None:
        raise OptionInvalid(f"--gate {text!r}: {match['measure']!r} is no measure: there are {', '.join(_NAMES)}")
    if order not in {one.name for one in ORDERS}:
        names = ", ".join(one.name for one in ORDERS)
        raise OptionInvalid(f"--gate {text!r}: {order!r} is no order: there are {names}")
    if match["baseline"] is None:
        return Condition(text, order, measure, value=_number(text, match["value"]))
    margin = _number(text, match["margin"] or "0")
    return Condition(text, order, measure, margin=-margin if match["sign"] == "-" else margin)


def _number(text: str, digits: str) -> float:
    try:
        value = float(digits)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise OptionInvalid(f"--gate {text!r}: {digits!r} is no number from 0 to 1")
    return value
