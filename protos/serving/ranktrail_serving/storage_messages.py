"""What a service says of its storage, as messages."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ranktrail.storage.v1 import storage_pb2 as pb
from ranktrail_serving.storage import BackupEnd, BackupFile, BackupPart, BackupStart, Event, Problem, Progress


def check_events(events: Iterable[Event], is_stopped: Callable[[], bool]) -> Iterator[pb.CheckEvent]:
    """Yield what a check says as messages, then its end; no end once `is_stopped`."""
    problems, repaired = 0, 0
    for event in events:
        if is_stopped():
            return
        if isinstance(event, Problem):
            problems, repaired = problems + 1, repaired + event.repaired
        yield _event(event)
    yield pb.CheckEvent(end=pb.CheckEnd(problem_count=problems, repaired_count=repaired))


def backup_frames(parts: Iterable[BackupPart], version: str) -> Iterator[pb.BackupFrame]:
    """Yield a backup as messages; the first bytes of a file travel with its name."""
    begun: BackupFile | None = None
    for part in parts:
        content = part if isinstance(part, bytes) else b""
        if begun is not None:
            yield pb.BackupFrame(file=_file(begun), content=content)
        elif content:
            yield pb.BackupFrame(content=content)
        begun = part if isinstance(part, BackupFile) else None
        if not isinstance(part, bytes | BackupFile):
            yield _frame(part, version)


def _event(event: Event) -> pb.CheckEvent:
    if isinstance(event, Progress):
        progress = pb.CheckProgress(phase=event.phase, done_count=event.done, total_count=event.total)
        return pb.CheckEvent(progress=progress)
    return pb.CheckEvent(problem=_problem(event))


def _frame(part: BackupStart | Problem | BackupEnd, version: str) -> pb.BackupFrame:
    if isinstance(part, Problem):
        return pb.BackupFrame(problem=_problem(part))
    totals: dict[str, Any] = {"file_count": part.file_count, "total_bytes": part.total_bytes}
    if isinstance(part, BackupStart):
        return pb.BackupFrame(start=pb.BackupStart(version=version, **totals))
    return pb.BackupFrame(end=pb.BackupEnd(**totals))


def _file(file: BackupFile) -> pb.BackupFile:
    return pb.BackupFile(path=file.path, size_bytes=file.size_bytes, digest=file.digest)


def _problem(problem: Problem) -> pb.StorageProblem:
    return pb.StorageProblem(
        kind=problem.kind,
        subject=problem.subject,
        detail=problem.detail,
        repairable=problem.repairable,
        repaired=problem.repaired,
    )
