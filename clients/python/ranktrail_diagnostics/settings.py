"""What the web server is told."""

from dataclasses import dataclass
from pathlib import Path

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the pages are served and who may see them.

    `token` opens a session. `certificate` and `key` are PEM files; without both, `host` must be loopback. `names` are
    further host names that browsers may ask for, such as the certificate's.
    """

    host: str
    port: int
    token: str
    certificate: Path | None = None
    key: Path | None = None
    names: tuple[str, ...] = ()

    @property
    def is_encrypted(self) -> bool:
        """Whether it is served over TLS."""
        return self.certificate is not None

    @property
    def origin(self) -> str:
        """Scheme, host and port that a person opens."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.is_encrypted else 'http'}://{host}:{self.port}"

    @property
    def hosts(self) -> frozenset[str]:
        """Every Host header that is answered, lower case."""
        # A browser leaves out the port that goes without saying.
        is_usual = self.port == (443 if self.is_encrypted else 80)
        named = {LOOPBACK, "localhost", "[::1]", f"[{self.host}]" if ":" in self.host else self.host, *self.names}
        return frozenset(f"{name}{port}".lower() for name in named for port in (f":{self.port}", *[""] * is_usual))

    @property
    def opening_address(self) -> str:
        """The address that opens a session; whoever has it can see every Run."""
        return f"{self.origin}/?token={self.token}"
