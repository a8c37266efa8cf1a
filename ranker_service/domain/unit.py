"""Units: the pieces of resources that are ranked."""

from typing import NamedTuple

from ranker_service.domain.resource import Resource


class Unit(NamedTuple):
    """A piece of a resource.

    `text` is exactly the bytes `start_byte:end_byte` of the body. `prefix` is the context (title and headings) that
    the encoder and the lexical index see before it. `token_count` counts the encoder's tokens of `text` alone.
    """

    unit_key: str
    resource: Resource
    heading_path: tuple[str, ...]
    start_byte: int
    end_byte: int
    digest: str
    token_count: int
    prefix: str
    text: str

    @property
    def encoder_input(self) -> str:
        """What the encoder and the lexical index see."""
        return self.prefix + self.text
