"""Templates. Whatever a template prints is text: escaped for HTML, and without characters that steer its order."""

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from ranktrail_client.safe_text import safe_block
from ranktrail_diagnostics import words
from ranktrail_diagnostics.assets import asset_url
from ranktrail_diagnostics.judging_page import judgment_words


def _safe(value: Any) -> Any:
    return safe_block(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def make_environment() -> Environment:
    """Return the templates with everything that they may call."""
    environment = Environment(
        loader=PackageLoader("ranktrail_diagnostics"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_safe,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"asset_url": asset_url, "DASH": words.DASH, "VERSION": words.product_version()}
    environment.filters |= {**words.FILTERS, "judgment_words": judgment_words}
    return environment


def render(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page, or the part of one that `template` is."""
    app = request.app.state
    cookie = request.state.session
    text = app.templates.get_template(template).render(
        csrf_token=app.sessions.csrf_token(cookie),
        health=app.services.snapshot(),
        path=request.url.path,
        address=request.url.path + (f"?{request.url.query}" if request.url.query else ""),
        is_part=is_part(request),
        **values,
    )
    return HTMLResponse(text, status)


def is_part(request: Request) -> bool:
    """Say whether a script asks for a part of a page, rather than a person for all of it."""
    return request.headers.get("hx-request") == "true" and request.headers.get("hx-history-restore-request") != "true"
