"""Processes in the services' place: they serve health, note that they ran, and end on SIGTERM."""

import time
from collections.abc import Callable
from pathlib import Path

# Stands for a service: serves health on its socket until SIGTERM, and notes its process and its end.
PRETENDER = """
import os, signal, sys, threading
from concurrent import futures
from pathlib import Path
import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

name, data_dir = {name!r}, Path(sys.argv[sys.argv.index("--data-dir") + 1])
stop = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: {on_term})
(data_dir / f"{{name}}.pids").open("a").write(f"{{os.getpid()}} {{os.getpgid(0)}} {{os.umask(0o077):o}}\\n")
{body}
server = grpc.server(futures.ThreadPoolExecutor(2))
checks = health.HealthServicer()
checks.set("", health_pb2.HealthCheckResponse.SERVING)
health_pb2_grpc.add_HealthServicer_to_server(checks, server)
socket = data_dir / "run" / f"{{name}}.sock"
socket.unlink(missing_ok=True)
server.add_insecure_port(f"unix:{{socket}}")
server.start()
stop.wait()
server.stop(0).wait()
(data_dir / "ends").open("a").write(name + "\\n")
"""


BOTH = ("ranker", "history")


def write_pretenders(modules: Path, on_term: str = "stop.set()", body: str = "", names: tuple[str, ...] = BOTH) -> None:
    """Write packages named as the services; `body` runs before serving. PYTHONPATH must name `modules`."""
    for name in names:
        package = modules / f"{name}_service"
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").touch()
        (package / "__main__.py").write_text(PRETENDER.format(name=name, on_term=on_term, body=body))


def pids_of(data_dir: Path, name: str) -> list[int]:
    """Return the processes that a service had, oldest first."""
    return [int(line.split()[0]) for line in (data_dir / f"{name}.pids").read_text().splitlines()]


def is_alive(pid: int) -> bool:
    """Say whether a process runs; one that only waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def eventually(condition: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Wait until `condition` holds; return whether it did in time."""
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.05)
    return condition()
