"""The pipeline over a real index: what a Run's candidates say, and what each setting of profile and request does."""

import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ranker_service.domain.activation import ActivationState, fingerprint
from ranker_service.domain.candidate import Candidate, DeltaAction, ExclusionReason
from ranker_service.domain.profile import Profile, RerankSettings
from ranker_service.domain.request import Activation, ActivationRequest
from ranker_service.domain.resource import Layer
from ranker_service.domain.trace import RunState, RunTrace, Stage
from ranker_service.index.snapshot import Snapshot
from ranker_service.index.tokenizer import query_tokens
from ranker_service.pipeline import MemoryView, Pipeline
from ranker_service.ports import Reranker
from tests.builders import a_profile
from tests.corpora import PROJECT, Corpus, indexed
from tests.fakes.clock import ManualClock
from tests.fakes.encoder import WordEncoder
from tests.fakes.reranker import WordReranker

WORDS = ["deploy", "rollback", "invoice", "harbour", "lantern", "meadow", "quartz", "signal", "thunder", "velvet"]
PAGES = {f"topics/{a}-{b}.md": f"# {a} {b}\n\nAbout {a} and {b}.\n" for a in WORDS for b in WORDS if a < b}
PAGES |= {"team/rota.md": "Who deploys on Friday, and who does the rollback.\n", "notes.txt": "velvet signal\n"}
LAYERS = {"team/rota.md": Layer.ORGANIZATION, "notes.txt": Layer.DRAFT}
NO_RERANK = a_profile(rerank={"method": "none"})


class Loading(Corpus):
    """A view whose index has to be loaded first."""

    def snapshot(self) -> tuple[Snapshot, bool]:
        return self.index, True


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return indexed(tmp_path_factory.mktemp("index"), PAGES, WordEncoder(), layers=LAYERS)


def a_pipeline(
    encoder: WordEncoder | None = None, *, reranker: Reranker | None = None, loads: bool = False
) -> Pipeline:
    def rerankers(settings: RerankSettings) -> tuple[Reranker, bool]:
        return reranker or WordReranker(needs_token_vectors=settings.method == "late_interaction"), loads

    return Pipeline(ManualClock(step_us=10), encoder or WordEncoder(), rerankers)


def run(
    view: MemoryView, query: str, profile: Profile | None = None, pipeline: Pipeline | None = None, **fields: Any
) -> tuple[Activation, RunTrace]:
    request = ActivationRequest(PROJECT, query, profile or a_profile(), **fields)
    state = fingerprint(request.activation_state)
    trace = RunTrace("run", PROJECT, query, "activation", state, "instance", create_time_us=0)
    return (pipeline or a_pipeline()).run(request, trace, view), trace


def by_key(candidates: tuple[Candidate, ...]) -> Mapping[str, Candidate]:
    return {candidate.unit.unit_key: candidate for candidate in candidates}


def test_a_run_that_ends_well_has_a_terminal_trace(corpus: Corpus) -> None:
    activation, trace = run(corpus, "deploy rollback")
    assert trace.state is RunState.SUCCEEDED
    assert trace.failure is None
    assert trace.complete_time_us is not None
    assert [latency.stage for latency in trace.stage_latencies] == list(Stage)[:-1]
    assert all(latency.duration_us > 0 for latency in trace.stage_latencies)
    assert (trace.query_token_count, trace.query_tokens_encoded) == (2, 2)
    assert trace.returned_fragment_count == len(activation.fragments) > 0
    assert trace.returned_token_count == sum(fragment.unit.token_count for fragment in activation.fragments)
    assert not trace.cold


def test_the_reply_holds_the_very_candidates_and_revisions_of_the_trace(corpus: Corpus) -> None:
    activation, trace = run(corpus, "deploy rollback")
    assert activation.candidates is trace.candidates
    assert activation.revisions is trace.revisions
    assert activation.run_id == trace.run_id


def test_revisions_say_what_ranked(corpus: Corpus) -> None:
    revisions = run(corpus, "deploy")[1].revisions
    assert revisions is not None
    assert revisions.effective_memory_hash == corpus.memory.hash
    assert revisions.index_revision == corpus.index.index_revision
    assert (revisions.model_revision, revisions.reranker_revision) == (WordEncoder.revision, WordReranker().revision)
    assert (revisions.profile_name, revisions.profile_digest) == ("activation.v1", a_profile().digest)
    assert (revisions.resource_count, revisions.unit_count) == (len(PAGES), corpus.index.unit_count)
    assert all(value for value in (revisions.parser_revision, revisions.chunker_revision, revisions.lexical_revision))
    assert revisions.vector_index_revision


