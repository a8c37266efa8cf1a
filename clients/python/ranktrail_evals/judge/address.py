"""Which endpoints a text may be sent to."""

from urllib.parse import urlsplit

from ranktrail_client.address import Address, Reach
from ranktrail_client.errors import Refused
from ranktrail_evals.errors import EndpointRemote, OptionInvalid


def check_endpoint(option: str, url: str, *, allow_remote: bool) -> None:
    """Raise OptionInvalid for what is no HTTP URL, EndpointRemote for one elsewhere without `allow_remote`."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or 80
    except ValueError as error:
        raise OptionInvalid(f"{option} {url!r} is no URL: write it like http://127.0.0.1:8080/v1") from error
    if parts.scheme not in {"http", "https"} or not host or parts.username is not None:
        raise OptionInvalid(f"{option} {url!r} is no plain http URL: write it like http://127.0.0.1:8080/v1")
    if not allow_remote and _is_remote(host, port):
        raise EndpointRemote(f"{option} {url!r} is not on this machine: add --allow-remote to send texts there")


def _is_remote(host: str, port: int) -> bool:
    try:
        return Address.parse(f"[{host}]:{port}" if ":" in host else f"{host}:{port}").reach is Reach.REMOTE
    except Refused:
        return True
