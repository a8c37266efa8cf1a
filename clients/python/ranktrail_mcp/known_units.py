"""What each conversation knows already: its activation state, kept between its calls."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from mcp.server.mcpserver import Context

MAX_CONVERSATIONS = 256
"""At most 64 KiB each; the one that was silent longest is forgotten."""
SESSION_HEADER = "mcp-session-id"


@dataclass
class Known:
    """A conversation's activation state; absent: it knows nothing."""

    state: bytes | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class KnownUnits:
    """The states of all conversations; calls of one conversation take turns, so that each builds on the one before."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, ...], Known] = OrderedDict()

    @asynccontextmanager
    async def of(self, conversation: tuple[str, ...] | None) -> AsyncIterator[Known]:
        """Give a conversation's state for one call; None: one that is forgotten afterwards."""
        if conversation is None:
            yield Known()
            return
        known = self._known.setdefault(conversation, Known())
        self._known.move_to_end(conversation)
        if len(self._known) > MAX_CONVERSATIONS:
            self._known.popitem(last=False)
        async with known.turn:
            yield known


def conversation_of(context: Context, name: str | None) -> tuple[str, ...] | None:
    """Return what identifies the caller: its session, and the name that it gave; None where it has neither.

    Over standard input and output the process is the session; over HTTP the header names it, and newer clients, which
    have no sessions, are told apart by the name alone.
    """
    headers = context.headers
    session = "process" if headers is None else headers.get(SESSION_HEADER)
    return None if session is None and not name else (session or "", name or "")