def test_the_candidates_are_the_union_of_the_legs_in_final_order_each_with_one_disposition(corpus: Corpus) -> None:
    candidates = run(corpus, "deploy rollback")[0].candidates
    assert [candidate.final_rank for candidate in candidates] == list(range(1, len(candidates) + 1))
    assert all(candidate.lexical_rank or candidate.dense_rank for candidate in candidates)
    for candidate in candidates:
        assert candidate.selected == (candidate.exclusion_reason is None) == (candidate.delta_action is not None)


def test_every_leg_of_a_candidate_is_what_the_index_says(corpus: Corpus) -> None:
    query, profile, index = "topics/deploy-signal.md", a_profile(), corpus.index
    candidates = by_key(run(corpus, query, profile)[0].candidates)
    exact = index.identity.search(query, None, 20, 3)
    lexical = index.lexical.search(query_tokens(query), 60, None)
    dense = index.vectors.search(WordEncoder().encode_query(query).vector, 60, None)
    assert exact
    for rank, hit in enumerate(exact, start=1):
        candidate = candidates[index.unit(hit.row).unit_key]
        assert (candidate.exact_rank, candidate.exact_priority, candidate.lexical_rank) == (rank, hit.priority, rank)
    for rank, unit in enumerate(dense, start=1):
        candidate = candidates[index.unit(unit.row).unit_key]
        assert (candidate.dense_rank, candidate.dense_score) == (rank, unit.score)
    for rank, unit in enumerate(lexical, start=1):
        known = candidates.get(index.unit(unit.row).unit_key)
        assert known is None or (known.bm25_rank, known.bm25_score) == (rank, unit.score)
    in_a_list = {index.unit(row).unit_key for row in [*(h.row for h in exact), *(u.row for u in dense)]}
    assert in_a_list <= candidates.keys()


def test_a_stage_that_did_not_see_a_candidate_leaves_its_rank_and_score_unset(corpus: Corpus) -> None:
    profile = a_profile(bm25={"limit": 5}, lexical={"limit": 5}, dense={"limit": 5}, rerank={"depth": 3})
    for candidate in run(corpus, "deploy meadow", profile)[0].candidates:
        assert (candidate.exact_rank is None) == (candidate.exact_priority is None)
        assert (candidate.bm25_rank is None) == (candidate.bm25_score is None)
        assert (candidate.dense_rank is None) == (candidate.dense_score is None)
        seen = candidate.reranker_rank is not None
        assert seen == (candidate.reranker_score is not None) == (candidate.relevance is not None)
        assert seen == (candidate.rrf_rank is not None and candidate.rrf_rank <= 3)
        assert candidate.final_stage == ("rerank" if seen else "rrf")


def test_the_scores_follow_the_formulas(corpus: Corpus) -> None:
    profile = a_profile(rerank={"depth": 200, "rrf_weight": 20.0})
    for candidate in run(corpus, "deploy rollback", profile)[0].candidates:
        legs = [rank for rank in (candidate.lexical_rank, candidate.dense_rank) if rank]
        assert candidate.rrf_score == pytest.approx(sum(1 / (60 + rank) for rank in legs))
        assert candidate.late_interaction_score is not None
        assert candidate.rrf_score is not None
        assert candidate.reranker_score == pytest.approx(candidate.late_interaction_score + 20 * candidate.rrf_score)


def test_reranked_candidates_come_first_and_the_rest_follows_by_rrf_and_is_not_reranked(corpus: Corpus) -> None:
    candidates = run(corpus, "deploy rollback", a_profile(rerank={"depth": 10}))[0].candidates
    head, rest = candidates[:10], candidates[10:]
    assert [candidate.reranker_rank for candidate in head] == list(range(1, 11))
    assert [candidate.rrf_rank for candidate in rest] == list(range(11, len(candidates) + 1))
    assert {candidate.exclusion_reason for candidate in rest} == {ExclusionReason.NOT_RERANKED}


def _assert_fused_order(activation: Activation, trace: RunTrace) -> None:
    candidates = activation.candidates
    assert [candidate.rrf_rank for candidate in candidates] == list(range(1, len(candidates) + 1))
    assert {candidate.final_stage for candidate in candidates} == {"rrf"}
    assert {candidate.relevance for candidate in candidates} == {candidates[0].reranker_score} == {None}
    assert ExclusionReason.NOT_RERANKED not in {candidate.exclusion_reason for candidate in candidates}
    assert Stage.RERANK not in [latency.stage for latency in trace.stage_latencies]
    assert activation.fragments


def test_a_profile_that_does_not_rerank_orders_by_rrf_and_has_no_floor(corpus: Corpus) -> None:
    profile = a_profile(rerank={"method": "none"}, selection={"relevance_floor": 1.0})
    activation, trace = run(corpus, "deploy rollback", profile)
    _assert_fused_order(activation, trace)
    assert activation.revisions.reranker_revision == "none (the profile does not rerank)"


