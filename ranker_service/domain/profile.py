"""Ranking profiles: every constant of the stages, named and versioned."""

import re
import tomllib
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from ranker_service.domain.digest import canonical_json, digest_of

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*(\.[a-z0-9][a-z0-9_-]*)*")
MAX_LEG_LIMIT = 200
MAX_LINES = 500
MAX_LINE_CHARACTERS = 400
RERANK_METHODS = ("late_interaction", "cross_encoder", "none")


class ProfileInvalid(ValueError):
    """A profile's text is wrong; `problems` holds one sentence for each key, with the fix."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """Constants that the index is built with."""

    k1: float
    b: float
    epsilon: float
    unit_tokens: int
    overlap_tokens: int
    exact_vector_limit: int
    hnsw_m: int
    hnsw_ef_construction: int
    hnsw_ef_max: int
    hnsw_recall: float
    token_vector_limit: int


@dataclass(frozen=True, slots=True)
class ExactSettings:
    """Exact identity."""

    limit: int
    min_prefix_characters: int


@dataclass(frozen=True, slots=True)
class LegSettings:
    """How many units a leg recalls; 0 turns it off."""

    limit: int


@dataclass(frozen=True, slots=True)
class FusionSettings:
    """Reciprocal rank fusion."""

    k: int


@dataclass(frozen=True, slots=True)
class RerankSettings:
    """Reranking: what by, how many, and how a score is made and read."""

    method: str
    depth: int
    power: float
    rrf_weight: float
    relevance_midpoint: float
    relevance_slope: float


@dataclass(frozen=True, slots=True)
class SelectionSettings:
    """Selection under a budget."""

    max_fragments: int
    token_budget: int
    per_resource_limit: int
    relevance_floor: float


@dataclass(frozen=True, slots=True)
class Profile:
    """A named set of every constant of the stages."""

    name: str
    index: IndexSettings
    exact: ExactSettings
    bm25: LegSettings
    lexical: LegSettings
    dense: LegSettings
    rrf: FusionSettings
    rerank: RerankSettings
    selection: SelectionSettings

    @property
    def digest(self) -> str:
        """Digest of the canonical JSON of every value."""
        return digest_of(canonical_json(asdict(self)))

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Read a profile; raise ProfileInvalid with everything that is wrong with it."""
        document = _parsed(text)
        problems: list[str] = []
        name = document.pop("name", None)
        if not isinstance(name, str) or len(name) > 64 or _NAME.fullmatch(name) is None:  # noqa: PLR2004
            problems.append("name must be a string such as 'activation.v2', of lower-case words joined by dots")
        sections = {f.name: _section(document, f.name, f.type, problems) for f in fields(cls) if f.name != "name"}
        problems += [f"[{key}] is not a section of a profile: remove it" for key in sorted(document)]
        if problems:
            raise ProfileInvalid(problems)
        return cls(name=name, **sections)


# (section.key) -> (least, most); a key without a row here is a string.
_BOUNDS: dict[str, tuple[float, float]] = {
    "index.k1": (0.0, 10.0),
    "index.b": (0.0, 1.0),
    "index.epsilon": (0.0, 1.0),
    "index.unit_tokens": (16, 100_000),
    "index.overlap_tokens": (0, 50_000),
    "index.exact_vector_limit": (0, 10_000_000),
    "index.hnsw_m": (2, 128),
    "index.hnsw_ef_construction": (16, 2_000),
    "index.hnsw_ef_max": (60, 10_000),
    "index.hnsw_recall": (0.5, 1.0),
    "index.token_vector_limit": (0, 10_000_000),
    "exact.limit": (0, MAX_LEG_LIMIT),
    "exact.min_prefix_characters": (1, 100),
    "bm25.limit": (0, MAX_LEG_LIMIT),
    "lexical.limit": (0, MAX_LEG_LIMIT),
    "dense.limit": (0, MAX_LEG_LIMIT),
    "rrf.k": (1, 10_000),
    "rerank.depth": (0, 2 * MAX_LEG_LIMIT),
    "rerank.power": (1.0, 16.0),
    "rerank.rrf_weight": (0.0, 1_000.0),
    "rerank.relevance_midpoint": (-100.0, 100.0),
    "rerank.relevance_slope": (0.001, 1_000.0),
    "selection.max_fragments": (1, 50),
    "selection.token_budget": (1, 100_000),
    "selection.per_resource_limit": (1, 50),
    "selection.relevance_floor": (0.0, 1.0),
}


def _parsed(text: str) -> dict[str, Any]:
    """Parse TOML; text that a parser takes long for, or does not come back from, is refused unread."""
    lines = text.splitlines()
    if len(lines) > MAX_LINES or any(len(line) > MAX_LINE_CHARACTERS for line in lines):
        problem = f"the file has more than {MAX_LINES} lines, or one of more than {MAX_LINE_CHARACTERS} characters"
        raise ProfileInvalid([problem])
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProfileInvalid([f"the file is not TOML: {error}"]) from error


def _section(document: dict[str, Any], name: str, kind: Any, problems: list[str]) -> Any:
    table = document.pop(name, None)
    if not isinstance(table, dict):
        problems.append(f"[{name}] is missing: add the section")
        return None
    values: dict[str, Any] = {}
    for f in fields(kind):
        key = f"{name}.{f.name}"
        if f.name not in table:
            problems.append(f"{key} is missing: add it")
            continue
        value = table.pop(f.name)
        problem = _value_problem(key, value, f.type)
        if problem is not None:
            problems.append(problem)
        values[f.name] = float(value) if f.type is float and problem is None else value
    problems += [f"{name}.{key} is not a key of a profile: remove it" for key in sorted(table)]
    return None if problems else kind(**values)


def _value_problem(key: str, value: Any, kind: Any) -> str | None:
    if key == "rerank.method":
        return None if value in RERANK_METHODS else f"{key} must be one of {', '.join(RERANK_METHODS)}"
    wanted = int if kind is int else (int, float)
    least, most = _BOUNDS[key]
    if isinstance(value, bool) or not isinstance(value, wanted) or not least <= value <= most:
        return f"{key} must be {'a whole number' if kind is int else 'a number'} from {least:g} to {most:g}"
    return None
