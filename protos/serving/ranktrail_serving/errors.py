"""Errors of serving itself, whatever is served.

ServingError
├── StartRefused
│   ├── DirectoryInUse      another process has the directory or the socket
│   ├── AddressRefused      the address cannot be served safely
│   ├── DirectoryForeign    somebody else owns, or may replace, what is to be used
│   ├── TokenUnfit          the token file holds no token
│   └── CertificateRefused  certificate or key are not usable
├── RequestUnparsable       bytes that are not the method's request
├── Overloaded              a limit on calls is reached
├── MethodUnknown           a method that this release does not serve
└── Unauthenticated
    ├── TokenMissing
    └── TokenInvalid
"""


class ServingError(Exception):
    """Any error that this package raises on purpose."""


class StartRefused(ServingError):
    """The server cannot start; the text says why and what to do. `exit_code` is the process's."""

    exit_code = 5


class DirectoryInUse(StartRefused):
    """Another process serves this data directory or socket."""

    exit_code = 4


class AddressRefused(StartRefused):
    """The address cannot be served safely."""


class DirectoryForeign(StartRefused):
    """Somebody else owns, or may replace, a file or directory that is to be used."""


class TokenUnfit(StartRefused):
    """The token file holds no token."""


class CertificateRefused(StartRefused):
    """A certificate or key that TLS was asked for with is not usable."""


class RequestUnparsable(ServingError):
    """A message whose bytes do not parse; `raw` are those bytes, `field` is the first that is wrong."""

    def __init__(self, field: str, problem: str, raw: bytes) -> None:
        super().__init__(f"{field} {problem}")
        self.field = field
        self.raw = raw


class Overloaded(ServingError):
    """A limit on streams, memory or callers is reached."""

    def __init__(self, what: str, limit: int, retry_after_ms: int = 1_000) -> None:
        super().__init__(f"{what}: the limit is {limit}, try again in {retry_after_ms} ms")
        self.limit = limit
        self.retry_after_ms = retry_after_ms


class MethodUnknown(ServingError):
    """A method that this release of the server does not serve; `method` is its path."""

    def __init__(self, method: str) -> None:
        super().__init__(f"{method} is not served here: use a newer release of the server, or check the name")
        self.method = method


class Unauthenticated(ServingError):
    """The caller did not show who it is."""


class TokenMissing(Unauthenticated):
    """A TCP call without a bearer token."""

    def __init__(self) -> None:
        super().__init__(
            'metadata has no "authorization: Bearer TOKEN": the token is in the file run/token of the data directory'
        )


class TokenInvalid(Unauthenticated):
    """A TCP call with another token."""

    def __init__(self) -> None:
        super().__init__("the bearer token is not this server's: it is in the file run/token of the data directory")
