"""Decides whether the parts of a fixture fit together; each part has passed its schema."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from history_service.domain.case import EvaluationCase, JudgmentVersion, in_order
from history_service.domain.digest import canonical_json
from history_service.domain.errors import FixtureInvalid
from history_service.exchange.fixture import Element, body_of
from history_service.exchange.fixture_cases import case_of, trace_of, version_of

_KEYS: Mapping[str, tuple[str, ...]] = {
    "bodies": ("digest",),
    "cases": ("case_id",),
    "corpora": ("corpus_hash",),
    "judgment_versions": ("case_id", "judgment_version"),
    "resources": ("corpus_hash", "resource_id"),
}
_OF_RUN = ("run_id", "project_id", "query")
_MANIFEST_COLUMNS = ("resource_id", "layer", "kind", "path", "title", "media_type", "digest")


@dataclass(frozen=True, slots=True)
class SetContents:
    """What a fixture holds, as far as all of it is needed at once: digests with sizes, corpora with projects."""

    body_sizes: Mapping[str, int]
    corpus_projects: Mapping[str, str]
    case_count: int


class SetCheck:
    """Takes every element in the order of the document."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[Any, ...]] = {}
        self._sizes: dict[str, int] = {}
        self._unused_bodies: dict[str, str] = {}
        self._cases: dict[str, _Case] = {}
        self._corpora: dict[str, _Corpus] = {}
        self._takers: Mapping[str, Callable[[str, Element], None]] = {
            "bodies": self._take_body,
            "cases": self._take_case,
            "corpora": self._take_corpus,
            "judgment_versions": self._take_version,
            "resources": self._take_resource,
        }

    def take(self, member: str, field: str, element: Element) -> None:
        """Take the next element of a member; raise FixtureInvalid or BlobDigestMismatch when it does not fit."""
        names = _KEYS[member]
        key = tuple(element[name] for name in names)
        if member in self._last and key <= self._last[member]:
            raise FixtureInvalid(f"{field}.{names[-1]}", f"is not in ascending order of {' and '.join(names)}")
        self._last[member] = key
        self._takers[member](field, element)

    def contents(self) -> SetContents:
        """Return what came; raise FixtureInvalid when something is missing or of no use."""
        for case in self._cases.values():
            case.check_end(self._corpora)
        for corpus_hash, corpus in self._corpora.items():
            corpus.check_end(corpus_hash)
        for field in self._unused_bodies.values():
            raise FixtureInvalid(field, "is the body of no resource")
        projects = {corpus_hash: corpus.project_id for corpus_hash, corpus in self._corpora.items()}
        return SetContents(self._sizes, projects, len(self._cases))

    def _take_body(self, field: str, element: Element) -> None:
        body_of(element, field)
        self._sizes[element["digest"]] = element["size_bytes"]
        self._unused_bodies[element["digest"]] = field

    def _take_case(self, field: str, element: Element) -> None:
        run = element["run"]
        pairs = [(name, run[name]) for name in _OF_RUN] + [("corpus_hash", run["effective_memory_hash"])]
        for name, of_run in pairs:
            if element[name] != of_run:
                raise FixtureInvalid(f"{field}.{name}", "is not that of the case's Run")
        if run["candidate_count"] != len(run["candidates"]):
            raise FixtureInvalid(f"{field}.run.candidate_count", f"is not {len(run['candidates'])}")
        trace_of(run, f"{field}.run")
        self._cases[element["case_id"]] = _Case(field, case_of(element, field))

    def _take_corpus(self, field: str, element: Element) -> None:
        corpus = _Corpus(field, element["project_id"], element["resource_count"])
        self._corpora[element["corpus_hash"]] = corpus

    def _take_version(self, field: str, element: Element) -> None:
        case = self._cases.get(element["case_id"])
        if case is None:
            raise FixtureInvalid(f"{field}.case_id", "is no case of this document")
        case.take(field, version_of(element, field))

    def _take_resource(self, field: str, element: Element) -> None:
        corpus = self._corpora.get(element["corpus_hash"])
        if corpus is None:
            raise FixtureInvalid(f"{field}.corpus_hash", "is no corpus of this document")
        size = self._sizes.get(element["digest"])
        if size is None:
            raise FixtureInvalid(f"{field}.digest", "has no body in this document")
        if size != element["size_bytes"]:
            raise FixtureInvalid(f"{field}.size_bytes", f"is not {size}, which its body has")
        self._unused_bodies.pop(element["digest"], None)
        corpus.take(element)


