"""Loops that numba compiles."""

from collections.abc import Callable
from typing import Any

import numba


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile a loop that is free of Python; it then runs on one thread and without the interpreter lock.

    The code is cached beside the source; where that is not writable, in the user's cache directory; where neither is,
    not at all.
    """
    try:
        return numba.njit(function, nogil=True, cache=True, **options)  # type: ignore[no-any-return]
    except RuntimeError:
        return numba.njit(function, nogil=True, **options)  # type: ignore[no-any-return]
