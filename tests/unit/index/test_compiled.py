"""Compiled loops do not need a place to keep their code."""

from typing import Any

import numba.core.caching
import pytest

from ranker_service.index.compiled import compiled


def doubled(number: Any) -> Any:
    return 2 * number


def test_a_loop_is_compiled_where_no_cache_directory_is_writable(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise OSError("read-only")

    monkeypatch.setattr(numba.core.caching._CacheLocator, "ensure_cache_path", refuse)
    assert compiled(doubled)(21) == 42
