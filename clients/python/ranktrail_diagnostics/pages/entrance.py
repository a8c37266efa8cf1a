"""The way in: the token that `ranktrail up` prints opens a session."""

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from ranktrail_diagnostics.rendering import render
from ranktrail_diagnostics.sessions import COOKIE

MAX_BODY_BYTES = 4_096
YEAR_SECONDS = 31_536_000


def opened(request: Request, token: str) -> Response:
    """Open a session for who has the token; show the form again to anybody else.

    The answer is a page that goes on by itself and no redirect: a browser that came from another site sends a
    SameSite=Strict cookie only with the request after that.
    """
    if not request.app.state.sessions.opens(token):
        return render(request, "entrance.html", 401, problem="That is not this server's token.")
    response = render(request, "opening.html")
    _set_cookie(request, response)
    return response


def show(request: Request) -> HTMLResponse:
    """Show the form that asks for the token."""
    return render(request, "entrance.html", 401, problem="")


async def enter(request: Request) -> Response:
    """Take the form."""
    if int(request.headers.get("content-length") or MAX_BODY_BYTES + 1) > MAX_BODY_BYTES:
        return Response(status_code=413)
    form = await request.form()
    if not request.app.state.sessions.opens(str(form.get("token", "")).strip()):
        return render(request, "entrance.html", 401, problem="That is not this server's token.")
    response = RedirectResponse("/", 303)
    _set_cookie(request, response)
    return response


def _set_cookie(request: Request, response: Response) -> None:
    response.set_cookie(
        COOKIE,
        request.app.state.sessions.new(),
        max_age=YEAR_SECONDS,
        secure=request.app.state.settings.is_encrypted,
        httponly=True,
        samesite="strict",
    )
