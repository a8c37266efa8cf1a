"""Writes what each package that Ranktrail installs is licensed under: `python -m tests.make_licences`.

Names and licences come from the installed packages, the set from what pyproject.toml asks for and what that asks for.
"""

from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

TARGET = Path(__file__).parents[1] / "docs" / "licences.md"
LONGEST = 60
_BEGIN = """<!-- Made by `python -m tests.make_licences` from the installed packages; never edited. -->

# Licences

What `pip install ranktrail` installs, and the licence that each package says it has.

| package | licence |
|---|---|
"""


def page() -> str:
    """Return the text of docs/licences.md."""
    return _BEGIN + "".join(
        f"| {one.name} | {licence(one)} |\n" for one in installed("ranktrail") if one.name != "ranktrail"
    )


def installed(root: str) -> list[Distribution]:
    """Return a package and everything that it needs on this machine, by name; extras are left out."""
    found: dict[str, Distribution] = {}
    waiting = [root]
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in found or name.startswith(("nvidia-", "cuda-", "triton")):  # they come with torch on some machines
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            continue
        asked = [Requirement(text) for text in found[name].requires or []]
        waiting += [one.name for one in asked if one.marker is None or one.marker.evaluate({"extra": ""})]
    return [found[name] for name in sorted(found)]


def licence(package: Distribution) -> str:
    """Return what a package says: its SPDX expression, else its classifiers, else its own words."""
    metadata = package.metadata
    expression = metadata.get("License-Expression")
    classified = [
        value.rpartition(" :: ")[2] for value in metadata.get_all("Classifier", []) if value.startswith("License ::")
    ]
    said = expression or ", ".join(classified) or (metadata.get("License") or "").strip().partition("\n")[0]
    return said[:LONGEST].replace("|", "/") or "not said"


if __name__ == "__main__":
    TARGET.write_text(page(), "utf-8")
