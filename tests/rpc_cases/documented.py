"""What the contracts say of errors: the reasons that a method names, and the code and metadata of each reason."""

import re
from dataclasses import dataclass
from functools import cache

from protos.comments import comments
from protos.descriptor_set import descriptor_set

_REASONS = "ranktrail.errors.v1.ErrorReason"
_PREFIX = "ERROR_REASON_"


@dataclass(frozen=True)
class Documented:
    """One reason: its status codes, the metadata that is always there and that which may be."""

    codes: frozenset[str]
    always: frozenset[str]
    sometimes: frozenset[str]


@cache
def contract_comments() -> dict[str, str]:
    """Return the comment of everything in the contracts."""
    return {name: text for file in descriptor_set().file for name, text in comments(file).items()}


def documented_reasons() -> dict[str, Documented]:
    """Return every reason but the one that is never sent."""
    found = {}
    for name, text in contract_comments().items():
        if name.startswith(f"{_REASONS}.") and not name.endswith("UNSPECIFIED"):
            found[name.removeprefix(f"{_REASONS}.{_PREFIX}")] = _documented(text)
    return found


def reasons_of_method(full_name: str) -> set[str]:
    """Return the reasons that a method's comment names."""
    return set(re.findall(r"[A-Z_]+", contract_comments()[full_name])) & set(documented_reasons())


def _documented(text: str) -> Documented:
    match = re.match(r"([A-Z_ or]+?)(?: \{(.*?)\})?[.,]", text)
    assert match is not None, text
    keys = [part.strip() for part in (match[2] or "").split(",") if part]
    always = {key for key in keys if " " not in key}
    sometimes = {word for key in keys if " " in key for word in re.split(r" (?:when|where) .*| or ", key) if word}
    return Documented(frozenset(match[1].split(" or ")), frozenset(always), frozenset(sometimes))
