"""Context: the title and headings that the encoder and the lexical index see before a unit's text."""

from dataclasses import dataclass

from ranker_service.ports import TokenCounter

_JOINT = " > "


@dataclass(frozen=True, slots=True)
class Context:
    """A unit's prefix, one line or empty, and how many tokens it has."""

    prefix: str
    token_count: int


NO_CONTEXT = Context("", 0)


def context_of(title: str, heading_path: tuple[str, ...], counter: TokenCounter, limit: int) -> Context:
    """Return title and headings as one line of at most `limit` tokens; nothing where not even one token fits.

    Inner parts go first, from the outside, then the outermost: the last heading says most about what follows.
    """
    kept = _parts(title, heading_path)
    while kept:
        prefix = _JOINT.join(kept) + "\n"
        spans = counter.token_spans(prefix)
        if len(spans) <= limit:
            return Context(prefix, len(spans))
        if len(kept) > 1:
            del kept[1 if len(kept) > 2 else 0]  # noqa: PLR2004 - there are inner parts
        else:
            kept = [shorter] if (shorter := _shorter(kept[0], spans, limit)) else []
    return NO_CONTEXT


def _parts(title: str, heading_path: tuple[str, ...]) -> list[str]:
    """Return the title and the headings, white space folded; a title that the first heading repeats stands once."""
    parts = [part for part in (" ".join(part.split()) for part in (title, *heading_path)) if part]
    return parts[1:] if len(parts) > 1 and parts[0].casefold() == parts[1].casefold() else parts


def _shorter(text: str, spans: list[tuple[int, int]], limit: int) -> str:
    """Return a shorter start of `text`, where `spans` are the more than `limit` tokens of `text` and a line end."""
    end = spans[limit][0] if limit > 0 else 0
    return text[: min(end, len(text) - 1)].rstrip()
