"""Scripts and styles: our own, and htmx, which comes with a pinned package and is served from there."""

import hashlib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

_OWN = files("ranktrail_diagnostics").joinpath("static")
SOURCES: dict[str, Traversable] = {
    "htmx.js": files("django_htmx").joinpath("static", "django_htmx", "htmx-2.min.js"),
    "plots.css": files("ranktrail_plots").joinpath("plots.css"),
    **{file.name: file for file in _OWN.iterdir() if file.name.endswith((".css", ".js", ".svg"))},
}
_MEDIA_TYPES = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}


def asset_url(name: str) -> str:
    """Return where a browser finds an asset; another content is another address, so that it may be kept for good."""
    return f"/assets/{_digest(name)}/{name}"


def asset(request: Request) -> Response:
    """Serve an asset."""
    name = request.path_params["name"]
    if name not in SOURCES:
        raise HTTPException(404)
    kept = "public, max-age=31536000, immutable" if request.path_params["digest"] == _digest(name) else "no-cache"
    return Response(_content(name), media_type=_MEDIA_TYPES[name.rpartition(".")[2]], headers={"cache-control": kept})


@cache
def _content(name: str) -> bytes:
    return SOURCES[name].read_bytes()


@cache
def _digest(name: str) -> str:
    return hashlib.sha256(_content(name)).hexdigest()[:16]
