"""Services that `ranktrail up` is still starting: a command waits for them instead of failing at once."""

import time
from collections.abc import Callable
from pathlib import Path

from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.supervisor_lock import is_supervised
from ranktrail_client.errors import NoAnswer, RanktrailError, ServiceUnreachable
from ranktrail_client.history import HistoryCalls
from ranktrail_client.ranker import RankerCalls

PATIENCE_SECONDS = 60.0
# How long a `ranktrail up` that was started just before may take until it holds the lock.
GRACE_SECONDS = 1.0
STEP_SECONDS = 0.1
HEALTH_SECONDS = 1.0


def wait_until_serving(
    calls: RankerCalls | HistoryCalls,
    name: str,
    data_dir: Path,
    remark: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Return once the service serves, or nobody is starting it; what a call then meets, the call itself says.

    Raises CommandFailed when a supervisor of `data_dir` has not brought it to serve in PATIENCE_SECONDS.
    """
    begun, is_said = clock(), False
    while not _is_up(calls):
        waited = clock() - begun
        if is_supervised(data_dir):
            if waited > PATIENCE_SECONDS:
                raise CommandFailed(
                    f"the {name} does not serve after {PATIENCE_SECONDS:.0f} seconds: "
                    "what `ranktrail up` prints says why",
                    Exit.UNREACHABLE,
                )
            if not is_said:
                remark(f"the {name} is starting")
                is_said = True
        elif is_said or waited > GRACE_SECONDS:
            return
        sleep(STEP_SECONDS)


def _is_up(calls: RankerCalls | HistoryCalls) -> bool:
    """Say whether it answers at all: one that does not serve yet is not up, one that is slow or refuses is."""
    try:
        return calls.check_health(HEALTH_SECONDS)
    except NoAnswer:
        return True
    except ServiceUnreachable:
        return False
    except RanktrailError:
        return True
