"""Random sequences of all that keeps and removes Runs, against a model that is a dictionary."""

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from history_service.domain.case import Judgment
from history_service.domain.corpus import Manifest
from history_service.domain.digest import digest_of
from history_service.domain.errors import FixtureInvalid, RunNotFound, RunNotSucceeded
from history_service.domain.run import RunState
from history_service.store.blobs import BlobStore
from history_service.store.database import Database
from history_service.use_cases.import_set import Imported
from history_service.use_cases.recover_interrupted import recover_interrupted
from tests.unit.history.kept import GRACE_US, NOON_US, Store, a_memory, a_trace

RETAIN = 3
PROJECTS = ("p", "q")
# Overlapping bodies, an empty one among them; those of the candidates of `a_trace` are in each.
BODIES: list[dict[str, bytes]] = [
    {"doc-0001": b"one", "doc-0002": b""},
    {"doc-0001": b"one", "doc-0002": b"two"},
    {"doc-0001": b"another", "doc-0002": b"two", "extra": b"only here"},
]
ANY = st.integers(0, 10**6)


@dataclass
class ModelRun:
    """A Run as it should be."""

    project: str
    time: int
    arrival: int
    state: RunState
    memory: int | None
    case: str | None = None
    version: int = 1


@dataclass(frozen=True)
class Document:
    """An exported case, and the Run that it is of."""

    run_id: str
    run: ModelRun
    content: bytes


class _Crash(BaseException):
    """The process is gone."""


