"""Addresses of services, and which of them leave this machine."""

import ipaddress
import re
from dataclasses import dataclass
from enum import Enum
from typing import Self
from urllib.parse import unquote

from ranktrail_client.errors import Refused

# Linux takes 107 bytes and a NUL; the BSDs take four fewer.
MAX_SOCKET_PATH_BYTES = 107
_HOST_AND_PORT = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+):(?P<port>[0-9]{1,5})")


class Reach(Enum):
    """How far a call to an address travels."""

    SOCKET = "socket"
    LOOPBACK = "loopback"
    REMOTE = "remote"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a service serves, as gRPC takes it."""

    target: str
    reach: Reach

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `unix:/path` or `host:port`; raise Refused for anything else."""
        if text.startswith("unix:"):
            return cls(_checked_socket(text), Reach.SOCKET)
        match = _HOST_AND_PORT.fullmatch(text)
        if match is None or not 0 < int(match["port"]) <= 65_535:  # noqa: PLR2004
            raise Refused(f"address {text!r} is neither unix:/path nor host:port: write one of the two")
        return cls(text, Reach.LOOPBACK if _is_loopback(match["host"]) else Reach.REMOTE)


def _checked_socket(text: str) -> str:
    path = unquote(text.removeprefix("unix:"))
    size = len(path.encode("utf-8", "surrogateescape"))
    if size > MAX_SOCKET_PATH_BYTES:
        raise Refused(
            f"address {text!r} has a socket path of {size} bytes, and a Unix socket takes {MAX_SOCKET_PATH_BYTES}: "
            "choose a shorter data directory with --data-dir"
        )
    return text


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
