"""Events on their way to browsers: one source, any number of readers, none of whom can hold up another.

A reader's queue is bounded. One that does not keep up loses what waits and is told so; it then asks for what it shows.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

MAX_STREAMS = 32
QUEUE_EVENTS = 64


class TooManyStreams(Exception):
    """As many streams as allowed are open."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened: a Run changed ("run"), a panel has another content ("panel")."""

    name: str
    content: Any


MISSED = Event("missed", None)
END = Event("end", None)


class Subscription:
    """What one reader has still to read."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self._queue: asyncio.Queue[Event] = asyncio.Queue(QUEUE_EVENTS)

    def put(self, event: Event) -> None:
        """Take an event in; where there is no room, everything that waits becomes one MISSED."""
        if self._queue.full():
            while not self._queue.empty():
                self._queue.get_nowait()
            self._queue.put_nowait(MISSED)
        self._queue.put_nowait(event)

    async def next(self, seconds: float) -> Event | None:
        """Return the next event, or None when there is none in time."""
        try:
            return await asyncio.wait_for(self._queue.get(), seconds)
        except TimeoutError:
            return None


class Broadcast:
    """Hands every event to every reader. `publish` may be called from any thread, the rest from the event loop's."""

    def __init__(self) -> None:
        self._subscriptions: set[Subscription] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_ended = False
        self.has_readers = threading.Event()

    def start(self) -> None:
        """Use the running event loop."""
        self._loop = asyncio.get_running_loop()

    @property
    def is_full(self) -> bool:
        """Whether as many streams as allowed are open."""
        return len(self._subscriptions) >= MAX_STREAMS

    def topics(self) -> set[str]:
        """Return what the readers read."""
        return {subscription.topic for subscription in set(self._subscriptions)}

    def publish(self, event: Event) -> None:
        """Hand an event to every reader."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._deliver, event)

    def end(self) -> None:
        """Tell every reader that it is over, and every later one at once. From any thread, or from a signal handler."""
        self._is_ended = True
        self.publish(END)

    @contextmanager
    def subscribed(self, topic: str) -> Iterator[Subscription]:
        """Read for as long as the context lasts; raise TooManyStreams when it is one too many."""
        if self.is_full:
            raise TooManyStreams
        subscription = Subscription(topic)
        self._subscriptions.add(subscription)
        self.has_readers.set()
        if self._is_ended:
            subscription.put(END)
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)
            if not self._subscriptions:
                self.has_readers.clear()

    def _deliver(self, event: Event) -> None:
        for subscription in self._subscriptions:
            subscription.put(event)
