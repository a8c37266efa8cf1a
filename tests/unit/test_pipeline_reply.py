"""Reply and trace are one object: whatever is asked, they agree field by field."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ranker_service.domain.activation import ActivationState
from ranker_service.domain.digest import digest_of
from ranker_service.domain.profile import Profile
from ranker_service.domain.request import ActivationRequest
from ranker_service.domain.resource import Layer
from ranker_service.domain.trace import RunTrace
from ranker_service.pipeline import Pipeline
from ranker_service.rpc.convert import activation_response
from ranker_service.wire import convert
from ranktrail.trace.v1 import trace_pb2
from tests.builders import a_profile
from tests.corpora import PROJECT, Corpus, indexed
from tests.fakes.clock import ManualClock
from tests.fakes.encoder import WordEncoder
from tests.fakes.reranker import WordReranker

WORDS = ["deploy", "rollback", "invoice", "harbour", "lantern"]
PAGES = {f"{a}/{b}.md": f"# {a}\n\n{a} {b} one.\n\n## {b}\n\n{b} {a} two.\n" for a in WORDS for b in WORDS}
LAYERS = dict(zip(PAGES, list(Layer) * 9, strict=False))
SHARED = {
    "unit_key",
    "resource_id",
    "path",
    "heading_path",
    "start_byte",
    "end_byte",
    "unit_digest",
    "resource_digest",
    "token_count",
}

_QUERIES = st.lists(st.sampled_from([*WORDS, "unknown", "deploy/rollback.md"]), min_size=1, max_size=8).map(" ".join)
_PROFILES = st.builds(
    lambda method, depth, dense, lexical, floor, per_resource: a_profile(
        rerank={"method": method, "depth": depth},
        dense={"limit": dense},
        lexical={"limit": lexical},
        selection={"relevance_floor": floor, "per_resource_limit": per_resource},
    ),
    st.sampled_from(["late_interaction", "cross_encoder", "none"]),
    st.integers(0, 30),
    st.integers(0, 20),
    st.integers(0, 20),
    st.floats(0, 0.5),
    st.integers(1, 3),
)
_NARROWINGS = st.fixed_dictionaries(
    {},
    optional={
        "max_fragments": st.integers(1, 15),
        "token_budget": st.integers(1, 300),
        "layers": st.lists(st.sampled_from(Layer), max_size=2).map(tuple),
        "path_prefix": st.sampled_from(["", "deploy/", "nowhere"]),
    },
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    small_units = a_profile(index={"unit_tokens": 20, "overlap_tokens": 2}).index
    return indexed(tmp_path_factory.mktemp("index"), PAGES, WordEncoder(), small_units, LAYERS)


def _states(corpus: Corpus) -> st.SearchStrategy[bytes | None]:
    units = [corpus.index.unit(row) for row in range(corpus.index.unit_count)]
    digests = {unit.unit_key: unit.digest for unit in units} | {"gone#1": digest_of(b"gone")}
    known = st.dictionaries(st.sampled_from(sorted(digests)), st.booleans(), max_size=12)
    return st.none() | known.map(
        lambda some: ActivationState(
            1, {key: digests[key] if same else digest_of(b"older") for key, same in some.items()}
        ).encode()
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=_QUERIES, profile=_PROFILES, narrowing=_NARROWINGS, data=st.data())
def test_reply_and_trace_agree_field_by_field(
    corpus: Corpus, query: str, profile: Profile, narrowing: dict[str, Any], data: st.DataObject
) -> None:
    state = data.draw(_states(corpus))
    request = ActivationRequest(PROJECT, query, profile, activation_state=state, **narrowing)
    trace = RunTrace("run", PROJECT, query, "activation", "", "instance", create_time_us=0)
    pipeline = Pipeline(
        ManualClock(1),
        WordEncoder(),
        lambda rerank: (WordReranker(needs_token_vectors=rerank.method == "late_interaction"), False),
    )
    activation = pipeline.run(request, trace, corpus)
    reply = activation_response(activation)
    recorded = [convert.candidate_to_proto(candidate) for candidate in trace.candidates]
    selected = [candidate for candidate in recorded if candidate.selected]

    assert reply.run_id == trace.run_id
    assert trace.revisions is not None
    assert reply.revisions == convert.revisions_to_proto(trace.revisions)
    assert (reply.query_token_count, reply.query_tokens_encoded) == (
        trace.query_token_count,
        trace.query_tokens_encoded,
    )
    assert len(reply.fragments) == len(selected) == trace.returned_fragment_count
    assert sum(fragment.token_count for fragment in reply.fragments) == trace.returned_token_count
    for fragment, candidate in zip(reply.fragments, selected, strict=True):
        assert {name: getattr(fragment, name) for name in SHARED} == {name: getattr(candidate, name) for name in SHARED}
        assert fragment.action == candidate.delta_action != trace_pb2.DELTA_ACTION_UNSPECIFIED
        assert fragment.HasField("relevance") == candidate.HasField("relevance")
        assert fragment.relevance == candidate.relevance
        assert fragment.HasField("content") == (fragment.action != trace_pb2.DELTA_ACTION_REUSE)
        if fragment.HasField("content"):
            assert digest_of(fragment.content.encode()) == candidate.unit_digest
    known = set(ActivationState.decode(state).known) if state else set()
    assert list(reply.removed) == sorted(known & {"gone#1"})
    following = ActivationState.decode(reply.next_activation_state).known
    assert {fragment.unit_key: fragment.unit_digest for fragment in reply.fragments}.items() <= following.items()
    assert following.keys() == (known - {"gone#1"}) | {fragment.unit_key for fragment in reply.fragments}
