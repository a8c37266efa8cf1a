"""What is known of one RPC: a call that succeeds, what it answers, and a call for each of its error reasons."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import Message

from tests.rpc_cases.world import World

Requests = Callable[[World], Iterable[Message]]


@dataclass(frozen=True)
class RpcCases:
    """The cases of one RPC; `refusals` has each reason that its comment names, but OVERLOADED, which needs none."""

    requests: Requests
    """Makes the requests of a call that succeeds."""
    answers: Callable[[list[Any]], bool]
    """Says whether these responses are right."""
    refusals: Mapping[str, Requests] = field(default_factory=dict)
    endless: bool = False
    """Whether the call ends only when its caller ends it."""
