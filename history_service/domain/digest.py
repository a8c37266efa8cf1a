"""Digests: lower-case hex SHA-256 of raw bytes."""

import hashlib
import json
import re
from typing import Any

DIGEST_CHARACTERS = 64
_DIGEST = re.compile(r"[0-9a-f]{64}")


def digest_of(content: bytes | memoryview) -> str:
    """Return the SHA-256 of `content` as 64 lower-case hex digits."""
    return hashlib.sha256(content).hexdigest()


def is_digest(text: str) -> bool:
    """Say whether `text` is exactly 64 lower-case ASCII hex digits."""
    return _DIGEST.fullmatch(text) is not None


def canonical_json(value: Any) -> bytes:
    """Return UTF-8 JSON with sorted keys, no spaces and non-ASCII characters as themselves; raise ValueError on NaN."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8")
