"""Both services once for every test that goes through all RPCs."""

from collections.abc import Iterator

import pytest

from tests.rpc_cases.world import World, a_world


@pytest.fixture(scope="session")
def world() -> Iterator[World]:
    with a_world() as world:
        yield world
