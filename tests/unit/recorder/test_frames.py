"""Frames: what is put together by hand is what protobuf says."""

import hashlib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ranker_service.domain.candidate import Candidate, DeltaAction, ExclusionReason
from ranker_service.domain.limits import CANDIDATES_PER_FRAME, FRAME_BYTES
from ranker_service.domain.resource import EffectiveMemory
from ranker_service.domain.trace import RunTrace
from ranker_service.recorder.candidate_bytes import MOST_UNITS, CandidateEncoder
from ranker_service.recorder.frames import candidate_frames, corpus_frames, run_frames, started_frame, with_digest
from ranker_service.wire.convert import candidate_to_proto
from ranktrail.history.v1 import history_service_pb2 as pb
from tests.builders import a_candidate, a_resource, a_unit
from tests.traces import a_failed_trace, a_memory, a_trace, some_candidates

FOUR_MIB = 4 * 1024 * 1024
ranks = st.none() | st.integers(1, 500)
scores = st.none() | st.floats(allow_nan=False, allow_infinity=False)


def sent(trace: RunTrace) -> list[bytes]:
    """Return a Run's frames as history gets them."""
    joined = [b"".join(pieces) for pieces in run_frames(trace, map(CandidateEncoder().encode, trace.candidates))]
    return with_digest(trace.run_id, joined)


def encoded(encoder: CandidateEncoder, candidate: Candidate) -> bytes:
    return b"".join(encoder.encode(candidate))


def parsed(frames: list[bytes]) -> list[pb.RecordRetrievalRunsRequest]:
    return [pb.RecordRetrievalRunsRequest.FromString(frame) for frame in frames]


@given(
    st.builds(
        a_candidate,
        st.builds(a_unit, st.sampled_from(["a", "東京.md"]), heading_path=st.tuples(st.text(max_size=9))),
        exact_rank=ranks,
        bm25_rank=ranks,
        bm25_score=scores,
        dense_score=scores,
        reranker_truncated=st.none() | st.booleans(),
        relevance=scores,
        final_rank=ranks,
        final_stage=st.none() | st.just("rrf"),
        selected=st.booleans(),
        exclusion_reason=st.none() | st.sampled_from(ExclusionReason),
        delta_action=st.none() | st.sampled_from(DeltaAction),
    )
)
def test_a_candidate_in_two_parts_is_the_message_in_one(candidate: Candidate) -> None:
    encoder = CandidateEncoder()
    whole = candidate_to_proto(candidate).SerializeToString(deterministic=True)
    assert encoded(encoder, candidate) == whole
    assert encoded(encoder, candidate) == whole


def test_every_field_of_a_candidate_travels() -> None:
    values: dict[str, Any] = {
        name: i + 1 for i, name in enumerate(Candidate._fields) if name.endswith(("rank", "priority"))
    }
    values |= {name: i / 8 for i, name in enumerate(Candidate._fields) if name.endswith(("score", "evance"))}
    candidate = a_candidate(
        **values, reranker_truncated=True, final_stage="rrf", selected=True, exclusion_reason=ExclusionReason.OVERLAP
    )
    assert encoded(CandidateEncoder(), candidate) == candidate_to_proto(candidate).SerializeToString()


def test_a_unit_that_changed_under_its_key_is_not_confused_with_the_one_before() -> None:
    encoder = CandidateEncoder()
    before, after = a_candidate(a_unit(text="before")), a_candidate(a_unit(text="after"))
    assert before.unit.unit_key == after.unit.unit_key
    for candidate in (before, after, before):
        assert encoded(encoder, candidate) == candidate_to_proto(candidate).SerializeToString()


def test_the_encoder_remembers_a_bounded_number_of_units() -> None:
    encoder = CandidateEncoder()
    for i in range(MOST_UNITS + 10):
        encoder.encode(a_candidate(a_unit(unit_key=f"u{i}")))
    assert len(encoder._unit_parts) <= MOST_UNITS


