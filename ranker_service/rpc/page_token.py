"""Pages of resources by key: a token names the last resource sent, and the request that it belongs to."""

import base64
import binascii
from bisect import bisect_right
from collections.abc import Sequence

from ranker_service.domain.digest import canonical_json, digest_of
from ranker_service.domain.errors import FieldInvalid, PageTokenInvalid
from ranker_service.domain.limits import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE
from ranker_service.domain.resource import Resource

_SCOPE_BYTES = 8


def page_of(
    resources: Sequence[Resource], page_size: int, page_token: str, scope: Sequence[str]
) -> tuple[Sequence[Resource], str]:
    """Return a page of resources in resource_id order, and the token of the next ("" on the last).

    `scope` is what the token is bound to. Raises FieldInvalid (page_size) and PageTokenInvalid.
    """
    size = _size(page_size)
    start = 0
    if page_token:
        start = bisect_right(resources, _decode(page_token, scope), key=lambda resource: resource.resource_id)
    page = resources[start : start + size]
    is_last = start + size >= len(resources)
    return page, "" if is_last else _encode(page[-1].resource_id, scope)


def _size(page_size: int) -> int:
    if page_size < 0:
        raise FieldInvalid("page_size", "is negative: send 0 for the default of 50, or up to 100")
    return min(page_size or DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE)


def _encode(last: str, scope: Sequence[str]) -> str:
    return base64.urlsafe_b64encode(_mark(scope) + last.encode()).decode("ascii")


def _decode(token: str, scope: Sequence[str]) -> str:
    try:
        content = base64.b64decode(token.encode("ascii"), altchars=b"-_", validate=True)
        mark, last = content[:_SCOPE_BYTES], content[_SCOPE_BYTES:].decode("utf-8")
    except (binascii.Error, UnicodeError) as error:
        raise PageTokenInvalid("page_token is not one of this server's: begin again without it") from error
    if mark != _mark(scope):
        raise PageTokenInvalid("page_token belongs to another request: begin again without it")
    return last


def _mark(scope: Sequence[str]) -> bytes:
    return bytes.fromhex(digest_of(canonical_json(list(scope))))[:_SCOPE_BYTES]
