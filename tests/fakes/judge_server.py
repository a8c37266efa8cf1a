"""An OpenAI-compatible endpoint on loopback that judges as a test tells it to: also late, half or nonsense."""

import json
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Request = dict[str, Any]


class Dies(Exception):
    """The server closes the connection in the middle of its answer."""


class Sleeps(Exception):
    """The server answers nothing until the caller hangs up."""


@dataclass
class JudgeServer:
    """What was asked, and what is answered: `reply` is given a request and returns the content of the message."""

    reply: Callable[[Request], str]
    requests: list[Request] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    hung_up: threading.Event = field(default_factory=threading.Event)
    active: int = 0
    most_active: int = 0
    url: str = ""
    redirect_to: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)


def material(request: Request) -> dict[str, Any]:
    """Return what the judge was given."""
    return json.loads(request["messages"][-1]["content"])


def shape(request: Request) -> str:
    """Return the name of the shape that the answer must have."""
    return request["response_format"]["json_schema"]["name"]


def good_reply(request: Request) -> str:
    """Judge everything well."""
    given = material(request)
    replies: dict[str, Any] = {
        "SupportedStatements": {"statements": [{"statement": "s", "supported": True}]},
        "MadeUpStatements": {"statements": [{"statement": "s", "made_up": False}]},
        "Questions": {"questions": [given.get("text", "")]},
        "Usefulness": {"verdicts": [True] * len(given.get("contexts", ()))},
    }
    return json.dumps(replies[shape(request)])


@contextmanager
def judge_server(reply: Callable[[Request], str] = good_reply) -> Iterator[JudgeServer]:
    """Serve a judge until the block ends."""
    judge = JudgeServer(reply)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(judge))
    server.daemon_threads = True
    judge.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield judge
    finally:
        server.shutdown()
        server.server_close()


def _handler(judge: JudgeServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if judge.redirect_to:
                self._redirect()
                return
            with judge.lock:
                judge.requests.append(request)
                judge.headers.append(dict(self.headers))
                judge.active += 1
                judge.most_active = max(judge.most_active, judge.active)
            try:
                self._answer(_embeddings(request) if "input" in request else _completion(judge.reply(request)))
            except Sleeps:
                select.select([self.connection], [], [], 20)  # readable: the caller has closed it
                judge.hung_up.set()
            except Dies:
                self._head(1_000)
                self.wfile.write(b'{"choices": [')
            finally:
                with judge.lock:
                    judge.active -= 1

        def _answer(self, body: Any) -> None:
            content = json.dumps(body).encode()
            self._head(len(content))
            self.wfile.write(content)

        def _head(self, length: int) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(length))
            self.end_headers()

        def _redirect(self) -> None:
            self.send_response(307)
            self.send_header("Location", judge.redirect_to + "/chat/completions")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


def _completion(content: str) -> Any:
    message = {"role": "assistant", "content": content}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
    }


def _embeddings(request: Request) -> Any:
    texts = request["input"]
    return {
        "object": "list",
        "model": "e",
        "data": [
            {"object": "embedding", "index": place, "embedding": [1.0, float(len(text) % 2)]}
            for place, text in enumerate(texts)
        ],
    }
