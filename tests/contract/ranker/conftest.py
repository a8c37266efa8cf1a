"""One ranker process for all contract tests; each test has a project of its own."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from ranktrail.ranker.v1.ranker_service_pb2_grpc import RankerServiceStub
from tests.processes import Service, short_directory

_NUMBERS = count()


@pytest.fixture(scope="session")
def ranker() -> Iterator[Service]:
    with short_directory() as directory:
        service = Service("ranker_service", directory)
        try:
            service.start()
            yield service
        finally:
            service.kill()


@pytest.fixture(scope="session")
def stub(ranker: Service) -> RankerServiceStub:
    assert ranker.channel is not None
    return RankerServiceStub(ranker.channel)


@pytest.fixture
def project() -> str:
    return f"project-{next(_NUMBERS)}"


@pytest.fixture
def new_project() -> Callable[[], str]:
    return lambda: f"project-{next(_NUMBERS)}"
