"""What a running ranker retrieves: the fragments of ActivateMemory."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

from ranktrail.ranker.v1 import ranker_service_pb2 as pb
from ranktrail_client.errors import FieldInvalid, NoAnswer, Overloaded, RankingFailed
from ranktrail_client.ranker import RankerCalls
from ranktrail_evals.contexts import Retrieval, RetrievalFailed
from ranktrail_evals.dataset.model import Record
from ranktrail_evals.passages import Context


class MemoryRetriever:
    """Activates a project's memory, each question as a caller who knows no unit. Use it in a `with` block."""

    def __init__(
        self, ranker: RankerCalls, project_id: str, profile: str, *, concurrency: int, case_timeout: float
    ) -> None:
        self._ranker = ranker
        self._project_id = project_id
        self._profile = profile
        # A cancelled call leaves its thread behind; its own deadline ends that.
        self._case_timeout = case_timeout
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="activation")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def retrieve(self, record: Record) -> Retrieval:
        """Return the fragments as contexts, in their order.

        Raises RetrievalFailed where this question cannot be ranked, TimeoutError where it took too long, and any other
        RanktrailError, such as of an unknown project, as it is.
        """
        request = pb.ActivateMemoryRequest(project_id=self._project_id, query=record.question, profile=self._profile)
        loop = asyncio.get_running_loop()
        try:
            reply = await loop.run_in_executor(self._threads, self._ranker.activate_memory, request, self._case_timeout)
        except NoAnswer as error:
            raise TimeoutError from error
        except (RankingFailed, Overloaded) as error:
            raise RetrievalFailed(str(error), error.run_id) from error
        except FieldInvalid as error:
            if error.metadata.get("field") != "query":
                raise
            raise RetrievalFailed(str(error), error.run_id) from error
        return retrieval_of(reply)


def retrieval_of(reply: pb.ActivateMemoryResponse) -> Retrieval:
    """Return a reply's fragments: ids are unit keys, then resource ids, unit digests and resource digests."""
    fragments = reply.fragments
    return Retrieval(
        contexts=tuple(
            Context(one.content, one.unit_key, one.resource_id, one.start_byte, one.end_byte) for one in fragments
        ),
        ids=tuple(one.unit_key for one in fragments),
        run_id=reply.run_id,
        other_ids=(
            tuple(one.resource_id for one in fragments),
            tuple(one.unit_digest for one in fragments),
            tuple(one.resource_digest for one in fragments),
        ),
    )
