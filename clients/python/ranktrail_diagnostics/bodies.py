"""What a browser sends: read piece by piece, and never more than is allowed."""

from collections.abc import AsyncIterator

from starlette.exceptions import HTTPException
from starlette.requests import Request

TOO_LARGE = 413


async def pieces(request: Request, limit: int) -> AsyncIterator[bytes]:
    """Yield a request's body as it comes; raise HTTPException once it has more than `limit` bytes."""
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size > limit:
            raise HTTPException(TOO_LARGE, f"What was sent has more than {limit:,} bytes.")
        if piece:
            yield piece


async def whole(request: Request, limit: int) -> bytes:
    """Return a request's body; raise HTTPException when it has more than `limit` bytes."""
    return b"".join([piece async for piece in pieces(request, limit)])
