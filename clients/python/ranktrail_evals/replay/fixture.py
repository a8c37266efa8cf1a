"""An exported evaluation set, as far as a replay reads it; docs/fixture.schema.json describes all of it."""

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from ranktrail_evals.errors import FixtureRefused
from ranktrail_evals.replay.trace import REVISIONS, RankedUnit, Trace

MAX_FILE_BYTES = 4 * 1024 * 1024 * 1024


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class Judgment(_Part):
    """What somebody says of a unit, or of a whole resource where there is no unit_key."""

    resource_id: str
    unit_key: str | None
    relevance: int

    @property
    def name(self) -> str:
        """What it is of."""
        return self.resource_id if self.unit_key is None else self.unit_key


class FrozenResource(_Part):
    """A resource of a frozen corpus."""

    corpus_hash: str
    resource_id: str
    layer: str
    kind: str
    path: str
    title: str
    media_type: str
    digest: str


class _Stage(_Part):
    stage: str


class _Profile(_Part):
    name: str | None
    digest: str | None


class _Run(_Part):
    run_id: str
    candidates: tuple[RankedUnit, ...]
    stage_latencies: tuple[_Stage, ...]
    ranking_profile: _Profile
    parser_revision: str | None
    chunker_revision: str | None
    lexical_revision: str | None
    model_revision: str | None
    vector_index_revision: str | None
    reranker_revision: str | None

    def trace(self) -> Trace:
        profile = self.ranking_profile
        revisions = {name: getattr(self, name) or "" for name in REVISIONS}
        revisions |= {"profile": profile.name or "", "profile_digest": profile.digest or ""}
        return Trace(self.candidates, frozenset(one.stage for one in self.stage_latencies), revisions)


class _Case(_Part):
    case_id: str
    project_id: str
    query: str
    corpus_hash: str
    judgment_version: int
    run: _Run


class _Version(_Part):
    case_id: str
    judgment_version: int
    judgments: tuple[Judgment, ...]


class _Body(_Part):
    content: str
    digest: str
    encoding: Literal["utf-8", "base64"]

    def bytes(self) -> bytes:
        return self.content.encode() if self.encoding == "utf-8" else base64.b64decode(self.content, validate=True)


class _Document(_Part):
    format_version: Literal[1]
    sha256: str
    bodies: tuple[_Body, ...]
    cases: tuple[_Case, ...]
    judgment_versions: tuple[_Version, ...]
    resources: tuple[FrozenResource, ...]


@dataclass(frozen=True, slots=True)
class FrozenCase:
    """A case: its query, its present judgments, and the trace that it was pinned with."""

    case_id: str
    run_id: str
    query: str
    judgments: tuple[Judgment, ...]
    trace: Trace


@dataclass(frozen=True, slots=True)
class FrozenCorpus:
    """A corpus with its bodies by digest, and the cases that were ranked on it."""

    project_id: str
    resources: tuple[FrozenResource, ...]
    bodies: dict[str, bytes]
    cases: tuple[FrozenCase, ...]


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """A set by corpus."""

    sha256: str
    corpora: tuple[FrozenCorpus, ...]

    @property
    def cases(self) -> list[FrozenCase]:
        """Every case, in case_id order."""
        return sorted((case for corpus in self.corpora for case in corpus.cases), key=lambda case: case.case_id)


def read_fixture(path: Path) -> EvaluationSet:
    """Return the set in a file; raise FixtureRefused for what is none, and for one that was damaged or changed."""
    parsed = _parsed(path)
    try:
        document = _Document.model_validate(parsed)
        bodies = {one.digest: one.bytes() for one in document.bodies}
    except ValidationError as error:
        first = error.errors()[0]
        raise _refused(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    except ValueError as error:
        raise _refused(path, "a body is no base64") from error
    for digest, body in bodies.items():
        if hashlib.sha256(body).hexdigest() != digest:
            raise _refused(path, f"the body {digest} is damaged")
    if document.sha256 != content_digest(parsed):
        raise _refused(path, "its content is not what its sha256 says: it was changed")
    if not document.cases:
        raise _refused(path, "it has no cases")
    return _set(path, document, bodies)


def content_digest(document: dict[str, Any]) -> str:
    """Return the digest that a fixture carries: of its canonical JSON without exported_at, itself and the bodies."""
    covered: dict[str, Any] = {name: document[name] for name in document.keys() - {"exported_at", "sha256"}}
    covered["bodies"] = [{key: body[key] for key in body.keys() - {"content"}} for body in document["bodies"]]
    text = json.dumps(covered, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _parsed(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise _refused(path, f"it has more than {MAX_FILE_BYTES} bytes")
        parsed = json.loads(path.read_bytes())
    except OSError as error:
        raise _refused(path, f"it cannot be read ({(error.strerror or type(error).__name__).lower()})") from error
    except (ValueError, RecursionError) as error:
        raise _refused(path, "it is no JSON") from error
    if not isinstance(parsed, dict):
        raise _refused(path, "it is no JSON object")
    return parsed


def _set(path: Path, document: _Document, bodies: dict[str, bytes]) -> EvaluationSet:
    judgments = {(one.case_id, one.judgment_version): one.judgments for one in document.judgment_versions}
    corpora = []
    for corpus_hash, project_id in sorted({(case.corpus_hash, case.project_id) for case in document.cases}):
        resources = tuple(one for one in document.resources if one.corpus_hash == corpus_hash)
        missing = [one.resource_id for one in resources if one.digest not in bodies]
        if missing:
            raise _refused(path, f"the body of {missing[0]!r} is missing")
        cases = [one for one in document.cases if (one.corpus_hash, one.project_id) == (corpus_hash, project_id)]
        corpora.append(FrozenCorpus(project_id, resources, bodies, tuple(_cases(cases, judgments))))
    return EvaluationSet(document.sha256, tuple(corpora))


def _cases(cases: Sequence[_Case], judgments: dict[tuple[str, int], tuple[Judgment, ...]]) -> list[FrozenCase]:
    return [
        FrozenCase(
            case.case_id,
            case.run.run_id,
            case.query,
            judgments.get((case.case_id, case.judgment_version), ()),
            case.run.trace(),
        )
        for case in cases
    ]


def _refused(path: Path, problem: str) -> FixtureRefused:
    return FixtureRefused(f"fixture {str(path)!r}: {problem}: name a file that `ranktrail export` wrote")
