"""YAML front matter: a mapping between `---` lines at the very start of a Markdown file."""

import re
from typing import Any

import yaml

from ranker_service.domain.limits import FRONT_MATTER_BYTES

_OPEN = re.compile(r"---[ \t]*+(?:\r\n|\r|\n)")
_CLOSE = re.compile(r"(?:^|(?<=[\r\n]))(?:---|\.\.\.)[ \t]*+(?:\r\n|\r|\n|\Z)")
_KEY = re.compile(r"(?:[ \t]*+(?:#[^\r\n]*+)?[\r\n]++)*+[\w.\"'-][\w .\"'-]*+:(?:[ \t\r\n]|\Z)")
_TITLE = re.compile(r"(?:^|(?<=[\r\n]))title:[ \t]*+([^\r\n]*)")


def split_front_matter(text: str) -> tuple[int, str]:
    """Return how many characters of `text` are front matter, and the title that it gives (empty: none).

    Text between two thematic breaks looks alike, so what stands there must be a YAML mapping, or at least begin like one
    where it is not valid YAML.
    """
    opened = _OPEN.match(text)
    closed = _CLOSE.search(text, opened.end()) if opened else None
    if opened is None or closed is None:
        return 0, ""
    source = text[opened.end() : closed.start()]
    try:
        mapping = _load(source)
    except _BROKEN:
        mapping = {"title": _plain_title(source)} if _KEY.match(source) else None
    if not isinstance(mapping, dict):
        return 0, ""
    title = mapping.get("title")
    return closed.end(), " ".join(title.split()) if isinstance(title, str) else ""


class _TooLong(ValueError):
    """More front matter than is worth reading for a title."""


_BROKEN = (yaml.YAMLError, RecursionError, ValueError)


def _load(source: str) -> Any:
    """Read YAML whose every scalar stays a string, so that `title: 2024-13-45` is a title and no bad date."""
    if len(source) > FRONT_MATTER_BYTES:
        raise _TooLong
    if not source.strip():
        return {}
    return yaml.load(source, Loader=yaml.BaseLoader)  # noqa: S506 - makes strings, lists and mappings only


def _plain_title(source: str) -> str:
    found = _TITLE.search(source)
    return found[1].strip().strip("\"'") if found else ""