class History(RuleBasedStateMachine):
    """See the module."""

    runs: Any = Bundle("runs")
    documents: Any = Bundle("documents")

    def __init__(self) -> None:
        super().__init__()
        self.model: dict[str, ModelRun] = {}
        self.arrivals = 0
        self.directory = Path(tempfile.mkdtemp(prefix="rt-"))

    @initialize()
    def start(self) -> None:
        self.store = Store(self.directory, RETAIN)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.collect_everything()
            self.store.close()
        shutil.rmtree(self.directory)

    @rule(target=runs, project=st.sampled_from(PROJECTS), memory=st.integers(0, 2), time=st.integers(0, 3))
    def record(self, project: str, memory: int, time: int) -> str:
        run_id = self._arrived(project, time, RunState.SUCCEEDED, memory)
        self.store.put(_memory(project, memory), BODIES[memory])
        self.store.record(run_id, _memory(project, memory), project_id=project, create_time_us=NOON_US + time)
        return run_id

    @rule(target=runs, project=st.sampled_from(PROJECTS), time=st.integers(0, 3))
    def begin(self, project: str, time: int) -> str:
        run_id = self._arrived(project, time, RunState.RUNNING, None)
        self.store.begin(run_id, project, NOON_US + time)
        return run_id

    @rule(run_id=runs, memory=st.integers(0, 2), failed=st.booleans())
    def finish(self, run_id: str, memory: int, failed: bool) -> None:
        run = self.model.get(run_id)
        if run is None or run.memory is not None:
            return
        self.store.put(_memory(run.project, memory), BODIES[memory])
        trace = a_trace(run_id, _memory(run.project, memory), run.project, NOON_US + run.time, 2, failed)
        self.store.recording.finish(trace).result()
        run.state, run.memory = (RunState.FAILED if failed else RunState.SUCCEEDED), memory

    @rule(project=st.sampled_from(PROJECTS), memory=st.integers(0, 2))
    def put(self, project: str, memory: int) -> None:
        self.store.put(_memory(project, memory), BODIES[memory])

    @rule(run_id=runs)
    def pin(self, run_id: str) -> None:
        run = self.model.get(run_id)
        if run is None or run.state is not RunState.SUCCEEDED:
            with pytest.raises((RunNotFound, RunNotSucceeded)):
                self.store.create_case.create(run_id, "", "")
            return
        case, existed = self.store.create_case.create(run_id, "", "")
        assert existed == (run.case is not None)
        assert run.case in (None, case.case_id)
        run.case = case.case_id

    @rule(run_id=runs, relevance=st.integers(0, 3))
    def judge(self, run_id: str, relevance: int) -> None:
        run = self.model.get(run_id)
        if run is not None and run.case is not None:
            judgment = Judgment("doc-0001", None, relevance, False, "", "human")
            assert self.store.judge(run.case, run.version, judgment) == run.version + 1
            run.version += 1

    @rule(run_id=runs)
    def delete_case(self, run_id: str) -> None:
        run = self.model.get(run_id)
        if run is not None and run.case is not None:
            self.store.delete_case.delete(run.case, run.version)
            run.case, run.version = None, 1
            self._prune_model(run.project)

    @rule(target=documents, run_id=runs, delete=st.booleans())
    def export(self, run_id: str, delete: bool) -> Any:
        run = self.model.get(run_id)
        if run is None or run.case is None:
            return multiple()
        document = Document(run_id, replace(run), b"".join(self.store.exporter.export("fixture", None, [run.case])))
        if delete:
            self.delete_case(run_id)
        return document

    @rule(document=documents)
    def bring_in(self, document: Document) -> None:
        """Import a case: its Run comes back with everything, unless another case or other judgments are here."""
        there, wanted = self.model.get(document.run_id), document.run
        if (
            there is not None
            and there.case is not None
            and (there.case, there.version) != (wanted.case, wanted.version)
        ):
            with pytest.raises(FixtureInvalid):
                self.store.importer.read([document.content])
            return
        is_new = there is None or there.case is None
        assert self.store.importer.read([document.content]) == Imported(int(is_new), int(not is_new))
        if there is None:
            self.arrivals += 1
            self.model[document.run_id] = replace(wanted, arrival=self.arrivals)
        else:
            there.case, there.version = wanted.case, wanted.version

    @rule(project=st.sampled_from(PROJECTS))
    def prune(self, project: str) -> None:
        before = len(self.model)
        self._prune_model(project)
        assert self.store.prune.project(project) == before - len(self.model)

    @rule(project=st.sampled_from([*PROJECTS, None]))
    def clear(self, project: str | None) -> None:
        announced = self.store.clear.preview(project)
        before = len(self.model), self.store.blob_rows()
        self._clear_model(project)
        gone = self.store.clear.clear(project)
        assert gone == announced
        assert gone.run_count == before[0] - len(self.model)
        assert gone.blob_count == len(before[1] - self.store.blob_rows())

    @rule(project=st.sampled_from(PROJECTS), step=st.integers(0, 6), clearing=st.booleans())
    def crash_and_go_on(self, project: str, step: int, clearing: bool) -> None:
        before = dict(self.model)
        self._remove_from_model(project, clearing)
        try:
            _crashing_at(step, lambda: self._remove(project, clearing))
        except _Crash:
            left = set(self.store.run_ids())
            assert set(self.model) <= left <= set(before)
            self.model = {run_id: run for run_id, run in before.items() if run_id in left}
            self._restart()
            # What ran has failed meanwhile, so it may go as well.
            self._remove_from_model(project, clearing)
            self._remove(project, clearing)

    @rule()
    def restart(self) -> None:
        self._restart()

    @rule()
    def collect_everything(self) -> None:
        self.store.time.us += GRACE_US + 1
        self.store.collect.everything()
        used = {(run.project, run.memory) for run in self.model.values() if run.memory is not None}
        bodies = {digest_of(body) for _, memory in used for body in BODIES[memory].values()}
        assert self.store.manifests() == {_memory(*one).effective_memory_hash for one in used}
        assert self.store.blob_rows() == self.store.files() == bodies

    @invariant()
    def exactly_what_should_stay_stays(self) -> None:
        if hasattr(self, "store"):
            assert set(self.store.run_ids()) == set(self.model)
            assert self.store.rows("PRAGMA foreign_key_check") == []

    @invariant()
    def a_case_keeps_its_trace_its_judgments_and_every_body(self) -> None:
        for run_id, run in self.model.items():
            if run.case is not None and run.memory is not None:
                whole = self.store.read.whole(run_id)
                assert whole.case is not None
                assert (whole.case.case_id, whole.case.judgment_version) == (run.case, run.version)
                assert len(whole.judgments) == (run.version > 1)
                for name, body in BODIES[run.memory].items():
                    assert self.store.read.body(run_id, name)[1] == body

    def _arrived(self, project: str, time: int, state: RunState, memory: int | None) -> str:
        self.arrivals += 1
        run_id = f"run-{self.arrivals}"
        self.model[run_id] = ModelRun(project, time, self.arrivals, state, memory)
        return run_id

    def _removable(self, project: str | None) -> list[str]:
        """Ids of what may go, oldest first."""
        found = [
            run_id
            for run_id, run in self.model.items()
            if project in (None, run.project) and run.state is not RunState.RUNNING and run.case is None
        ]
        return sorted(found, key=lambda run_id: (self.model[run_id].time, self.model[run_id].arrival))

    def _remove(self, project: str, clearing: bool) -> object:
        return self.store.clear.clear(project) if clearing else self.store.prune.project(project)

    def _remove_from_model(self, project: str, clearing: bool) -> None:
        (self._clear_model if clearing else self._prune_model)(project)

    def _prune_model(self, project: str) -> None:
        for run_id in self._removable(project)[:-RETAIN]:
            del self.model[run_id]

    def _clear_model(self, project: str | None) -> None:
        for run_id in self._removable(project):
            del self.model[run_id]

    def _restart(self) -> None:
        self.store.close()
        self.store.open()
        recover_interrupted(self.store.database, self.store.time)
        for run in self.model.values():
            if run.state is RunState.RUNNING:
                run.state = RunState.FAILED


def _memory(project: str, memory: int) -> Manifest:
    return a_memory(BODIES[memory], project)


def _crashing_at(step: int, work: Callable[[], object]) -> None:
    """Do the work until its write or removal of this number, and no further."""
    done = 0

    def counted(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            nonlocal done
            done += 1
            if done > step:
                raise _Crash
            return original(*arguments)

        return call

    with (
        mock.patch.object(Database, "write", counted(Database.write)),
        mock.patch.object(BlobStore, "remove", counted(BlobStore.remove)),
    ):
        work()


TestHistory = History.TestCase
TestHistory.settings = settings(
    max_examples=25,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
