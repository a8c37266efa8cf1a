"""Browser sessions, kept in the browser: a cookie that only this server can make, and the CSRF token beside it."""

import hashlib
import hmac
import secrets

COOKIE = "ranktrail_session"


class Sessions:
    """Makes and checks sessions of one access token; they outlive a restart as long as the token does."""

    def __init__(self, token: str) -> None:
        self._token = token.encode("utf-8", "surrogateescape")

    def opens(self, token: str) -> bool:
        """Say whether `token` is the access token."""
        return hmac.compare_digest(token.encode("utf-8", "surrogateescape"), self._token)

    def new(self) -> str:
        """Return the cookie of a new session."""
        nonce = secrets.token_hex(16)
        return f"{nonce}.{self._mark('session', nonce)}"

    def holds(self, cookie: str) -> bool:
        """Say whether a cookie is one that `new` made."""
        nonce, _, mark = cookie.partition(".")
        return _same(mark, self._mark("session", nonce))

    def csrf_token(self, cookie: str) -> str:
        """Return what a write within this session must carry."""
        return self._mark("csrf", cookie)

    def is_csrf_token(self, cookie: str, given: str) -> bool:
        """Say whether `given` belongs to the session."""
        return _same(given, self.csrf_token(cookie))

    def _mark(self, purpose: str, text: str) -> str:
        message = f"{purpose}\0{text}".encode("utf-8", "surrogateescape")
        return hmac.new(self._token, message, hashlib.sha256).hexdigest()


def _same(given: str, right: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), right.encode("ascii"))
