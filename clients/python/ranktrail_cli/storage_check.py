"""What the services say of their storage when they are asked to check it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ranktrail.history.v1 import history_service_pb2 as history_pb2
from ranktrail.ranker.v1 import ranker_service_pb2 as ranker_pb2
from ranktrail.storage.v1 import storage_pb2 as pb
from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.output import Output
from ranktrail_cli.synchronisation import Progress
from ranktrail_client.client import Client


@dataclass(slots=True)
class CheckReport:
    """What was checked, by service and phase, and what is wrong."""

    checked: dict[str, dict[str, int]] = field(default_factory=dict)
    problems: list[pb.StorageProblem] = field(default_factory=list)

    @property
    def left(self) -> list[pb.StorageProblem]:
        """What is wrong still."""
        return [problem for problem in self.problems if not problem.repaired]

    def take(self, service: str, events: Iterable[pb.CheckEvent], progress: Progress) -> None:
        """Listen to one service's check; raise CommandFailed when it does not come to its end."""
        phases = self.checked.setdefault(service, {})
        for event in events:
            if event.HasField("end"):
                return
            if event.HasField("problem"):
                self.problems.append(event.problem)
                continue
            step = event.progress
            phases[step.phase] = step.done_count
            progress.step(step.phase, step.done_count, step.total_count)
        raise CommandFailed(f"the {service} stopped before it had checked everything: run it again", Exit.INCOMPLETE)


def checked(client: Client, progress: Progress, *, repair: bool) -> CheckReport:
    """Check both services' storage."""
    report = CheckReport()
    stored = client.history.check_store(history_pb2.CheckStoreRequest(repair=repair))
    report.take("history", (response.event for response in stored), progress)
    memory = client.ranker.check_memory(ranker_pb2.CheckMemoryRequest(repair=repair))
    report.take("ranker", (response.event for response in memory), progress)
    return report


def print_problems(output: Output, problems: Iterable[pb.StorageProblem]) -> None:
    """Print a line for each problem."""
    for problem in problems:
        end = " (repaired)" if problem.repaired else " (--repair puts it right)" if problem.repairable else ""
        output.line(f"{problem.kind}  {problem.subject}: {problem.detail}{end}")
