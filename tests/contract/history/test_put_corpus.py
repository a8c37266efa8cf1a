"""PutCorpus: a stored corpus is whole on disk, and what is wrong is named."""

import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import grpc
import pytest

from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail.trace.v1 import trace_pb2 as trace
from tests.fakes.history_server import TIMEOUT, RunningHistory, error_of, eventually
from tests.history_builders import Corpus, a_corpus, a_resource, a_run, digest, memory_hash, revisions

BODIES = {"guide": b"# Guide\r\n", "empty": b"", "latin": b"\xff\xfe\x00", "twin": b"# Guide\r\n"}


def _put_frames(history: RunningHistory, frames: Iterator[pb.PutCorpusRequest]) -> list[pb.PutCorpusResponse]:
    return list(history.history.PutCorpus(frames, timeout=TIMEOUT))


def _refusal(history: RunningHistory, *frames: pb.PutCorpusRequest) -> tuple[grpc.StatusCode, str, dict[str, str]]:
    with pytest.raises(grpc.RpcError) as error:
        _put_frames(history, iter(frames))
    return error_of(error.value)


def _body(history: RunningHistory, run_id: str, resource_id: str) -> bytes:
    request = pb.ReadRunResourceRequest(run_id=run_id, resource_id=resource_id)
    return b"".join(part.content for part in history.history.ReadRunResource(request, timeout=TIMEOUT))


def test_only_missing_bodies_are_asked_for_each_once_and_in_order(history: RunningHistory) -> None:
    asked, stored = history.put(a_corpus(BODIES))
    assert asked == sorted({digest(b"# Guide\r\n"), digest(b"\xff\xfe\x00")})
    assert stored.effective_memory_hash == a_corpus(BODIES).hash
    assert stored.written_blob_count == 3
    more = a_corpus({**BODIES, "new": b"new"})
    assert history.put(more)[0] == [digest(b"new")]
    assert history.put(more) == ([], pb.CorpusStored(effective_memory_hash=more.hash))
    runtime = history.runtime()
    assert (runtime.blob_count, runtime.blob_bytes) == (4, sum(len(b) for b in {*BODIES.values(), b"new"}))


def test_every_body_comes_back_byte_for_byte(history: RunningHistory) -> None:
    corpus = a_corpus(BODIES)
    history.put(corpus)
    history.record(a_run(revised=revisions(effective_memory_hash=corpus.hash)))
    assert {name: _body(history, "run-1", name) for name in BODIES} == BODIES


def test_a_body_larger_than_a_message_travels_in_frames(history: RunningHistory) -> None:
    big = bytes(range(256)) * 40_000
    corpus = a_corpus({"big": big})
    history.put(corpus)
    history.record(a_run(revised=revisions(effective_memory_hash=corpus.hash)))
    request = pb.ReadRunResourceRequest(run_id="run-1", resource_id="big")
    parts = list(history.history.ReadRunResource(request, timeout=TIMEOUT))
    assert b"".join(part.content for part in parts) == big
    assert max(len(part.content) for part in parts) == 1_048_576
    assert [part.HasField("resource") for part in parts] == [True] + [False] * (len(parts) - 1)


def test_many_corpora_follow_each_other_on_one_stream(history: RunningHistory) -> None:
    corpora = [a_corpus({"a": b"one"}), a_corpus({}), a_corpus({"a": b"two", "b": b"one"})]
    frames: SimpleQueue[pb.PutCorpusRequest | None] = SimpleQueue()
    stored = []
    call = history.history.PutCorpus(iter(frames.get, None), timeout=TIMEOUT)
    for corpus in corpora:
        for frame in corpus.manifest_frames():
            frames.put(frame)
        for frame in corpus.blob_frames(next(call).missing.digests):
            frames.put(frame)
        stored.append(next(call).stored.effective_memory_hash)
    frames.put(None)
    assert list(call) == []
    assert stored == [corpus.hash for corpus in corpora]


def test_a_large_manifest_is_framed_and_its_missing_bodies_too(history: RunningHistory) -> None:
    corpus = a_corpus({f"doc-{n:05}": f"body {n}".encode() for n in range(1_000)})
    asked, stored = history.put(corpus)
    assert len(asked) == stored.written_blob_count == 1_000


@pytest.mark.slow
def test_more_missing_bodies_than_one_message_names_are_asked_for_in_several(history: RunningHistory) -> None:
    corpus = a_corpus({f"doc-{n:05}": f"body {n}".encode() for n in range(10_001)})
    frames: SimpleQueue[pb.PutCorpusRequest | None] = SimpleQueue()
    for frame in corpus.manifest_frames():
        frames.put(frame)
    call = history.history.PutCorpus(iter(frames.get, None), timeout=TIMEOUT)
    answers = [next(call).missing, next(call).missing]
    assert [(len(answer.digests), answer.more) for answer in answers] == [(10_000, True), (1, False)]
    call.cancel()


