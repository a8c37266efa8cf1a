"""The diagnostics pages as a process, for tests, and readers of them."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx2

START_SECONDS = 60.0


@dataclass
class Pages:
    """The pages of a data directory, and how to read them."""

    data_dir: Path
    process: subprocess.Popen[bytes]
    port: int
    token: str

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, **options: Any) -> httpx2.Client:
        """A reader with the token."""
        return httpx2.Client(base_url=self.origin, headers={"authorization": f"Bearer {self.token}"}, **options)

    def stranger(self, **options: Any) -> httpx2.Client:
        """A reader without one."""
        return httpx2.Client(base_url=self.origin, **options)

    @contextlib.contextmanager
    def browser(self) -> Iterator[httpx2.Client]:
        """A reader with a session, as a browser has one."""
        with self.stranger() as client:
            client.get("/", params={"token": self.token}).raise_for_status()
            yield client

    def get(self, path: str, **options: Any) -> httpx2.Response:
        """Return what stands at a path."""
        with self.client(timeout=30) as client:
            return client.get(path, **options)


@contextlib.contextmanager
def served_pages(data_dir: Path) -> Iterator[Pages]:
    """The pages of a data directory, whether its services run or not."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "ranktrail_diagnostics", "--data-dir", str(data_dir), "--port", str(port)]
    environment = {name: value for name, value in os.environ.items() if name != "RANKTRAIL_TOKEN"}
    with (data_dir / "diagnostics.log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)
    try:
        _wait(process, port, data_dir / "diagnostics.log")
        token = (data_dir / "run" / "diagnostics.token").read_text().strip()
        yield Pages(data_dir, process, port, token)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(20)
        assert "Traceback" not in (data_dir / "diagnostics.log").read_text()


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        assert process.poll() is None, log.read_text()
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        time.sleep(0.05)
    raise AssertionError("the pages did not serve in time")


@dataclass
class Elements(HTMLParser):
    """The elements and the text of a page, as a browser would make them."""

    found: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)


def elements(html: str) -> Elements:
    """Parse a page."""
    parser = Elements()
    parser.feed(html)
    parser.close()
    return parser


def links(html: str, pattern: str) -> list[str]:
    """The addresses of links that match a pattern, in order."""
    found = [attributes.get("href") or "" for tag, attributes in elements(html).found if tag == "a"]
    return [address for address in found if re.fullmatch(pattern, address)]


def events(response: httpx2.Response) -> Iterator[tuple[str, Any]]:
    """The events of a stream, each with its data."""
    name = ""
    for line in response.iter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))
