"""A method of a contract: its messages, its deadline, and whether a call may be repeated."""

from collections.abc import Callable
from typing import Generic, TypeVar

from google.protobuf.message import Message

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)

READ_DEADLINE = 30.0
WRITE_DEADLINE = 60.0


class Method(Generic[Request, Response]):
    """One method, for whoever waits for it.

    `deadline` is in seconds, for all attempts together; None: the call has no end of its own. `repeats` says whether a
    second call does no harm. With `resume`, a stream that broke off goes on where it ended: it puts into the request
    what the last response said.
    """

    def __init__(
        self,
        request_type: type[Request],
        response_type: type[Response],
        deadline: float | None = None,
        *,
        repeats: bool = True,
        resume: Callable[[Request, Response], None] | None = None,
        path: str = "",
    ) -> None:
        self.request_type = request_type
        self.response_type = response_type
        self.deadline = deadline
        self.repeats = repeats
        self.resume = resume
        self.path = path

    def __set_name__(self, table: type, name: str) -> None:
        """Take the method's path from its place in a table of `SERVICE`."""
        service: str = getattr(table, "SERVICE", "")
        self.path = self.path or f"/{service}/{''.join(word.capitalize() for word in name.split('_'))}"

    def encode(self, request: Request) -> bytes:
        """Return a request as it travels."""
        return request.SerializeToString()

    def decode(self, content: bytes) -> Response:
        """Return what came as a response."""
        return self.response_type.FromString(content)
