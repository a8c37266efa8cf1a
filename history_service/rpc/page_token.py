"""Page tokens: opaque to callers, and good only for the request that they came from.

A token is a position and a digest over the request's filters and that position, so a token of other filters, or one
that somebody made up, is found out. It holds no secret and grants nothing.
"""

import base64
import binascii
import json
from typing import Any

from history_service.domain.digest import canonical_json, digest_of
from history_service.domain.errors import FieldInvalid, PageTokenInvalid
from history_service.domain.limits import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, MAX_PAGE_TOKEN_CHARACTERS

Scalar = str | int | bool | None
_CHECK_CHARACTERS = 32
_INTEGERS = range(-(2**63), 2**63)


def page_size_of(requested: int) -> int:
    """Return the page size that a request means; raise FieldInvalid when it is negative."""
    if requested < 0:
        raise FieldInvalid("page_size", "is negative: send 0 for the default, or 1 to 100")
    return min(requested or DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE)


def make_page_token(method: str, filters: list[Scalar], position: list[Scalar]) -> str:
    """Return the token of the page that follows `position`."""
    check = _check(method, filters, position).encode("ascii")
    return base64.urlsafe_b64encode(check + canonical_json(position)).decode("ascii").rstrip("=")


def read_page_token(method: str, filters: list[Scalar], token: str, shape: tuple[type, ...]) -> list[Any] | None:
    """Return the position in a token, None for the first page.

    Raise PageTokenInvalid when it is not one of ours, or the types of its position are not those of `shape`.
    """
    if not token:
        return None
    try:
        if len(token) > MAX_PAGE_TOKEN_CHARACTERS:
            raise PageTokenInvalid
        content = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        position = json.loads(content[_CHECK_CHARACTERS:])
    except (binascii.Error, ValueError, RecursionError) as error:
        raise PageTokenInvalid from error
    if not isinstance(position, list) or not _has_shape(position, shape):
        raise PageTokenInvalid
    if _check(method, filters, position).encode("ascii") != content[:_CHECK_CHARACTERS]:
        raise PageTokenInvalid
    return position


def _has_shape(position: list[Any], shape: tuple[type, ...]) -> bool:
    return tuple(map(type, position)) == shape and all(
        value in _INTEGERS for value in position if isinstance(value, int)
    )


def _check(method: str, filters: list[Scalar], position: list[Scalar]) -> str:
    return digest_of(canonical_json([method, filters, position]))[:_CHECK_CHARACTERS]