def test_an_index_without_token_vectors_is_not_reranked_and_the_run_says_why(tmp_path: Path) -> None:
    encoder = WordEncoder()
    bare = indexed(tmp_path, PAGES, encoder, replace(a_profile().index, token_vector_limit=0))
    activation, trace = run(bare, "deploy rollback", a_profile(index={"token_vector_limit": 0}))
    _assert_fused_order(activation, trace)
    assert activation.revisions.reranker_revision == f"none ({bare.index.reranker_note})"
    assert bare.index.reranker_note


def test_a_cross_encoder_needs_no_token_vectors_and_has_no_late_interaction_score(corpus: Corpus) -> None:
    profile = a_profile(rerank={"method": "cross_encoder"})
    first = run(corpus, "deploy rollback", profile)[0].candidates[0]
    assert first.late_interaction_score is None
    assert first.reranker_score == 1.0


def test_without_a_dense_leg_and_a_reranker_the_encoder_only_counts(corpus: Corpus) -> None:
    encoder = WordEncoder()
    profile = a_profile(dense={"limit": 0}, rerank={"method": "none"})
    activation, trace = run(corpus, "deploy rollback", profile, a_pipeline(encoder))
    assert encoder.query_count == 0
    assert (activation.query_token_count, activation.query_tokens_encoded) == (2, 0)
    assert {candidate.dense_rank for candidate in activation.candidates} == {None}
    assert Stage.VECTOR not in [latency.stage for latency in trace.stage_latencies]


def test_without_a_dense_leg_the_reranker_still_gets_the_query(corpus: Corpus) -> None:
    encoder = WordEncoder()
    activation = run(corpus, "deploy rollback", a_profile(dense={"limit": 0}), a_pipeline(encoder))[0]
    assert encoder.query_count == 1
    assert activation.candidates[0].reranker_rank == 1


def test_without_bm25_the_lexical_list_is_the_exact_hits(corpus: Corpus) -> None:
    activation, trace = run(corpus, "deploy meadow", a_profile(bm25={"limit": 0}))
    assert {candidate.bm25_rank for candidate in activation.candidates} == {None}
    assert all(candidate.lexical_rank == candidate.exact_rank for candidate in activation.candidates)
    assert any(candidate.exact_rank for candidate in activation.candidates)
    assert Stage.BM25 not in [latency.stage for latency in trace.stage_latencies]


def test_without_a_lexical_leg_only_vectors_recall(corpus: Corpus) -> None:
    activation, trace = run(corpus, "deploy meadow", a_profile(lexical={"limit": 0}))
    assert all(candidate.dense_rank == candidate.rrf_rank for candidate in activation.candidates)
    assert not {Stage.EXACT, Stage.BM25} & {latency.stage for latency in trace.stage_latencies}


def test_without_any_leg_a_run_ends_well_with_nothing(corpus: Corpus) -> None:
    reranker = WordReranker()
    profile = a_profile(lexical={"limit": 0}, dense={"limit": 0})
    activation, trace = run(corpus, "deploy", profile, a_pipeline(reranker=reranker))
    assert (trace.state, activation.candidates) == (RunState.SUCCEEDED, ())
    assert reranker.item_counts == [], "no units, no call"


@pytest.mark.parametrize(
    ("narrowing", "expected"),
    [
        ({"layers": (Layer.ORGANIZATION,)}, {"team/rota.md"}),
        ({"layers": (Layer.ORGANIZATION, Layer.DRAFT)}, {"team/rota.md", "notes.txt"}),
        ({"path_prefix": "team/"}, {"team/rota.md"}),
        ({"kinds": ("code",)}, set()),
        ({"kinds": ("document", "code"), "path_prefix": "notes"}, {"notes.txt"}),
    ],
)
def test_filters_narrow_every_leg(corpus: Corpus, narrowing: dict[str, Any], expected: set[str]) -> None:
    candidates = run(corpus, "velvet rollback", **narrowing)[0].candidates
    assert {candidate.unit.resource.path for candidate in candidates} == expected


def test_a_request_narrows_the_budget_and_never_widens_it(corpus: Corpus) -> None:
    profile = a_profile(selection={"max_fragments": 3, "token_budget": 40, "per_resource_limit": 50})
    usual = run(corpus, "deploy rollback", profile)[0].fragments
    assert run(corpus, "deploy rollback", profile, max_fragments=9, token_budget=900)[0].fragments == usual
    assert len(run(corpus, "deploy rollback", profile, max_fragments=1)[0].fragments) == 1
    few = run(corpus, "deploy rollback", profile, token_budget=20)[0].fragments
    assert sum(fragment.unit.token_count for fragment in few) <= 20


