"""Back-off: from a tenth of a second to five, less up to half of it, and short again after a success."""

import pytest

from ranker_service.recorder.backoff import Backoff


@pytest.mark.parametrize(("jitter", "factor"), [(0.0, 1.0), (1.0, 0.5)])
def test_waits_double_up_to_five_seconds_and_begin_again(jitter: float, factor: float) -> None:
    backoff = Backoff(lambda: jitter)
    expected = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    assert [backoff.next_seconds() for _ in expected] == pytest.approx([factor * seconds for seconds in expected])
    backoff.reset()
    assert backoff.next_seconds() == pytest.approx(0.1 * factor)
