"""What the ranker's inside asks of its outside."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from ranker_service.domain.encoding import QueryEncoding, UnitEncoding
from ranker_service.domain.ranking import ModelScore, RerankItem
from ranker_service.domain.resource import EffectiveMemory
from ranker_service.domain.trace import RunTrace


class TokenCounter(Protocol):
    """The encoder's tokenizer, as the chunker sees it. Safe to call from any thread."""

    @property
    def window(self) -> int:
        """Tokens that the encoder takes at once, special tokens included."""

    @property
    def special_token_count(self) -> int:
        """Special tokens that the encoder adds to every text."""

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return the character span of each token of `text`, without special tokens and without truncation."""


class Encoder(TokenCounter, Protocol):
    """Turns texts into vectors. One text gives one vector, bit for bit, whatever else is encoded beside it."""

    @property
    def revision(self) -> str:
        """Source, revision, dtype and pooling."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    def encode_query(self, text: str) -> QueryEncoding:
        """Encode on the calling thread; a text longer than the window is cut, and the encoding says so."""

    def encode_units(self, texts: Sequence[str], keep_token_vectors: bool) -> Iterator[tuple[int, UnitEncoding]]:
        """Encode on all cores; yield (position in `texts`, encoding) in any order."""


class Reranker(Protocol):
    """Reads a query and units together. The scores of one call depend on nothing but its arguments."""

    @property
    def revision(self) -> str:
        """What it is, with its own revision and settings."""

    @property
    def needs_token_vectors(self) -> bool:
        """Whether `score` reads `RerankItem.token_vectors`."""

    def score(self, query: str, encoding: QueryEncoding, items: Sequence[RerankItem]) -> list[ModelScore]:
        """Return one score an item, in order; higher is better, float64, before any calibration."""


class Clock(Protocol):
    """Time. Nothing else in the ranker reads a clock."""

    def now_us(self) -> int:
        """Return UTC microseconds since 1970."""

    def monotonic_us(self) -> int:
        """Return microseconds that never run backwards."""


class TraceSink(Protocol):
    """Where traces go. Neither call waits for history, and neither raises."""

    def started(self, trace: RunTrace) -> None:
        """Tell that a Run began."""

    def finished(self, trace: RunTrace) -> None:
        """Keep a terminal trace; when this returns it survives the end of the process."""


class CorpusKeeper(Protocol):
    """Keeps what undelivered Runs need of a memory until history has it."""

    def register(self, memory: EffectiveMemory, body_path: Callable[[str], Path]) -> None:
        """Announce a memory before any Run is ranked with it; `body_path` finds a body by digest."""

    def retain(self, project_id: str) -> None:
        """Take over the bodies that the project's undelivered Runs need; after this their files may be deleted.

        Raises OSError, and then they may not.
        """

    def release(self, project_id: str) -> None:
        """Take the project as gone: what its undelivered Runs need is retained, the rest is forgotten."""