def test_a_manifest_of_another_hash_is_refused(history: RunningHistory) -> None:
    frames = a_corpus(BODIES).manifest_frames(effective_memory_hash="0" * 64)
    assert _refusal(history, *frames)[2] == {"field": "start.effective_memory_hash"}
    frames = a_corpus(BODIES).manifest_frames(project_id="other")
    assert _refusal(history, *frames)[2] == {"field": "start.effective_memory_hash"}


@pytest.mark.parametrize(
    ("start", "field"),
    [
        ({"effective_memory_hash": "../x"}, "start.effective_memory_hash"),
        ({"project_id": ""}, "start.project_id"),
        ({"resource_count": -1}, "start.resource_count"),
        ({"resource_count": 200_001}, "start.resource_count"),
        ({"resource_count": 1}, "manifest.resources"),
    ],
)
def test_a_wrong_start_is_refused(history: RunningHistory, start: dict[str, Any], field: str) -> None:
    code, reason, metadata = _refusal(history, *a_corpus(BODIES).manifest_frames(**start))
    assert (code, reason, metadata["field"]) == (grpc.StatusCode.INVALID_ARGUMENT, "FIELD_INVALID", field)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"kind": ""}, "kind"),
        ({"path": ""}, "path"),
        ({"media_type": ""}, "media_type"),
        ({"digest": "../../x"}, "digest"),
        ({"digest": "/etc/passwd"}, "digest"),
        ({"digest": "a" * 64 + "\n"}, "digest"),
        ({"digest": "A" * 64}, "digest"),
        ({"digest": "٠" * 64}, "digest"),
        ({"size_bytes": -1}, "size_bytes"),
        ({"size_bytes": 33_554_433}, "size_bytes"),
        ({"parse_state": 99}, "parse_state"),
    ],
)
def test_a_wrong_resource_is_refused_and_named(history: RunningHistory, changes: dict[str, Any], field: str) -> None:
    resource = a_resource("guide", b"# Guide", **changes)
    corpus = Corpus("demo", [resource], {})
    assert _refusal(history, *corpus.manifest_frames())[2]["field"] == f"manifest.resources[0].{field}"


def test_a_resource_needs_an_id_and_a_layer(history: RunningHistory) -> None:
    start = next(Corpus("demo", [a_resource("guide", b"# Guide")], {}).manifest_frames())
    for resource, field in [(a_resource("", b""), "resource_id"), (a_resource("guide", b"", layer=0), "layer")]:
        frame = pb.PutCorpusRequest(manifest=pb.ManifestFrame(resources=[resource]))
        assert _refusal(history, start, frame)[2]["field"] == f"manifest.resources[0].{field}"


def test_resources_out_of_order_or_twice_are_refused(history: RunningHistory) -> None:
    one, two = a_resource("a", b"1"), a_resource("b", b"2")
    for resources in ([two, one], [one, one]):
        frames = Corpus("demo", resources, {}).manifest_frames()
        assert _refusal(history, *frames)[2]["field"] == "manifest.resources.resource_id"


def test_the_order_is_by_code_point_and_layers_and_titles_count_in_the_hash(history: RunningHistory) -> None:
    resources = [
        a_resource("Z", b"1", layer=trace.LAYER_ORGANIZATION),
        a_resource("a", b"1", title='"quoted" \\ \u2028 \x7f é 票'),
        a_resource("é", b"1", layer=trace.LAYER_DRAFT),
        a_resource("\uffff", b"1"),
        a_resource("😀", b"1"),
    ]
    corpus = Corpus("project ü", resources, {digest(b"1"): b"1"})
    assert history.put(corpus)[1].effective_memory_hash == memory_hash("project ü", resources)
    history.record(a_run(project_id="project ü", revised=revisions(effective_memory_hash=corpus.hash)))
    listed = history.history.ListRunResources(pb.ListRunResourcesRequest(run_id="run-1"), timeout=TIMEOUT)
    assert list(listed.resources) == resources


