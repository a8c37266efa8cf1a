"""Which names a browser may ask for."""

from pathlib import Path

from ranktrail_diagnostics.settings import Settings


def test_names_of_loopback_go_with_the_port() -> None:
    settings = Settings("127.0.0.1", 8787, "t")
    assert settings.origin == "http://127.0.0.1:8787"
    assert settings.hosts == {"127.0.0.1:8787", "localhost:8787", "[::1]:8787"}


def test_the_usual_port_goes_without_saying() -> None:
    settings = Settings("::", 443, "t", Path("cert.pem"), Path("key.pem"), ("Pages.example",))
    assert settings.origin == "https://[::]:443"
    assert {"pages.example", "pages.example:443", "[::]:443"} <= settings.hosts
