"""The encoder that tests index with keeps every promise of a real one."""

import pytest

from tests.fakes.encoder import WordEncoder
from tests.suites.encoder import EncoderSuite


class TestWordEncoder(EncoderSuite):
    @pytest.fixture
    def encoder(self) -> WordEncoder:
        return WordEncoder()
