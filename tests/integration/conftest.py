"""Both services as processes, shared by the tests of one file."""

from collections.abc import Iterator

import pytest

from tests.processes import Stack, running_stack


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with running_stack() as running:
        yield running