class _Case:
    """A case whose versions are on their way."""

    def __init__(self, field: str, case: EvaluationCase) -> None:
        self._field = field
        self._case = case
        self._versions = 0

    def take(self, field: str, version: JudgmentVersion) -> None:
        """Take the next version."""
        self._versions += 1
        if version.judgment_version != self._versions:
            raise FixtureInvalid(f"{field}.judgment_version", f"is not {self._versions}, which is due")
        first = version.judgment_version == 1
        if first != (version.author == ""):
            raise FixtureInvalid(f"{field}.author", "must be empty" if first else "is empty")
        if first and version.judgments:
            raise FixtureInvalid(f"{field}.judgments", "must be empty, as the set is that a case begins with")
        if in_order(version.judgments) != list(version.judgments):
            raise FixtureInvalid(f"{field}.judgments", "are not in the order of resource_id and unit_key")
        if version.judgment_version == self._case.judgment_version:
            self._check_present(version)

    def check_end(self, corpora: "Mapping[str, _Corpus]") -> None:
        """Raise FixtureInvalid when a version or the corpus is missing."""
        if self._versions != self._case.judgment_version:
            raise FixtureInvalid(f"{self._field}.judgment_version", f"is not {self._versions}, the versions that came")
        corpus = corpora.get(self._case.corpus_hash)
        if corpus is None:
            raise FixtureInvalid(f"{self._field}.corpus_hash", "is no corpus of this document")
        corpus.used = True
        if corpus.project_id != self._case.project_id:
            raise FixtureInvalid(f"{self._field}.project_id", "is not that of its corpus")
        if corpus.resource_count != self._case.resource_count:
            raise FixtureInvalid(f"{self._field}.resource_count", "is not that of its corpus")

    def _check_present(self, version: JudgmentVersion) -> None:
        case, judged = self._case, version.judgment_version > 1
        expected = {
            "judgment_count": len(version.judgments),
            "human_judged": any(judgment.source == "human" for judgment in version.judgments),
            "judgment_author": version.author,
            "judge_time": version.judge_time_us if judged else None,
        }
        said = (case.judgment_count, case.human_judged, case.judgment_author, case.judge_time_us)
        for (name, value), known in zip(expected.items(), said, strict=True):
            if value != known:
                raise FixtureInvalid(f"{self._field}.{name}", "is not that of its present judgments")


class _Corpus:
    """A corpus whose resources are on their way; its hash is that of `domain.corpus.manifest_hash`, row by row."""

    def __init__(self, field: str, project_id: str, resource_count: int) -> None:
        self._field = field
        self.project_id = project_id
        self.resource_count = resource_count
        self.used = False
        self._came = 0
        self._hash = hashlib.sha256(b"[" + canonical_json(project_id) + b",[")

    def take(self, element: Element) -> None:
        """Take the next resource."""
        row = canonical_json([element[name] for name in _MANIFEST_COLUMNS])
        self._hash.update(b"," + row if self._came else row)
        self._came += 1

    def check_end(self, corpus_hash: str) -> None:
        """Raise FixtureInvalid when resources are missing or changed, or no case has the corpus."""
        if self._came != self.resource_count:
            raise FixtureInvalid(f"{self._field}.resource_count", f"is not {self._came}, the resources that came")
        self._hash.update(b"]]")
        if self._hash.hexdigest() != corpus_hash:
            raise FixtureInvalid(f"{self._field}.corpus_hash", "is not the hash of its resources")
        if not self.used:
            raise FixtureInvalid(self._field, "is the corpus of no case")
