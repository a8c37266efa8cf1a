"""The activation state: what a caller knows of a memory, as opaque bytes that it hands back with its next query.

Layout, big-endian: magic and version (4 bytes), epoch (8), unit count (2), then for each known unit, oldest first, the
length of its key (2), the key in UTF-8 and its digest (32); at the end the first 16 bytes of the SHA-256 of all before.
One state has one encoding. The checksum finds damage; it is no signature.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from ranker_service.domain.digest import digest_of
from ranker_service.domain.errors import ActivationStateInvalid
from ranker_service.domain.limits import ACTIVATION_STATE_BYTES, KNOWN_UNITS

MAX_EPOCH = 2**63 - 1

_MAGIC = b"RTA\x01"
_EPOCH_BYTES = 8
_COUNT_BYTES = 2
_LENGTH_BYTES = 2
_DIGEST_BYTES = 32
_CHECKSUM_BYTES = 16
_HEADER_BYTES = len(_MAGIC) + _EPOCH_BYTES + _COUNT_BYTES


@dataclass(frozen=True, slots=True)
class ActivationState:
    """The units that a caller knows: unit_key -> unit digest, the one returned longest ago first.

    `epoch` counts the replies that led to it; 0 with no units is a caller who knows nothing.
    """

    epoch: int = 0
    known: Mapping[str, str] = field(default_factory=dict)

    def encode(self) -> bytes:
        """Return at most 64 KiB with at most 256 units; where there are more, the oldest are left out."""
        units = _newest_that_fit(self.known.items())
        header = _MAGIC + self.epoch.to_bytes(_EPOCH_BYTES) + len(units).to_bytes(_COUNT_BYTES)
        content = header + b"".join(units)
        return content + _checksum(content)

    @classmethod
    def decode(cls, state: bytes) -> Self:
        """Read what `encode` returned; raise ActivationStateInvalid on anything else."""
        if len(state) > ACTIVATION_STATE_BYTES:
            raise ActivationStateInvalid(f"has {len(state)} bytes, more than {ACTIVATION_STATE_BYTES}")
        content, checksum = state[:-_CHECKSUM_BYTES], state[-_CHECKSUM_BYTES:]
        if len(content) < _HEADER_BYTES or not content.startswith(_MAGIC):
            raise ActivationStateInvalid("was not made by this ranker")
        if checksum != _checksum(content):
            raise ActivationStateInvalid("is damaged")
        epoch_end = len(_MAGIC) + _EPOCH_BYTES
        epoch = int.from_bytes(content[len(_MAGIC) : epoch_end])
        count = int.from_bytes(content[epoch_end:_HEADER_BYTES])
        if epoch > MAX_EPOCH or count > KNOWN_UNITS:
            raise ActivationStateInvalid("exceeds what a state can hold")
        return cls(epoch, _read_units(content[_HEADER_BYTES:], count))


def fingerprint(state: bytes | None) -> str:
    """Return the digest of `absent`, or of `present`, NUL and the raw bytes, whether they decode or not."""
    return digest_of(b"absent" if state is None else b"present\0" + state)


def _checksum(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()[:_CHECKSUM_BYTES]


def _newest_that_fit(known: Iterable[tuple[str, str]]) -> list[bytes]:
    room = ACTIVATION_STATE_BYTES - _HEADER_BYTES - _CHECKSUM_BYTES
    fitting: list[bytes] = []
    for unit_key, digest in reversed(list(known)[-KNOWN_UNITS:]):
        key = unit_key.encode("utf-8")
        unit = len(key).to_bytes(_LENGTH_BYTES) + key + bytes.fromhex(digest)
        room -= len(unit)
        if room < 0:
            break
        fitting.append(unit)
    return fitting[::-1]


def _read_units(content: bytes, count: int) -> dict[str, str]:
    known: dict[str, str] = {}
    at = 0
    for _ in range(count):
        key_at = at + _LENGTH_BYTES
        key_end = key_at + int.from_bytes(content[at:key_at])
        at = key_end + _DIGEST_BYTES
        if at > len(content) or key_end == key_at:
            raise ActivationStateInvalid("holds a unit that is cut off or has no key")
        known[_unit_key(content[key_at:key_end])] = content[key_end:at].hex()
    if len(known) != count or at != len(content):
        raise ActivationStateInvalid("does not hold the units that it announces")
    return known


def _unit_key(key: bytes) -> str:
    try:
        return key.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ActivationStateInvalid("holds a unit key that is not UTF-8") from error
