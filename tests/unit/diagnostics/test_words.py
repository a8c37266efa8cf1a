"""Values as a person reads them."""

import pytest

from ranktrail.trace.v1.trace_pb2 import DeltaAction
from ranktrail_client.message_json import enum_words
from ranktrail_diagnostics import words


def test_every_word_of_the_contract_has_a_sentence() -> None:
    assert set(words.DELTAS) == set(enum_words(DeltaAction.DESCRIPTOR))


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.0 KiB"), (5 << 30, "5.0 GiB"), (1 << 60, "1048576 TiB")],
)
def test_sizes_have_a_unit(count: int, text: str) -> None:
    assert words.size(count) == text


@pytest.mark.parametrize(
    ("duration", "text"), [(None, words.DASH), (0, "0.00"), (999, "1.00"), (1_234, "1.2"), (1_234_567, "1,235")]
)
def test_durations_are_milliseconds_and_absent_is_a_dash(duration: int | None, text: str) -> None:
    assert words.milliseconds(duration) == text