def test_bytes_that_are_not_the_digest_are_refused_and_nothing_is_kept(history: RunningHistory) -> None:
    corpus = a_corpus({"guide": b"# Guide"})
    part = pb.BlobPart(digest=digest(b"# Guide"), content=b"# Guode")
    frames = [*corpus.manifest_frames(), pb.PutCorpusRequest(blobs=pb.BlobFrame(parts=[part]))]
    code, reason, metadata = _refusal(history, *frames)
    assert (code, reason) == (grpc.StatusCode.INVALID_ARGUMENT, "BLOB_DIGEST_MISMATCH")
    assert metadata == {"digest": digest(b"# Guide")}
    part.content = b"# Guide and more"
    frames[-1] = pb.PutCorpusRequest(blobs=pb.BlobFrame(parts=[part]))
    assert _refusal(history, *frames)[1] == "BLOB_DIGEST_MISMATCH"
    blobs = history.data_dir / "history" / "evaluation-corpora" / "blobs"
    assert eventually(lambda: not [path for path in blobs.rglob("*") if path.is_file()])
    assert history.runtime().blob_count == 0


@pytest.mark.parametrize(
    ("part", "field"),
    [
        (pb.BlobPart(digest="0" * 64, content=b"x"), "blobs.parts.digest"),
        (pb.BlobPart(digest=digest(b"# Guide"), offset=3, content=b"x"), "blobs.parts.offset"),
        (pb.BlobPart(digest=digest(b"# Guide"), content=bytes(1_048_577)), "blobs.parts"),
    ],
)
def test_a_part_out_of_turn_is_refused(history: RunningHistory, part: pb.BlobPart, field: str) -> None:
    frames = [*a_corpus({"guide": b"# Guide"}).manifest_frames(), pb.PutCorpusRequest(blobs=pb.BlobFrame(parts=[part]))]
    assert _refusal(history, *frames)[2]["field"] == field


def test_frames_out_of_turn_and_a_stream_that_ends_inside_a_corpus_are_refused(history: RunningHistory) -> None:
    frames = list(a_corpus({"guide": b"# Guide"}).manifest_frames())
    assert _refusal(history, frames[1])[2]["field"] == "frame"
    assert _refusal(history, frames[0], frames[0])[2]["field"] == "frame"
    assert _refusal(history, frames[0])[2]["field"] == "manifest"
    assert _refusal(history, *frames)[2]["field"] == "blobs"
    assert _refusal(history, pb.PutCorpusRequest())[2]["field"] == "frame"


def test_one_digest_with_two_sizes_is_refused(history: RunningHistory) -> None:
    resources = [a_resource("a", b"1"), a_resource("b", b"1", size_bytes=2)]
    frames = Corpus("demo", resources, {}).manifest_frames()
    assert _refusal(history, *frames)[2]["field"] == "manifest.resources.size_bytes"


def test_a_torn_file_from_a_crash_is_asked_for_again_and_repaired(history: RunningHistory) -> None:
    corpus = a_corpus({"guide": b"# Guide"})
    history.put(corpus)
    history.record(a_run(revised=revisions(effective_memory_hash=corpus.hash)))
    wanted = digest(b"# Guide")
    path = history.data_dir / "history" / "evaluation-corpora" / "blobs" / wanted[:2] / wanted
    for content in (b"", b"# Guid", b"# Guidf"):
        path.write_bytes(content)
        with pytest.raises(grpc.RpcError) as error:
            _body(history, "run-1", "guide")
        assert error_of(error.value) == (grpc.StatusCode.DATA_LOSS, "BLOB_CORRUPT", {"digest": wanted})
        assert history.put(corpus)[0] == [wanted]
        assert _body(history, "run-1", "guide") == b"# Guide"


def test_an_upload_that_breaks_off_is_taken_up_where_whole_bodies_end(history: RunningHistory) -> None:
    corpus = a_corpus({f"doc-{n:04}": f"body {n}".encode() for n in range(600)})
    frames: SimpleQueue[pb.PutCorpusRequest | None] = SimpleQueue()
    for frame in corpus.manifest_frames():
        frames.put(frame)
    call = history.history.PutCorpus(iter(frames.get, None), timeout=TIMEOUT)
    asked = next(call).missing.digests
    for frame in corpus.blob_frames(asked[:-1]):
        frames.put(frame)
    frames.put(None)
    with pytest.raises(grpc.RpcError):
        list(call)
    assert history.runtime().blob_count == 0
    again, stored = history.put(corpus)
    assert 0 < len(again) < 600
    assert stored.written_blob_count == len(again)
    assert history.runtime().blob_count == 600


def test_the_same_corpus_from_several_senders_at_once_is_stored_once(history: RunningHistory) -> None:
    corpus = a_corpus({f"doc-{n:04}": f"body {n}".encode() for n in range(50)})
    stored: list[str] = []
    threads = [
        threading.Thread(target=lambda: stored.append(history.put(corpus)[1].effective_memory_hash)) for _ in "1234"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stored == [corpus.hash] * 4
    assert history.runtime().blob_count == 50
