"""Export, import, check and clear over the socket, beside hashing and `json.dumps` of the same data.

Cases have 120 candidates; they share a corpus of 1,400 resources. The peer hashes the bodies, dumps the parsed document
with `json.dumps` and hashes it: no database, no disk. Exports take turns with it. A fixture of a quarter of the cases
is imported into an empty store, which makes each body durable in a file of its own. The check reads everything.
Cleared are 500 Runs of 120 candidates, whose corpus a case keeps; the peer's data are their candidates.

    python bench/export.py [--cases 1000] [--rounds 5] [--json]
"""

import argparse
import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import histories
from bars import Line, finish, ratios
from google.protobuf.json_format import MessageToDict

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from ranktrail.history.v1 import history_service_pb2 as history_pb

BAR = 0.5
MEMORY_BAR = 1.25
"""Most memory while exporting all cases, as a multiple of that with a quarter of them."""
SLOW_ROUNDS = 3
"""Of what needs a store of its own each time."""
CLEARED = 500
FRAME_BYTES = 1_048_576

Seconds = dict[str, list[float]]


def export(history: histories.History, cases: Sequence[str] = ()) -> bytes:
    """Return the fixture of the cases, or of all."""
    request = pb.ExportEvaluationSetRequest(case_ids=cases)
    return b"".join(frame.content for frame in history.evaluation.ExportEvaluationSet(request))


def import_fixture(history: histories.History, document: bytes) -> None:
    """Import a fixture."""
    starts = range(0, len(document), FRAME_BYTES)
    frames = (pb.ImportEvaluationSetRequest(content=document[start : start + FRAME_BYTES]) for start in starts)
    history.evaluation.ImportEvaluationSet(frames)


def check(history: histories.History) -> None:
    """Check everything; exit where something is wrong."""
    for response in history.history.CheckStore(history_pb.CheckStoreRequest()):
        if response.event.HasField("problem"):
            raise SystemExit(f"the store is wrong: {response.event.problem}")


def peer(parsed: dict[str, Any]) -> None:
    """Hash the bodies and the document."""
    for body in parsed.get("bodies", ()):
        hashlib.sha256(body["content"].encode()).hexdigest()
    hashlib.sha256(json.dumps(parsed).encode()).hexdigest()


def exports(data_dir: Path, seconds: Seconds, rounds: int) -> bytes:
    """Time exports and checks of a store, and their peer; return the fixture of a quarter of its cases."""
    with histories.History(data_dir) as history:
        parsed = json.loads(timed(seconds, "first export", lambda: export(history)))
        for number in range(rounds):
            timed(seconds, "export", lambda: export(history))
            timed(seconds, "export's peer", lambda: peer(parsed))
            if number < SLOW_ROUNDS:
                timed(seconds, "check", lambda: check(history))
        return export(history, _quarter(parsed))


def imports(document: bytes, seconds: Seconds) -> None:
    """Time imports into empty stores, and their peer."""
    parsed = json.loads(document)
    for _ in range(SLOW_ROUNDS):
        with histories.temporary_data_dir() as empty, histories.History(empty) as history:
            timed(seconds, "import", lambda history=history: import_fixture(history, document))
            timed(seconds, "import's peer", lambda: peer(parsed))


def clears(seconds: Seconds) -> None:
    """Time clearing Runs, and its peer."""
    traces = histories.Traces()
    candidates = [traces.candidates() for _ in range(CLEARED)]
    parsed = {"runs": [[MessageToDict(one) for one in run] for run in candidates]}
    with histories.temporary_data_dir() as data_dir, histories.History(data_dir) as history:
        histories.judged_set(history, traces, 1)
        for number in range(SLOW_ROUNDS):
            history.send(traces.run(f"run-{number}-{n}", run) for n, run in enumerate(candidates))
            request = history_pb.ClearRetrievalRunsRequest()
            timed(seconds, "clear", lambda request=request: history.history.ClearRetrievalRuns(request))
            timed(seconds, "clear's peer", lambda: peer(parsed))


def peaks(data_dir: Path) -> list[int]:
    """Return the most memory of a process during its first export, of a quarter of the cases and of all."""
    with histories.History(data_dir) as history:
        cases = [case.case_id for case in _cases(history)]
    found = []
    for some in (cases[: len(cases) // 4], cases):
        with histories.History(data_dir) as history:
            export(history, some)
            found.append(history.peak_kib())
    return found


def timed(seconds: Seconds, name: str, work: Callable[[], Any]) -> Any:
    """Do the work, and note the seconds that it took."""
    begun = time.perf_counter()
    result = work()
    seconds.setdefault(name, []).append(time.perf_counter() - begun)
    return result


def lines_of(seconds: Seconds, peak_kib: list[int]) -> list[Line]:
    """Return the figures and their bars."""
    small, whole = peak_kib
    peers = {"export": "export's peer", "import": "import's peer", "clear": "clear's peer"}
    whole_peer = median(seconds["export's peer"])
    return [
        *(Line.of(f"{name}, s", values) for name, values in seconds.items()),
        *(
            Line.of(f"{name}: peer / ours", ratios(seconds[other], seconds[name]), BAR, at_least=True)
            for name, other in peers.items()
        ),
        Line.of("first export: peer / ours", [whole_peer / taken for taken in seconds["first export"]]),
        Line.of("check: peer / ours", [whole_peer / taken for taken in seconds["check"]], BAR, at_least=True),
        Line.of("most memory, all cases / a quarter of them", [whole / small], MEMORY_BAR),
    ]


def _quarter(parsed: dict[str, Any]) -> list[str]:
    cases = [case["case_id"] for case in parsed["cases"]]
    return cases[: len(cases) // 4]


def _cases(history: histories.History) -> Iterator[pb.EvaluationCase]:
    request = pb.ListEvaluationCasesRequest(page_size=100)
    while True:
        page = history.evaluation.ListEvaluationCases(request)
        yield from page.evaluation_cases
        request.page_token = page.next_page_token
        if not page.next_page_token:
            return


def main() -> None:
    """Measure and print; exit 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    seconds: Seconds = {}
    with histories.temporary_data_dir() as data_dir:
        with histories.History(data_dir) as history:
            histories.judged_set(history, histories.Traces(), options.cases)
        document = exports(data_dir, seconds, options.rounds)
        peak_kib = peaks(data_dir)
    imports(document, seconds)
    clears(seconds)
    finish(lines_of(seconds, peak_kib), {"seconds": seconds, "peak_kib": peak_kib}, as_json=options.json)


if __name__ == "__main__":
    main()
