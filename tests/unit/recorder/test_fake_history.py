"""The fake of the history service behaves as the service does where a recorder looks."""

from collections.abc import Iterator

import grpc
import pytest

from ranktrail.history.v1.history_service_pb2_grpc import HistoryServiceStub
from tests.fakes.history import FakeHistory
from tests.processes import short_directory
from tests.suites.history_recording import HistoryRecordingSuite


class TestFakeHistory(HistoryRecordingSuite):
    @pytest.fixture
    def history(self) -> Iterator[HistoryServiceStub]:
        with short_directory() as directory:
            fake = FakeHistory()
            fake.start(f"unix:{directory}/history.sock")
            with grpc.insecure_channel(f"unix:{directory}/history.sock") as channel:
                yield HistoryServiceStub(channel)
            fake.stop()
