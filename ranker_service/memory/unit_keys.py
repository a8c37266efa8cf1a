"""Unit keys: `resource_id#slug/of/heading/path/occurrence/part`.

A key depends on the headings above its unit and on how many sections before it have the same ones, so edits elsewhere
in the resource leave it alone. Slugs hold no `#`, so the last one of a key ends the resource id.
"""

from collections import Counter

from ranker_service.domain.digest import digest_of
from ranker_service.domain.limits import UNIT_KEY_BYTES
from ranker_service.memory.headings import cut_bytes, slug

_TAIL_BYTES = 32
"""Room for `#`, two slashes and two numbers."""
_SHORT_DIGEST_DIGITS = 32


class UnitKeys:
    """Makes the keys of one resource's units, in the order of its sections."""

    def __init__(self, resource_id: str) -> None:
        self._resource_id = resource_id
        self._seen: Counter[str] = Counter()
        self._section = ""

    def begin_section(self, heading_path: tuple[str, ...]) -> None:
        """Count a section under `heading_path`; the keys that follow are those of its parts."""
        slug_path = "/".join(slug(heading) for heading in heading_path)
        self._seen[slug_path] += 1
        self._section = f"{self._resource_id}#{self._shortened(slug_path)}/{self._seen[slug_path]}"

    def part(self, number: int) -> str:
        """Return the key of the section's `number`-th piece, counted from 1; at most 2,048 bytes."""
        return f"{self._section}/{number}"

    def whole(self) -> str:
        """Return the key of a resource that is one unit."""
        return f"{self._resource_id}#/1/1"

    def _shortened(self, slug_path: str) -> str:
        room = UNIT_KEY_BYTES - _TAIL_BYTES - len(self._resource_id.encode("utf-8"))
        content = slug_path.encode("utf-8")
        if len(content) <= room:
            return slug_path
        return f"{cut_bytes(slug_path, room - _SHORT_DIGEST_DIGITS - 1)}~{digest_of(content)[:_SHORT_DIGEST_DIGITS]}"