def test_a_run_is_started_revisions_candidates_and_finished_with_counts_and_digest() -> None:
    trace = a_trace("run-1", candidates=5)
    frames = parsed(sent(trace))
    assert [frame.WhichOneof("frame") for frame in frames] == ["started", "revisions", "candidates", "finished"]
    assert {frame.run_id for frame in frames} == {"run-1"}
    assert list(frames[2].candidates.candidates) == [candidate_to_proto(c) for c in trace.candidates]
    received = frames[2].candidates.SerializeToString(deterministic=True)
    assert frames[3].finished.candidates_digest == hashlib.sha256(received).hexdigest()
    assert frames[3].finished.candidate_count == 5
    assert frames[0].started.create_time.ToMicroseconds() == trace.create_time_us
    assert frames[3].finished.complete_time.ToMicroseconds() == trace.complete_time_us


def test_a_run_that_failed_before_its_memory_was_known_has_no_revisions_and_no_candidates() -> None:
    frames = parsed(sent(a_failed_trace("run-1")))
    assert [frame.WhichOneof("frame") for frame in frames] == ["started", "finished"]
    assert frames[1].finished.failure.code == "project_not_found"
    assert frames[1].finished.candidates_digest == hashlib.sha256(b"").hexdigest()
    assert not frames[1].finished.HasField("returned_fragment_count")


def test_the_announcement_is_the_first_frame() -> None:
    trace = a_trace("run-1")
    assert sent(trace)[0] == started_frame(trace)


def test_five_hundred_candidates_as_large_as_they_get_stay_well_below_the_message_limit() -> None:
    resource = a_resource("r" * 512, path="p" * 1_024, title="t" * 1_024)
    unit = a_unit(
        "r" * 512, unit_key="k" * 2_048, resource=resource, heading_path=("h" * 512,) * 6, text="\U0001f600" * 4_000
    )
    trace = a_trace("run-1", candidates=0)
    trace.candidates = (a_candidate(unit, final_rank=1),) * 500
    frames = sent(trace)
    assert max(map(len, frames)) < FOUR_MIB // 3
    received = [f.candidates for f in parsed(frames) if f.WhichOneof("frame") == "candidates"]
    assert sum(len(frame.candidates) for frame in received) == 500
    digest = hashlib.sha256(b"".join(frame.SerializeToString(deterministic=True) for frame in received))
    assert parsed(frames)[-1].finished.candidates_digest == digest.hexdigest()


@given(st.lists(st.integers(0, 2 * FRAME_BYTES // 3), max_size=8), st.integers(0, 600))
def test_frames_hold_at_most_256_candidates_and_one_mebibyte_unless_one_alone_is_larger(
    large: list[int], small: int
) -> None:
    candidates = [(bytes(size),) for size in large] + [(b"",)] * small
    frames = list(candidate_frames(candidates))
    for size, pieces in frames:
        assert size == sum(map(len, pieces)) <= FRAME_BYTES
        assert len(pieces) // 2 <= CANDIDATES_PER_FRAME
    contents = [content for _, pieces in frames for content in pieces[1::2]]
    assert contents == [content for (content,) in candidates]


def test_257_candidates_take_two_frames() -> None:
    encoded = map(CandidateEncoder().encode, some_candidates(a_memory(), 257))
    frames = [pb.CandidateFrame.FromString(b"".join(pieces)) for _, pieces in candidate_frames(encoded)]
    assert [len(frame.candidates) for frame in frames] == [256, 1]


def test_a_manifest_travels_in_order_in_frames_of_at_most_256() -> None:
    memory = EffectiveMemory.of("p", [a_resource(f"r{i:04}") for i in range(600)])
    frames = [pb.PutCorpusRequest.FromString(frame) for frame in corpus_frames(memory)]
    assert frames[0].start.effective_memory_hash == memory.hash
    assert frames[0].start.resource_count == 600
    assert [len(frame.manifest.resources) for frame in frames[1:]] == [256, 256, 88]
    ids = [resource.resource_id for frame in frames[1:] for resource in frame.manifest.resources]
    assert ids == [resource.resource_id for resource in memory.resources]
