"""YAML front matter: a mapping between `---` lines at the very start of a Markdown file."""

import re
from typing import Any

import yaml

from ranker_service.domain.limits import FRONT_MATTER_BYTES
from ranker_service.memory.lines import with_line_feeds

_OPEN = re.compile(r"---[ \t]*+(?:\r\n|\r|\n)")
_CLOSE = re.compile(r"(?<=[\r\n])(?:---|\.\.\.)[ \t]*+(?:\r\n|\r|\n|\Z)")
_MAPPING_LINE = re.compile(r"\s.*|#.*|-\s.*|[\w.\"'-][\w .\"'-]*+:(?:\s.*)?|")
_TITLE = re.compile(r"^title:[ \t]*+(.*)", re.MULTILINE)


def split_front_matter(text: str) -> tuple[int, str]:
    """Return how many characters of `text` are front matter, and the title that it gives (empty: none).

    Text between two thematic breaks looks alike, so what stands there must be a YAML mapping, or look like one line by
    line where it is not valid YAML; and it must end within 16 KiB.
    """
    opened = _OPEN.match(text)
    closed = _CLOSE.search(text, opened.end(), FRONT_MATTER_BYTES) if opened else None
    if opened is None or closed is None:
        return 0, ""
    mapping = _mapping(with_line_feeds(text[opened.end() : closed.start()]))
    if mapping is None:
        return 0, ""
    title = mapping.get("title")
    return closed.end(), " ".join(title.split()) if isinstance(title, str) else ""


def _mapping(source: str) -> dict[Any, Any] | None:
    """Read YAML whose every scalar stays a string, so that `title: 2024-13-45` is a title and not a bad date."""
    try:
        value = yaml.load(source, Loader=yaml.BaseLoader) if source.strip() else {}  # noqa: S506 - strings, lists, mappings
    except (yaml.YAMLError, RecursionError):
        return _broken_mapping(source)
    return value if isinstance(value, dict) else None


def _broken_mapping(source: str) -> dict[Any, Any] | None:
    if not all(_MAPPING_LINE.fullmatch(line) for line in source.split("\n")):
        return None
    title = _TITLE.search(source)
    return {"title": title[1].strip().strip("\"'")} if title else {}
