"""Finds resources by a text in what names them."""

from collections.abc import Iterable


def ids_holding(text: str, rows: Iterable[tuple[str, str, str]]) -> list[str]:
    """Return the ids of those rows of (id, path, title) that hold the text, without regard to case, in their order.

    Here and not in SQL, whose text functions stop at a NUL and know only ASCII.
    """
    wanted = text.casefold()
    return [row[0] for row in rows if any(wanted in column.casefold() for column in row)]
