"""The rankings of a pinned memory with the default encoder and profile, as readable texts.

Where a change of ranking is meant, `pytest tests/golden --update-golden` writes them anew and the diff shows it.
"""

import tomllib
from pathlib import Path

import pytest

from ranker_service.domain.candidate import Candidate
from ranker_service.domain.resource import Layer
from ranker_service.domain.trace import RunState
from ranker_service.models.encoder import TransformerEncoder
from ranker_service.models.rerankers import Rerankers
from ranker_service.models.source import resolve
from ranker_service.pipeline import Pipeline
from ranker_service.system import SystemClock
from tests.builders import a_profile
from tests.corpora import indexed
from tests.golden.rankings import ranking_text, same_but_for_rounding, stats_text

HERE = Path(__file__).parent
RANKINGS = HERE / "rankings"
QUERIES = {query["name"]: query for query in tomllib.loads((HERE / "queries.toml").read_text("utf-8"))["query"]}
# Whether a CPU has bfloat16 must not change what is compared.
DTYPE = "float32"
# So that pages of a few lines have several units, more than are reranked.
SMALL_UNITS = a_profile(index={"unit_tokens": 80, "overlap_tokens": 16}).index


@pytest.fixture(scope="module")
def rankings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Candidate, ...]]:
    encoder = TransformerEncoder.load(resolve(), DTYPE)
    pages, layers = _pinned_memory()
    corpus = indexed(tmp_path_factory.mktemp("index"), pages, encoder, SMALL_UNITS, layers)
    pipeline = Pipeline(SystemClock(), encoder, Rerankers(None, DTYPE, allow_download=False))
    traces = {
        name: pipeline.rank(query["text"], a_profile(), corpus.memory, corpus.index) for name, query in QUERIES.items()
    }
    assert {trace.state for trace in traces.values()} == {RunState.SUCCEEDED}
    return {name: trace.candidates for name, trace in traces.items()}


@pytest.mark.parametrize("name", QUERIES)
def test_the_ranking_is_the_golden_one(
    rankings: dict[str, tuple[Candidate, ...]], name: str, update_golden: bool
) -> None:
    _compare(RANKINGS / f"{name}.txt", ranking_text(QUERIES[name]["text"], rankings[name]), update_golden)


def test_the_first_relevant_ranks_are_the_golden_ones(
    rankings: dict[str, tuple[Candidate, ...]], update_golden: bool
) -> None:
    relevant = {name: query["relevant"] for name, query in QUERIES.items()}
    _compare(HERE / "rank_stats.txt", stats_text(rankings, relevant), update_golden)


def test_no_golden_ranking_is_left_of_a_query_that_is_gone() -> None:
    assert {path.stem for path in RANKINGS.glob("*.txt")} == set(QUERIES)


def _compare(path: Path, text: str, update: bool) -> None:
    if update:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    same = same_but_for_rounding(text, path.read_text("utf-8"))
    assert same, f"{path.name} differs, `pytest tests/golden --update-golden` writes it anew; now it is\n{text}"


def _pinned_memory() -> tuple[dict[str, str], dict[str, Layer]]:
    pages: dict[str, str] = {}
    layers: dict[str, Layer] = {}
    for layer in (Layer.ORGANIZATION, Layer.PROJECT):
        root = HERE / "corpus" / layer.value
        for file in sorted(path for path in root.rglob("*") if path.is_file()):
            path = file.relative_to(root).as_posix()
            pages[path], layers[path] = file.read_text("utf-8"), layer
    return pages, layers
