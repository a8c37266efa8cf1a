"""The guard before every page: who may ask, from where, and what a browser may do with the answer.

A page on another origin reaches a loopback port through the reader's browser. Four independent checks keep it out: the
Host header (DNS rebinding), the Origin and Sec-Fetch-Site headers, a SameSite=Strict session cookie, and a CSRF token
on every write.
"""

from http.cookies import CookieError, SimpleCookie
from typing import Any

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ranktrail_diagnostics.sessions import COOKIE, Sessions
from ranktrail_diagnostics.settings import Settings

READING = frozenset({"GET", "HEAD"})
CSRF_HEADER = "x-csrf-token"
# What anybody may have: the form that asks for the token, and what that form looks like.
OPEN_PATHS = ("/session", "/assets/")

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), usb=(), payment=()",
}


class Guard:
    """Refuses what no page of ours would send, before any page runs. Sets `state.session` to the session's cookie."""

    def __init__(self, app: ASGIApp, settings: Settings, sessions: Sessions) -> None:
        self._app = app
        self._settings = settings
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        cookie = _session_cookie(headers)
        scope.setdefault("state", {})["session"] = cookie
        refusal = self._foreign(scope, headers) or self._strange(scope, headers, cookie)
        await (refusal or self._app)(scope, receive, _with_headers(send))

    def _foreign(self, scope: Scope, headers: Headers) -> PlainTextResponse | None:
        """Refuse what another site sent, or somebody who was led here under another name."""
        if headers.get("host", "").lower() not in self._settings.hosts:
            return _refusal(421, f"this server is {self._settings.origin}: open that address")
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in self._origins():
            return _refusal(403, "the request comes from a page of another origin")
        site = headers.get("sec-fetch-site", "none")
        # A link somewhere else may lead here; nothing else of another site may.
        is_link = scope["method"] in READING and headers.get("sec-fetch-mode") == "navigate"
        if site not in {"none", "same-origin"} and not is_link:
            return _refusal(403, "the request comes from another site")
        if scope["method"] not in READING and origin is None and not _bearer(headers):
            return _refusal(403, "a write needs an Origin header")
        return None

    def _origins(self) -> set[str]:
        scheme = "https" if self._settings.is_encrypted else "http"
        return {f"{scheme}://{host}" for host in self._settings.hosts}

    def _strange(self, scope: Scope, headers: Headers, cookie: str) -> Any:
        """Refuse who has no session, and a write without its token."""
        bearer = _bearer(headers)
        if bearer:
            return None if self._sessions.opens(bearer) else _refusal(401, "the token is another server's")
        if scope["path"] == "/" and "token" in QueryParams(scope["query_string"]):
            return None
        if scope["path"].startswith(OPEN_PATHS):
            return None
        if not self._sessions.holds(cookie):
            return _Unopened(self._app)
        if scope["method"] in READING or self._sessions.is_csrf_token(cookie, headers.get(CSRF_HEADER, "")):
            return None
        return _refusal(403, "the page is older than this server: reload it, then try again")


class _Unopened:
    """Shows the form that asks for the token, in place of what was asked for."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app({**scope, "method": "GET", "path": "/session", "raw_path": b"/session"}, receive, send)


def _bearer(headers: Headers) -> str:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _session_cookie(headers: Headers) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found is not None else ""


def _refusal(status: int, sentence: str) -> PlainTextResponse:
    return PlainTextResponse(sentence + "\n", status)


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(HEADERS)
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return send_with_headers
