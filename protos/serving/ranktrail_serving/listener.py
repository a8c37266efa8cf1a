"""Where a server listens: a Unix socket that only its owner reaches, or a loopback port with a token."""

import ipaddress
import os
import socket
import stat
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import grpc

from ranktrail_serving.errors import AddressRefused
from ranktrail_serving.file_lock import FileLock

MAX_SOCKET_PATH_BYTES = 107
"""sun_path of unix(7), without its closing NUL."""


@dataclass(frozen=True, slots=True)
class UnixAddress:
    """A socket file."""

    path: Path


@dataclass(frozen=True, slots=True)
class LoopbackAddress:
    """A TCP port of this machine's loopback; port 0 lets the system choose."""

    host: str
    port: int


Address = UnixAddress | LoopbackAddress


def parse_address(text: str) -> Address:
    """Read `unix:/path` or `127.0.0.1:PORT`; raise AddressRefused for a path that is too long and for other hosts."""
    if text.startswith("unix:"):
        return UnixAddress(_socket_path(text.removeprefix("unix:")))
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65_535:  # noqa: PLR2004
        raise AddressRefused(f"address {text!r} is neither unix:/path nor 127.0.0.1:PORT")
    host = "127.0.0.1" if host == "localhost" else host
    try:
        is_loopback = ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback:
        raise AddressRefused(f"address {text!r} is not of loopback and needs TLS: use unix:/path or 127.0.0.1:PORT")
    return LoopbackAddress(host, int(port))


def dial_target(text: str) -> str:
    """Return the address as a gRPC channel takes it: characters that a URI would read otherwise are escaped."""
    return f"unix:{quote(text.removeprefix('unix:'), safe='/')}" if text.startswith("unix:") else text


class Listener:
    """A bound address. A Unix socket is bound under a lock beside it, so that nobody takes over a live socket."""

    def __init__(self, server: grpc.Server, address: Address) -> None:
        """Bind; raise DirectoryInUse or AddressRefused when it cannot be done safely."""
        self._lock: FileLock | None = None
        if isinstance(address, UnixAddress):
            self.target = f"unix:{address.path}"
            self._bind_socket(server, address.path)
        else:
            port = _add_port(server, f"{address.host}:{address.port}")
            self.target = f"{address.host}:{port}"

    def _bind_socket(self, server: grpc.Server, path: Path) -> None:
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


def _add_port(server: grpc.Server, target: str) -> int:
    try:
        return server.add_insecure_port(target)
    except RuntimeError as error:
        raise AddressRefused(f"cannot listen on {target}: is another program there already?") from error