def test_a_state_turns_into_reuse_and_keeps_the_ranking(corpus: Corpus) -> None:
    first = run(corpus, "deploy rollback")[0]
    second = run(corpus, "deploy rollback", activation_state=first.next_state)[0]
    assert {fragment.delta_action for fragment in first.fragments} == {DeltaAction.ADD}
    assert {fragment.delta_action for fragment in second.fragments} == {DeltaAction.REUSE}
    assert [c._replace(delta_action=None) for c in second.candidates] == [
        c._replace(delta_action=None) for c in first.candidates
    ]
    assert second.removed == ()


def test_an_edit_is_a_replacement_and_a_deletion_is_removed(corpus: Corpus, tmp_path: Path) -> None:
    state = run(corpus, "velvet signal")[0].next_state
    edited = {path: text.replace("About", "All about") for path, text in PAGES.items() if path != "notes.txt"}
    later = run(indexed(tmp_path, edited, WordEncoder()), "velvet signal", activation_state=state)[0]
    known = ActivationState.decode(state).known
    assert later.removed == tuple(sorted(key for key in known if key.startswith("notes.txt")))
    assert later.removed
    assert DeltaAction.REPLACE in {fragment.delta_action for fragment in later.fragments}
    assert not set(later.removed) & ActivationState.decode(later.next_state).known.keys()


def test_a_query_longer_than_the_window_is_cut_and_the_run_says_so(corpus: Corpus) -> None:
    activation, trace = run(corpus, " ".join(WORDS * 10))
    assert (activation.query_token_count, activation.query_tokens_encoded) == (100, 62)
    assert (trace.query_token_count, trace.query_tokens_encoded) == (100, 62)
    assert activation.candidates[0].reranker_truncated


def test_a_run_that_loads_an_index_or_a_model_is_cold(corpus: Corpus) -> None:
    assert run(Loading(corpus.memory, corpus.index), "deploy")[1].cold
    assert run(corpus, "deploy", pipeline=a_pipeline(loads=True))[1].cold
    assert not run(corpus, "deploy", NO_RERANK, a_pipeline(loads=True))[1].cold


def test_a_term_of_half_the_units_is_found_though_its_score_is_zero(tmp_path: Path) -> None:
    halves = indexed(tmp_path, {"a.txt": "alpha xray", "b.txt": "beta yankee"}, WordEncoder())
    (candidate,) = run(halves, "alpha", a_profile(dense={"limit": 0}))[0].candidates
    assert candidate.unit.resource.path == "a.txt"
    assert (candidate.bm25_rank, candidate.bm25_score) == (1, 0.0)


def test_a_match_with_a_negative_score_is_found(tmp_path: Path) -> None:
    single = indexed(tmp_path, {"a.txt": "deploy steps"}, WordEncoder())
    (candidate,) = run(single, "deploy", a_profile(dense={"limit": 0}))[0].candidates
    assert candidate.bm25_rank == 1
    assert candidate.bm25_score is not None
    assert candidate.bm25_score < 0


def test_a_query_that_matches_nothing_has_no_bm25_rank_or_score_anywhere(corpus: Corpus) -> None:
    candidates = run(corpus, "zzyzx")[0].candidates
    assert candidates
    assert {(candidate.bm25_rank, candidate.bm25_score, candidate.lexical_rank) for candidate in candidates} == {
        (None, None, None)
    }


@pytest.mark.parametrize("pages", [{}, {"a.md": " \n", "b.txt": "\ufeff", "c.md": "\n\n"}], ids=["none", "blank"])
def test_a_memory_without_units_gives_a_run_that_ends_well_with_nothing(tmp_path: Path, pages: dict[str, str]) -> None:
    activation, trace = run(indexed(tmp_path, pages, WordEncoder()), "deploy")
    assert (trace.state, activation.candidates, activation.removed) == (RunState.SUCCEEDED, (), ())
    assert trace.revisions is not None
    assert trace.revisions.resource_count == len(pages)


def test_the_same_query_gives_the_same_candidates_and_state_on_every_thread(corpus: Corpus) -> None:
    pipeline, queries = a_pipeline(), [f"{a} {b}" for a in WORDS[:4] for b in WORDS[4:8]]
    expected = {query: run(corpus, query)[0] for query in queries}
    wrong: list[str] = []

    def work() -> None:
        for query in queries:
            activation = run(corpus, query, pipeline=pipeline)[0]
            same = activation.candidates == expected[query].candidates
            if not same or activation.next_state != expected[query].next_state:
                wrong.append(query)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_frozen_memory_is_ranked_by_the_same_stages(corpus: Corpus) -> None:
    trace = a_pipeline().rank("deploy rollback", a_profile(), corpus.memory, corpus.index)
    assert trace.candidates == run(corpus, "deploy rollback")[0].candidates
    assert (trace.run_id, trace.state) == ("", RunState.SUCCEEDED)
