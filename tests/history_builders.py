"""Messages for tests: a test spells out only what it is about."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from ranktrail.history.v1 import history_service_pb2 as history
from ranktrail.trace.v1 import trace_pb2 as trace

ABSENT_STATE = hashlib.sha256(b"absent").hexdigest()
CREATE_TIME = 1_767_268_800
"""2026-01-01 12:00:00 UTC."""


def digest(text: str | bytes) -> str:
    """Return the SHA-256 of text or bytes as hex."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def a_candidate(rank: int = 1, **changes: Any) -> trace.Candidate:
    """A candidate that every stage saw and that was reranked, at this final rank; selected up to rank 2."""
    values: dict[str, Any] = {
        "unit_key": f"doc-{rank:04d}#body/1/0",
        "resource_id": f"doc-{rank:04d}",
        "layer": trace.LAYER_PROJECT,
        "kind": "document",
        "path": f"docs/doc-{rank:04d}.md",
        "title": f"Document {rank}",
        "heading_path": ["Document", "Body"],
        "start_byte": 10,
        "end_byte": 1_200,
        "unit_digest": digest(f"unit {rank}"),
        "resource_digest": digest(f"resource {rank}"),
        "token_count": 200,
        "excerpt": "How the service is deployed. " * 40,
        "bm25_rank": rank,
        "bm25_score": 12.5 / rank,
        "lexical_rank": rank,
        "dense_rank": rank,
        "dense_score": 0.9 / rank,
        "rrf_rank": rank,
        "rrf_score": 2 / (60 + rank),
        "reranker_rank": rank,
        "reranker_score": 1.5 / rank,
        "late_interaction_score": 0.8 / rank,
        "reranker_truncated": False,
        "relevance": 1 / (1 + rank),
        "final_rank": rank,
        "final_stage": "rerank",
        "selected": rank <= 2,
        "exclusion_reason": trace.EXCLUSION_REASON_UNSPECIFIED if rank <= 2 else trace.EXCLUSION_REASON_TOKEN_BUDGET,
        "delta_action": trace.DELTA_ACTION_ADD if rank <= 2 else trace.DELTA_ACTION_UNSPECIFIED,
    }
    return trace.Candidate(**{name: value for name, value in (values | changes).items() if value is not None})


def revisions(**changes: Any) -> trace.Revisions:
    """Revisions of an index over an empty memory of project "demo"."""
    values: dict[str, Any] = {
        "effective_memory_hash": memory_hash("demo", []),
        "index_revision": digest("index"),
        "parser_revision": "parsers.v1",
        "chunker_revision": "sections.v1 window=256",
        "lexical_revision": "tokens.v1",
        "model_revision": "model.v1",
        "vector_index_revision": "exact.v1",
        "reranker_revision": "late_interaction.v1",
        "ranking_profile": trace.RankingProfile(name="activation.v1", digest=digest("profile")),
        "resource_count": 0,
        "unit_count": 0,
    }
    return trace.Revisions(**(values | changes))


def a_start(run_id: str = "run-1", **changes: Any) -> history.RecordRetrievalRunsRequest:
    """The first frame of a Run."""
    values: dict[str, Any] = {
        "project_id": "demo",
        "query": "how do we deploy?",
        "purpose": "activation",
        "activation_state_fingerprint": ABSENT_STATE,
        "ranker_instance_id": "ranker-1",
        "create_time": Timestamp(seconds=CREATE_TIME),
    }
    return history.RecordRetrievalRunsRequest(run_id=run_id, started=history.RunStarted(**(values | changes)))


