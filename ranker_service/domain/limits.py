"""Every limit of the ranker by name, and the checks of the fields that a request carries.

Sizes of text are bytes of its UTF-8. Each check returns the value, or raises FieldInvalid naming the field.
"""

import re

from ranker_service.domain.blank import is_blank
from ranker_service.domain.digest import is_digest
from ranker_service.domain.errors import FieldInvalid

KIB = 1024
MIB = 1024 * KIB

MESSAGE_BYTES = 4 * MIB
"""One gRPC message, either way."""
FRAME_BYTES = MIB
"""The part of a body that one message carries."""
CANDIDATES_PER_FRAME = 256
STATUS_MESSAGE_BYTES = KIB
"""An error's text, and the summary of a failed Run."""

PROJECT_ID_BYTES = 512
QUERY_BYTES = 8 * KIB
QUERY_ID_BYTES = 512
ACTIVATION_STATE_BYTES = 64 * KIB
KNOWN_UNITS = 256
"""Units that an activation state remembers."""
FILTER_KINDS = 64
"""Kinds that one request may name."""
PROFILE_TOML_BYTES = 64 * KIB
DEFAULT_PAGE_SIZE = 50
MAX_PAGE_SIZE = 100

RESOURCE_ID_BYTES = 512
KIND_BYTES = 64
PATH_BYTES = KIB
TITLE_BYTES = KIB
MEDIA_TYPE_BYTES = 255
RESOURCE_BYTES = 32 * MIB
RESOURCES_PER_LAYER = 200_000

UNIT_KEY_BYTES = 2 * KIB
UNIT_BYTES = 16 * KIB
"""A unit's text, so that a reply stays small whatever the tokenizer makes of it."""
HEADING_BYTES = 512
"""A heading as context; the rest of a longer one is still in its unit's text."""
SECTIONS_PER_RESOURCE = 65_536
"""Headings past this many begin no section of their own."""
MARKDOWN_LINES = 1_000_000
"""Markdown with more lines is read as plain text."""
FRONT_MATTER_BYTES = 16 * KIB
"""Front matter that is read for a title; longer front matter is only skipped."""

_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(?:[ ]*;[ -~]*)?")


def check_text(field: str, text: str, limit: int, *, required: bool = False) -> str:
    """Refuse surrogates, which no UTF-8 holds, more than `limit` bytes and, where `required`, an empty text."""
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise FieldInvalid(field, "has a surrogate, which is not text: send valid Unicode") from error
    if size > limit:
        raise FieldInvalid(field, f"has {size} bytes, at most {limit} are allowed: shorten it", limit)
    if required and not text:
        raise FieldInvalid(field, "is empty: give it a value")
    return text


def _check_identifier(field: str, text: str, limit: int) -> str:
    check_text(field, text, limit, required=True)
    if "\0" in text:
        raise FieldInvalid(field, "has a NUL character: remove it")
    return text


def check_project_id(text: str) -> str:
    """Any 1 to 512 bytes without NUL; it is never part of a path, so its other characters do not matter."""
    return _check_identifier("project_id", text, PROJECT_ID_BYTES)


def check_resource_id(text: str, field: str = "resource_id") -> str:
    """1 to 512 bytes without NUL."""
    return _check_identifier(field, text, RESOURCE_ID_BYTES)


def check_query_id(text: str) -> str:
    """1 to 512 bytes without NUL."""
    return _check_identifier("query_id", text, QUERY_ID_BYTES)


def check_kind(text: str, field: str = "kind") -> str:
    """1 to 64 bytes without NUL."""
    return _check_identifier(field, text, KIND_BYTES)


def check_kinds(kinds: list[str]) -> list[str]:
    """At most 64 kinds, each one valid."""
    if len(kinds) > FILTER_KINDS:
        raise FieldInvalid("kinds", f"names {len(kinds)} kinds, at most {FILTER_KINDS} are allowed", FILTER_KINDS)
    return [check_kind(kind, "kinds") for kind in kinds]


def check_title(text: str) -> str:
    """At most 1,024 bytes; empty is no title."""
    return check_text("title", text, TITLE_BYTES)


def check_media_type(text: str) -> str:
    """`type/subtype` with optional parameters, 1 to 255 bytes of ASCII."""
    _check_identifier("media_type", text, MEDIA_TYPE_BYTES)
    if _MEDIA_TYPE.fullmatch(text) is None:
        raise FieldInvalid("media_type", "is not of the form type/subtype, such as text/markdown")
    return text


def check_path(text: str) -> str:
    """Relative, "/" between its parts, no part empty, "." or "..", no backslash, no NUL, 1 to 1,024 bytes."""
    _check_identifier("path", text, PATH_BYTES)
    if "\\" in text:
        raise FieldInvalid("path", 'has a backslash: put "/" between its parts')
    if text.startswith("/"):
        raise FieldInvalid("path", "is absolute: make it relative")
    if any(part in ("", ".", "..") for part in text.split("/")):
        raise FieldInvalid("path", 'has an empty, "." or ".." part: remove it')
    return text


def check_path_prefix(text: str) -> str:
    """At most 1,024 bytes without NUL; empty is every path."""
    check_text("path_prefix", text, PATH_BYTES)
    if "\0" in text:
        raise FieldInvalid("path_prefix", "has a NUL character: remove it")
    return text


def check_digest(text: str, field: str = "digest") -> str:
    """64 lower-case hex digits, and nothing before or after them."""
    if not is_digest(text):
        raise FieldInvalid(field, "is not 64 lower-case hex digits: send the SHA-256 of the bytes")
    return text


def check_resource_size(size_bytes: int) -> int:
    """0 to 32 MiB."""
    if size_bytes < 0:
        raise FieldInvalid("size_bytes", "is negative", 0)
    if size_bytes > RESOURCE_BYTES:
        problem = f"is {size_bytes}, a resource has at most {RESOURCE_BYTES} bytes: leave it out or split it"
        raise FieldInvalid("size_bytes", problem, RESOURCE_BYTES)
    return size_bytes


def check_frame(chunk: bytes) -> bytes:
    """At most 1 MiB of a body."""
    if len(chunk) > FRAME_BYTES:
        problem = f"frame has {len(chunk)} bytes, at most {FRAME_BYTES} are allowed: send smaller frames"
        raise FieldInvalid("body", problem, FRAME_BYTES)
    return chunk


def check_query(text: str) -> str:
    """Not blank, at most 8 KiB; every character counts, NUL included."""
    check_text("query", text, QUERY_BYTES)
    if is_blank(text):
        raise FieldInvalid("query", "is blank: ask something")
    return text


def check_activation_state(state: bytes) -> bytes:
    """At most 64 KiB; what it says is checked within the Run."""
    if len(state) > ACTIVATION_STATE_BYTES:
        problem = f"has {len(state)} bytes, at most {ACTIVATION_STATE_BYTES} are allowed"
        raise FieldInvalid("activation_state", problem, ACTIVATION_STATE_BYTES)
    return state
