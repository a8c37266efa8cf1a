"""Where lines begin: after CR LF, LF or CR, and nowhere else.

`str.splitlines` also splits at U+2028, U+0085, vertical tab, form feed and more, which would shift every later line.
"""

import re

import numpy as np
from numpy.typing import NDArray

_LF, _CR = 0x0A, 0x0D
_CARRIAGE_RETURNS = re.compile(r"\r\n?")


def line_starts(body: bytes, start: int) -> NDArray[np.int64]:
    """Return the byte offset of each line of `body[start:]`, ascending; the first one is `start`.

    After a final line end stands the offset of the empty line that follows it.
    """
    octets = np.frombuffer(body, dtype=np.uint8, offset=start) if start < len(body) else np.empty(0, dtype=np.uint8)
    ends = octets == _LF
    lone = octets == _CR
    lone[:-1] &= ~ends[1:]
    after = np.flatnonzero(ends | lone) + start + 1
    return np.concatenate((np.array([start], dtype=np.int64), after))


def with_line_feeds(text: str) -> str:
    """Return `text` with LF for every line end; it has the same lines."""
    return _CARRIAGE_RETURNS.sub("\n", text) if "\r" in text else text
