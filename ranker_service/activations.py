"""One activation: exactly one Run, from the request to the kept trace."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from ranker_service.domain.activation import fingerprint
from ranker_service.domain.errors import ProjectNotFound, RunFailed
from ranker_service.domain.request import Activation, ActivationRequest
from ranker_service.domain.resource import EffectiveMemory
from ranker_service.domain.trace import RunTrace, Stage
from ranker_service.index.snapshot import Snapshot
from ranker_service.pipeline import Pipeline
from ranker_service.ports import Clock, TraceSink
from ranker_service.workspace.workspace import Workspace

PURPOSE = "activation"


class ProjectView:
    """What the pipeline sees of a project; each call sees it as it is then."""

    def __init__(self, workspace: Workspace, project_id: str) -> None:
        self._workspace = workspace
        self._project_id = project_id

    def effective_memory(self) -> EffectiveMemory:
        """Return the memory now; raise ProjectNotFound."""
        return self._workspace.project(self._project_id).memory

    def snapshot(self) -> tuple[Snapshot, bool]:
        """Return the last complete index and whether this loaded it; raise IndexNotReady, and have it built."""
        project = self._workspace.project(self._project_id)
        return self._workspace.snapshot(project)

    def in_use(self) -> AbstractContextManager[None]:
        """Keep the project's storage until the trace is kept."""
        try:
            return self._workspace.project(self._project_id).in_use()
        except ProjectNotFound:
            return nullcontext()


class Activations:
    """Runs activations and keeps their traces."""

    def __init__(
        self,
        workspace: Workspace,
        pipeline: Pipeline,
        sink: TraceSink,
        clock: Clock,
        new_run_id: Callable[[], str],
        instance_id: str,
    ) -> None:
        self._workspace = workspace
        self._pipeline = pipeline
        self._sink = sink
        self._clock = clock
        self._new_run_id = new_run_id
        self._instance_id = instance_id

    def activate(self, request: ActivationRequest, announce: Callable[[str], None]) -> Activation:
        """Answer a request whose fields are valid; raise RunFailed, its trace being kept, when a stage fails.

        `announce` is told the Run's id before anything is ranked.
        """
        trace = RunTrace(
            run_id=self._new_run_id(),
            project_id=request.project_id,
            query=request.query,
            purpose=PURPOSE,
            activation_state_fingerprint=fingerprint(request.activation_state),
            ranker_instance_id=self._instance_id,
            create_time_us=self._clock.now_us(),
        )
        announce(trace.run_id)
        self._sink.started(trace)
        view = ProjectView(self._workspace, request.project_id)
        with view.in_use():
            try:
                return self._pipeline.run(request, trace, view)
            except RunFailed:
                self._repair(trace)
                raise
            finally:
                self._sink.finished(trace)

    def _repair(self, trace: RunTrace) -> None:
        """Have an index rebuilt whose damage a stage came upon; one that did not open is rebuilt anyway."""
        failure = trace.failure
        if failure is not None and failure.code == "index_damaged" and failure.stage is not Stage.INDEX_ENSURE:
            self._workspace.distrust_index(trace.project_id)