def a_run(
    run_id: str = "run-1",
    candidates: int | Sequence[trace.Candidate] = 3,
    failure: trace.Failure | None = None,
    revised: trace.Revisions | None = None,
    finished: Mapping[str, Any] | None = None,
    frame_size: int = 256,
    **started: Any,
) -> list[history.RecordRetrievalRunsRequest]:
    """All frames of a succeeded Run, or of a failed one when a failure is given.

    `started` and `finished` change fields of those frames.
    """
    rows = [a_candidate(rank) for rank in range(1, candidates + 1)] if isinstance(candidates, int) else candidates
    frames = [history.CandidateFrame(candidates=rows[at : at + frame_size]) for at in range(0, len(rows), frame_size)]
    selected = [row for row in rows if row.selected]
    end: dict[str, Any] = {
        "state": history.RetrievalRun.STATE_FAILED if failure else history.RetrievalRun.STATE_SUCCEEDED,
        "complete_time": Timestamp(seconds=CREATE_TIME + 1),
        "stage_latencies": [trace.StageLatency(stage="bm25", duration_us=900)],
        "failure": failure,
        "query_token_count": 5,
        "query_tokens_encoded": 5,
        "returned_fragment_count": None if failure else len(selected),
        "returned_token_count": None if failure else sum(row.token_count for row in selected),
        "candidate_count": len(rows),
        "candidates_digest": hashlib.sha256(
            b"".join(frame.SerializeToString(deterministic=True) for frame in frames)
        ).hexdigest(),
    }
    request = history.RecordRetrievalRunsRequest
    return [
        a_start(run_id, **started),
        request(run_id=run_id, revisions=revised or revisions()),
        *(request(run_id=run_id, candidates=frame) for frame in frames),
        request(run_id=run_id, finished=history.RunFinished(**(end | dict(finished or {})))),
    ]


def a_failure(**changes: Any) -> trace.Failure:
    """A failure of the reranker."""
    values = {
        "stage": "rerank",
        "code": "non_finite_score",
        "summary": "the reranker returned a score that is no number",
    }
    return trace.Failure(**(values | changes))


def a_resource(resource_id: str, body: bytes, **changes: Any) -> trace.Resource:
    """A document of the project layer with this body."""
    values: dict[str, Any] = {
        "resource_id": resource_id,
        "layer": trace.LAYER_PROJECT,
        "kind": "document",
        "path": f"{resource_id}.md",
        "title": resource_id.title(),
        "media_type": "text/markdown",
        "digest": digest(body),
        "size_bytes": len(body),
        "parse_state": trace.PARSE_STATE_PARSED,
    }
    return trace.Resource(**(values | changes))


def memory_hash(project_id: str, resources: Sequence[trace.Resource]) -> str:
    """Return the Effective Memory hash as the contract defines it, written down a second time."""
    layers = {trace.LAYER_ORGANIZATION: "organization", trace.LAYER_PROJECT: "project", trace.LAYER_DRAFT: "draft"}
    rows = [[r.resource_id, layers[r.layer], r.kind, r.path, r.title, r.media_type, r.digest] for r in resources]
    return digest(json.dumps([project_id, rows], separators=(",", ":"), ensure_ascii=False))


@dataclass(frozen=True)
class Corpus:
    """A corpus as a sender has it."""

    project_id: str
    resources: list[trace.Resource]
    bodies: dict[str, bytes]

    @property
    def hash(self) -> str:
        """Its Effective Memory hash."""
        return memory_hash(self.project_id, self.resources)

    def manifest_frames(self, **changes: Any) -> Iterator[history.PutCorpusRequest]:
        """The frames up to the last of the manifest; `changes` are fields of the start."""
        start = {
            "effective_memory_hash": self.hash,
            "project_id": self.project_id,
            "resource_count": len(self.resources),
        }
        yield history.PutCorpusRequest(start=history.CorpusStart(**(start | changes)))
        for at in range(0, len(self.resources), 256):
            frame = history.ManifestFrame(resources=self.resources[at : at + 256])
            yield history.PutCorpusRequest(manifest=frame)

    def blob_frames(self, digests: Sequence[str], piece: int = 1_048_576) -> Iterator[history.PutCorpusRequest]:
        """The frames of the bodies asked for, one part a frame."""
        for wanted in digests:
            body = self.bodies[wanted]
            for at in range(0, max(len(body), 1), piece):
                part = history.BlobPart(digest=wanted, offset=at, content=body[at : at + piece])
                yield history.PutCorpusRequest(blobs=history.BlobFrame(parts=[part]))


def a_corpus(bodies: Mapping[str, bytes], project_id: str = "demo") -> Corpus:
    """A corpus of documents by resource id."""
    resources = [a_resource(name, bodies[name]) for name in sorted(bodies)]
    return Corpus(project_id, resources, {digest(body): body for body in bodies.values()})
