"""The rerankers that profiles may ask for, each loaded when it is first used."""

import threading

from ranker_service.domain.errors import StageFailed
from ranker_service.domain.profile import RerankSettings
from ranker_service.domain.trace import Stage
from ranker_service.models.cross_encoder import CrossEncoder
from ranker_service.models.late_interaction import LateInteraction
from ranker_service.models.source import ModelUnavailable, resolve
from ranker_service.ports import Reranker


class Rerankers:
    """Gives each profile its reranker; safe to call from any thread.

    `cross_encoder` names the model of profiles whose method is cross_encoder (see source.resolve); None: there is none.
    """

    def __init__(self, cross_encoder: str | None, dtype: str, *, allow_download: bool) -> None:
        self._specification = cross_encoder
        self._dtype = dtype
        self._allow_download = allow_download
        self._lock = threading.Lock()
        self._cross_encoder: CrossEncoder | None = None

    def __call__(self, settings: RerankSettings) -> tuple[Reranker, bool]:
        """Return the reranker and whether this call loaded it; raise StageFailed where it cannot be had."""
        if settings.method == "late_interaction":
            return LateInteraction(settings.power), False
        with self._lock:
            loaded_before = self._cross_encoder is not None
            if self._cross_encoder is None:
                self._cross_encoder = self._load()
            return self._cross_encoder, not loaded_before

    def _load(self) -> CrossEncoder:
        if self._specification is None:
            summary = "the profile asks for a cross-encoder: start the ranker with --cross-encoder"
            raise StageFailed(Stage.RERANK, "cross_encoder_not_configured", summary)
        try:
            folder = resolve(self._specification, allow_download=self._allow_download)
            return CrossEncoder.load(folder, self._dtype)
        except ModelUnavailable as error:
            raise StageFailed(Stage.RERANK, "cross_encoder_unavailable", str(error)) from error
