"""Leases on bodies: what an upload or a pin is about to refer to must not be collected meanwhile."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager


class Leases:
    """Digests that are held, each perhaps more than once.

    A holder takes its lease before it looks whether a body exists; a collection removes a body only through
    `unless_held`: so either the holder finds it gone, or it stays.
    """

    def __init__(self) -> None:
        self._held: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def hold(self, digests: Iterable[str]) -> Iterator[None]:
        """Hold the digests for as long as the context lasts."""
        held = frozenset(digests)
        with self._lock:
            self._held.update(held)
        try:
            yield
        finally:
            with self._lock:
                self._held.subtract(held)
                for digest in held:
                    if self._held[digest] == 0:
                        del self._held[digest]

    def unless_held(self, digest: str, action: Callable[[], None]) -> bool:
        """Run `action` while nobody can begin to hold the digest; return False, without running it, when it is held."""
        with self._lock:
            if digest in self._held:
                return False
            action()
            return True
