"""Builds indexes one after another in the background; a build uses every core by itself."""

import logging
import queue
import threading
from collections.abc import Callable

from ranker_service.domain.errors import StageFailed
from ranker_service.domain.trace import Failure, Stage
from ranker_service.memory.damage import MemoryDamaged
from ranker_service.workspace.project import BuildCancelled, Project

_LOG = logging.getLogger(__name__)


class Builds:
    """A queue of projects whose index is to be built, each at most once in it, and the thread that works it off."""

    def __init__(self, on_built: Callable[[Project], None]) -> None:
        self._on_built = on_built
        self._queue: queue.SimpleQueue[Project | None] = queue.SimpleQueue()
        self._waiting: set[Project] = set()
        self._under_way: Project | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="index-builds", daemon=True)
        self._thread.start()

    def request(self, project: Project) -> None:
        """Build the project's index soon, for the memory that it has by then."""
        with self._lock:
            if project in self._waiting:
                return
            self._waiting.add(project)
        with project.changed:
            project.build_failure = None
        self._queue.put(project)

    def is_due(self, project: Project) -> bool:
        """Say whether a build is requested or under way; `project.changed` is notified at its end."""
        with self._lock:
            return project in self._waiting or project is self._under_way

    def close(self) -> None:
        """End after the build under way; the process does not wait for it."""
        self._queue.put(None)

    def _work(self) -> None:
        while (project := self._queue.get()) is not None:
            with self._lock:
                self._waiting.discard(project)
                self._under_way = project
            self._build(project)
            with self._lock:
                self._under_way = None
            with project.changed:
                project.changed.notify_all()

    def _build(self, project: Project) -> None:
        try:
            project.build_index()
            self._on_built(project)
        except BuildCancelled:
            _LOG.info("build of project %r was given up: its storage is being removed", project.project_id)
        except (MemoryDamaged, StageFailed) as error:
            _LOG.warning("build of project %r failed: %s", project.project_id, error)
            self._fail(project, Failure(Stage.INDEX_ENSURE, "memory_damaged", str(error)))
        except Exception:
            _LOG.exception("build of project %r failed", project.project_id)
            summary = "the index could not be built; the ranker's log says why"
            self._fail(project, Failure(Stage.INDEX_ENSURE, "index_build_failed", summary))

    def _fail(self, project: Project, failure: Failure) -> None:
        with project.changed:
            project.build_failure = failure
            project.changed.notify_all()
