"""Where a server listens: a Unix socket that only its owner reaches, or a TCP port with a token, and with TLS."""

import ipaddress
import os
import re
import socket
import stat
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import grpc

from ranktrail_serving.errors import AddressRefused
from ranktrail_serving.file_lock import FileLock
from ranktrail_serving.ownership import require_own

MAX_SOCKET_PATH_BYTES = 107
"""sun_path of unix(7), without its closing NUL."""


@dataclass(frozen=True, slots=True)
class UnixAddress:
    """A socket file."""

    path: Path


@dataclass(frozen=True, slots=True)
class TcpAddress:
    """A TCP port; 0 lets the system choose."""

    host: str
    port: int


Address = UnixAddress | TcpAddress
_HOST = re.compile(r"\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z.-]+")


def parse_address(text: str, *, encrypted: bool = False) -> Address:
    """Read `unix:/path` or `HOST:PORT`.

    Raise AddressRefused for a path that is too long, and for a host off loopback unless what it serves is `encrypted`.
    """
    if text.startswith("unix:"):
        return UnixAddress(_socket_path(text.removeprefix("unix:")))
    host, _, port = text.rpartition(":")
    if not _HOST.fullmatch(host) or not port.isascii() or not port.isdigit() or int(port) > 65_535:  # noqa: PLR2004
        raise AddressRefused(f"address {text!r} is neither unix:/path nor HOST:PORT")
    host = "127.0.0.1" if host == "localhost" else host
    if not (encrypted or is_loopback(host)):
        raise AddressRefused(
            f"address {text!r} is not of loopback and needs TLS: give --tls-cert and --tls-key, "
            "or use unix:/path or 127.0.0.1:PORT"
        )
    return TcpAddress(host, int(port))


def is_local(text: str) -> bool:
    """Say whether an address that is dialled stays on this machine."""
    return text.startswith("unix:") or is_loopback(text.rpartition(":")[0])


def is_loopback(host: str) -> bool:
    """Say whether a host is this machine's loopback; a name other than localhost is not."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def dial_target(text: str) -> str:
    """Return the address as a gRPC channel takes it: characters that a URI would read otherwise are escaped."""
    return f"unix:{quote(text.removeprefix('unix:'), safe='/')}" if text.startswith("unix:") else text


class Listener:
    """A bound address. A Unix socket is bound under a lock beside it, so that nobody takes over a live socket."""

    def __init__(
        self, server: grpc.Server, address: Address, credentials: grpc.ServerCredentials | None = None
    ) -> None:
        """Bind, a port with `credentials` for TLS; raise StartRefused when it cannot be done safely."""
        self._lock: FileLock | None = None
        if isinstance(address, UnixAddress):
            self.target = f"unix:{address.path}"
            self._bind_socket(server, address.path)
        else:
            port = _add_port(server, f"{address.host}:{address.port}", credentials)
            self.target = f"{address.host}:{port}"

    def _bind_socket(self, server: grpc.Server, path: Path) -> None:
        require_own(path.parent, f"the folder of socket {path}", or_root=True)
        self._lock = FileLock(path.with_name(path.name + ".lock"), f"socket {path}")
        _remove_stale_socket(path)
        # The directory is owner-only, and so is the socket that bind(2) makes under this process's umask.
        _add_port(server, "unix:" + quote(os.fsencode(path)))
        path.chmod(0o600)

    def release(self) -> None:
        """Let go of the address, after the server has stopped."""
        if self._lock is not None:
            self._lock.release()


def _socket_path(text: str) -> Path:
    path = Path(text.removeprefix("//") if text.startswith("///") else text).absolute()
    size = len(os.fsencode(path))
    if size > MAX_SOCKET_PATH_BYTES:
        raise AddressRefused(
            f"socket path {path} has {size} bytes and the system takes {MAX_SOCKET_PATH_BYTES}: "
            "choose a shorter data directory, or another --address"
        )
    return path


def _remove_stale_socket(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise AddressRefused(f"{path} exists and is not a socket: remove it, or choose another --address")
    if _answers(path):
        raise AddressRefused(f"another program listens on {path}: stop it, or choose another --address")
    path.unlink()


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(os.fspath(path))
        except TimeoutError:
            return True
        except OSError:
            return False
        return True


def _add_port(server: grpc.Server, target: str, credentials: grpc.ServerCredentials | None = None) -> int:
    try:
        return server.add_secure_port(target, credentials) if credentials else server.add_insecure_port(target)
    except RuntimeError as error:
        raise AddressRefused(f"cannot listen on {target}: is another program there already?") from error
