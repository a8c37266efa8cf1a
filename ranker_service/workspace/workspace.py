"""The registry of projects: commits go in, memories and indexes come out."""

import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ranker_service.domain.digest import canonical_json, digest_of
from ranker_service.domain.errors import CommitConflict, IndexNotReady, ProjectNotFound, StageFailed
from ranker_service.domain.profile import IndexSettings
from ranker_service.domain.resource import EffectiveMemory, Layer
from ranker_service.index.snapshot import Snapshot
from ranker_service.memory.commits import Commit, CommitDraft, CommitMode, CommitStore
from ranker_service.memory.durable import make_directory, read_file, replace_file
from ranker_service.ports import CorpusKeeper, Encoder
from ranker_service.workspace.builds import Builds
from ranker_service.workspace.indexer import BuildProgress, Indexer
from ranker_service.workspace.project import Project
from ranker_service.workspace.removal import TRASH_SUFFIX, delete_tree

_LOG = logging.getLogger(__name__)
_IDENTITY = "project.json"
PROGRESS_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ReadyIndex:
    """A complete index of a project's present memory."""

    index_revision: str
    effective_memory_hash: str
    unit_count: int
    token_vector_bytes: int


class Workspace:
    """Every project of one data directory; safe to call from any thread."""

    def __init__(self, directory: Path, encoder: Encoder, settings: IndexSettings, corpora: CorpusKeeper) -> None:
        self._projects_directory = directory / "projects"
        make_directory(self._projects_directory)
        self._encoder = encoder
        self._settings = settings
        self._corpora = corpora
        self._organization = CommitStore(directory / "organization")
        self._builds = Builds(self._collect_garbage)
        self._lock = threading.RLock()
        self._unpublished: dict[str, tuple[Project, int]] = {}  # with the drafts open for each
        self._projects = {project.project_id: project for project in self._load()}
        for project in self._projects.values():
            self._builds.request(project)

    def projects(self) -> list[Project]:
        """Return every known project, in project_id order."""
        with self._lock:
            return [self._projects[project_id] for project_id in sorted(self._projects)]

    def project(self, project_id: str) -> Project:
        """Return a known project; raise ProjectNotFound."""
        with self._lock:
            project = self._projects.get(project_id)
        if project is None:
            raise ProjectNotFound(project_id)
        return project

    @contextmanager
    def committing(
        self, project_id: str, layer: Layer, mode: CommitMode, expected_parent: str | None
    ) -> Iterator[CommitDraft]:
        """Open a draft for a layer; the project becomes known when it is published, and leaves nothing when it is not.

        Raises CommitConflict where the layer's storage is cleared or deleted meanwhile.
        """
        store = self._committed_to(project_id, layer)
        head = store.head()
        try:
            with store.begin(layer, mode, expected_parent) as draft:
                yield draft
        except FileNotFoundError as error:
            raise CommitConflict(head, "") from error
        finally:
            self._leave(project_id, layer)

    def publish(self, project_id: str, layer: Layer, draft: CommitDraft) -> tuple[Commit, EffectiveMemory | None]:
        """Publish a draft; return the commit and the project's memory (None for the organization), and start builds."""
        commit = draft.publish()
        concerned = self.projects() if layer is Layer.ORGANIZATION else [self._make_known(project_id)]
        memories = [project.refresh() for project in concerned]
        for project in concerned:
            self._builds.request(project)
        return commit, None if layer is Layer.ORGANIZATION else memories[0]

    def layer_store(self, project_id: str, layer: Layer) -> CommitStore:
        """Return a layer's store; raise ProjectNotFound."""
        return self._organization if layer is Layer.ORGANIZATION else self.project(project_id).store(layer)

    def snapshot(self, project: Project) -> tuple[Snapshot, bool]:
        """Return the last complete index and whether this loaded it.

        Raises IndexNotReady or StageFailed (index_damaged); either has the index built in the background.
        """
        try:
            return project.snapshot()
        except (IndexNotReady, StageFailed):
            self._builds.request(project)
            raise

    def distrust_index(self, project_id: str) -> None:
        """Have a project's index repaired, whose damage was found in use; raise ProjectNotFound."""
        project = self.project(project_id)
        project.distrust_index()
        self._builds.request(project)

    def ensure_index(self, project_id: str) -> Iterator[BuildProgress | ReadyIndex]:
        """Yield progress until the index of the present memory is complete, at least once a second; then yield it.

        Raises ProjectNotFound, and StageFailed where the build failed.
        """
        project = self.project(project_id)
        while True:
            if project.is_current():
                yield _ready(project.snapshot()[0])
                return
            self._builds.request(project)
            yield from self._progress(project)

    def _progress(self, project: Project) -> Iterator[BuildProgress]:
        """Yield progress until there is no build under way or waiting."""
        last: BuildProgress | None = None
        while True:
            with project.changed:
                if project.build in (None, last) and self._builds.is_due(project):
                    project.changed.wait(PROGRESS_SECONDS)
                progress, failure = project.build, project.build_failure
            if failure is not None:
                raise StageFailed(failure.stage, failure.code, failure.summary)
            if progress is not None and progress != last:
                yield progress
                last = progress
            if not self._builds.is_due(project):
                return

    def clear_project(self, project_id: str) -> int:
        """Remove a project's commits and indexes; return the bytes freed; raise ProjectNotFound."""
        return self.project(project_id).clear()

    def delete_project(self, project_id: str) -> int:
        """Forget a project and remove its storage; return the bytes freed; raise ProjectNotFound.

        Its place is free at once: a commit that comes meanwhile begins a new project.
        """
        with self._lock:
            project = self.project(project_id)
            trash = project.move_away()
            del self._projects[project_id]
        project.close()
        return delete_tree(trash)

    def close(self) -> None:
        """Take no more builds."""
        self._builds.close()

    def _committed_to(self, project_id: str, layer: Layer) -> CommitStore:
        """Return the store of a layer, of a project that need not be known yet; `_leave` follows."""
        if layer is Layer.ORGANIZATION:
            return self._organization
        with self._lock:
            project = self._projects.get(project_id)
            if project is None:
                project, drafts = self._unpublished.get(project_id) or (self._open(project_id), 0)
                self._unpublished[project_id] = project, drafts + 1
        return project.store(layer)

    def _leave(self, project_id: str, layer: Layer) -> None:
        """End a draft; a project whose first commits were all refused is forgotten."""
        with self._lock:
            project, drafts = self._unpublished.get(project_id) or (None, 0)
            if layer is Layer.ORGANIZATION or project is None:
                return
            if drafts > 1:
                self._unpublished[project_id] = project, drafts - 1
                return
            del self._unpublished[project_id]
            trash = project.move_away()
        project.close()
        delete_tree(trash)

    def _make_known(self, project_id: str) -> Project:
        with self._lock:
            project, _ = self._unpublished.pop(project_id, (None, 0))
            if project is not None:
                replace_file(self._directory(project_id) / _IDENTITY, canonical_json({"project_id": project_id}))
                self._projects[project_id] = project
            if project_id not in self._projects:
                raise CommitConflict("", "")
            return self._projects[project_id]

    def _load(self) -> Iterator[Project]:
        """Open every known project; sweep what an interrupted removal or a refused first commit left."""
        for directory in sorted(self._projects_directory.iterdir()):
            project_id = _identity_of(directory)
            if project_id is not None:
                yield self._open(project_id)
            elif directory.name.endswith(TRASH_SUFFIX) or not any(directory.glob("layers/*/head")):
                delete_tree(directory)
            else:
                _LOG.error("%s is no project of this ranker and is left alone: its project.json is damaged", directory)

    def _open(self, project_id: str) -> Project:
        directory = self._directory(project_id)
        indexer = Indexer(directory, self._encoder, self._settings)
        return Project(project_id, directory, self._organization, indexer, self._corpora)

    def _directory(self, project_id: str) -> Path:
        """Return the project's storage; its id is never part of a path."""
        return self._projects_directory / digest_of(project_id.encode())

    def _collect_garbage(self, built: Project) -> None:
        """Remove bodies that no head names, once undelivered Runs have taken over what they need of them."""
        for project in self.projects():
            self._corpora.retain(project.project_id)
        built.collect_garbage()
        self._organization.collect_garbage()


def _ready(snapshot: Snapshot) -> ReadyIndex:
    return ReadyIndex(
        snapshot.index_revision, snapshot.effective_memory_hash, snapshot.unit_count, snapshot.token_vector_bytes
    )


def _identity_of(directory: Path) -> str | None:
    """Return the id of the project whose storage a directory is; None where it does not say so itself."""
    try:
        project_id = json.loads(read_file(directory / _IDENTITY))["project_id"]
        return project_id if directory.name == digest_of(project_id.encode()) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
