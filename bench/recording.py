"""What recording adds to a Run: the recorder alone, against none, with history on, stopped and frozen.

Each Run has 100 candidates with excerpts of 1,200 characters. One Run is begun every 50 ms. Between `started` and
`finished` it waits, as a ranking waits for its models, and computes in Python; after `finished` it computes for a
moment more, as the reply's making does: what the recorder's threads take from a Run counts too. The modes take turns.

    python bench/recording.py [--rounds 4] [--runs 40] [--json]
"""

import argparse
import json
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import grpc

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ranker_service.domain.trace import RunTrace  # noqa: E402
from ranker_service.recorder.connection import HistoryTarget  # noqa: E402
from ranker_service.recorder.sink import Recorder, RecordingOff  # noqa: E402
from ranker_service.system import SystemClock  # noqa: E402
from tests.traces import a_memory, a_trace, some_candidates, write_bodies  # noqa: E402

MODES = ("none", "on", "stopped", "frozen")
PARTS = ("started", "ranking", "finished", "reply")
PERIOD_SECONDS = 0.05
CANDIDATES = 100
EXCERPT_CHARACTERS = 1_200
MODEL_SECONDS = 0.004
RANKING_STEPS = 60_000
REPLY_STEPS = 4_000
COMMAND = [sys.executable, "-m", "history_service", "--data-dir"]


class History:
    """A history process on a data directory."""

    def __init__(self, data_dir: Path) -> None:
        self.address = f"unix:{data_dir}/run/history.sock"
        self._process = subprocess.Popen([*COMMAND, str(data_dir)], cwd=ROOT)
        with grpc.insecure_channel(self.address) as channel:
            grpc.channel_ready_future(channel).result(30)

    def freeze(self) -> None:
        """Let it accept and never answer."""
        self._process.send_signal(signal.SIGSTOP)

    def end(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()


def compute(steps: int) -> int:
    """Hold the interpreter, as ranking's and the reply's own Python does."""
    total = 0
    for i in range(steps):
        total += i & 3
    return total


def one_round(mode: str, runs: int, directory: Path) -> dict[str, list[float]]:
    """Record Runs in one mode; return milliseconds of each part of each Run."""
    bodies = {"guide.md": "Guide"}
    memory = a_memory(bodies=bodies)
    history = History(directory)
    recorder: Recorder | RecordingOff = RecordingOff()
    if mode != "none":
        recorder = Recorder(
            directory / "ranker" / "spool", HistoryTarget(history.address), SystemClock(), random.random
        )
    recorder.corpora.register(memory, write_bodies(directory / "bodies", bodies))
    recorder.start()
    trace = a_trace("warm", memory, candidates=0)
    trace.candidates = tuple(some_candidates(memory, CANDIDATES, EXCERPT_CHARACTERS))
    one_run(recorder, trace)
    time.sleep(0.5)
    if mode == "stopped":
        history.end()
    elif mode == "frozen":
        history.freeze()
    times: dict[str, list[float]] = {part: [] for part in PARTS}
    for number in range(runs):
        begun = time.perf_counter()
        for part, milliseconds in zip(PARTS, one_run(recorder, replace(trace, run_id=f"run-{number}")), strict=True):
            times[part].append(milliseconds)
        time.sleep(max(0.0, PERIOD_SECONDS - (time.perf_counter() - begun)))
    recorder.close(0.0)
    history.end()
    return times


def one_run(recorder: Recorder | RecordingOff, trace: RunTrace) -> list[float]:
    """Go through one Run; return the milliseconds of its parts."""
    marks = [time.perf_counter()]
    recorder.started(trace)
    marks.append(time.perf_counter())
    time.sleep(MODEL_SECONDS)
    compute(RANKING_STEPS)
    marks.append(time.perf_counter())
    recorder.finished(trace)
    marks.append(time.perf_counter())
    compute(REPLY_STEPS)
    marks.append(time.perf_counter())
    return [1_000 * (until - since) for since, until in pairwise(marks)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    times: dict[str, dict[str, list[float]]] = {mode: {part: [] for part in PARTS} for mode in MODES}
    for _ in range(options.rounds):
        for mode in MODES:
            with tempfile.TemporaryDirectory(prefix="rt-") as directory:
                for part, values in one_round(mode, options.runs, Path(directory)).items():
                    times[mode][part] += values
    medians = {mode: _medians(times[mode]) for mode in MODES}
    added = {mode: medians[mode]["whole"] - medians["none"]["whole"] for mode in MODES}
    if options.json:
        print(
            json.dumps({"unit": "ms", "runs_a_mode": options.rounds * options.runs, "medians": medians, "added": added})
        )
        return
    print(f"{'ms':10}" + "".join(f"{name:>10}" for name in medians["none"]) + f"{'added':>10}")
    for mode in MODES:
        print(f"{mode:10}" + "".join(f"{value:10.3f}" for value in (*medians[mode].values(), added[mode])))


def _medians(parts: dict[str, list[float]]) -> dict[str, float]:
    wholes = [sum(values) for values in zip(*parts.values(), strict=True)]
    return {part: statistics.median(values) for part, values in parts.items()} | {"whole": statistics.median(wholes)}


if __name__ == "__main__":
    main()
