"""Events on their way to browsers."""

import asyncio

import pytest

from ranktrail_diagnostics.live import END, MAX_STREAMS, MISSED, QUEUE_EVENTS, Broadcast, Event, TooManyStreams


def test_a_reader_that_does_not_keep_up_is_told_and_holds_up_nobody() -> None:
    async def read() -> tuple[list[Event | None], int]:
        broadcast = Broadcast()
        broadcast.start()
        with broadcast.subscribed("runs") as slow, broadcast.subscribed("runs") as quick:
            got = 0
            for number in range(QUEUE_EVENTS + 1):
                broadcast.publish(Event("run", number))
                got += (await quick.next(1)) is not None
            return [await slow.next(1), await slow.next(1), await slow.next(0.01)], got

    waiting, got = asyncio.run(read())
    assert waiting == [MISSED, Event("run", QUEUE_EVENTS), None]
    assert got == QUEUE_EVENTS + 1


def test_one_reader_too_many_is_refused_and_the_place_of_one_that_left_is_free() -> None:
    broadcast = Broadcast()
    contexts = [broadcast.subscribed("runs") for _ in range(MAX_STREAMS)]
    for context in contexts:
        context.__enter__()
    with pytest.raises(TooManyStreams), broadcast.subscribed("runs"):
        pass
    contexts[0].__exit__(None, None, None)
    with broadcast.subscribed("head"):
        assert broadcast.topics() == {"runs", "head"}


def test_after_the_end_every_reader_is_told() -> None:
    async def read() -> list[Event | None]:
        broadcast = Broadcast()
        broadcast.start()
        with broadcast.subscribed("runs") as early:
            broadcast.end()
            first = await early.next(1)
        with broadcast.subscribed("runs") as late:
            return [first, await late.next(1)]

    assert asyncio.run(read()) == [END, END]
