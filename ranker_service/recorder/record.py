"""The journal's record: one Run, whole, under a checksum.

    magic (8) | payload length (u32) | CRC-32 of length and payload (u32) | payload

The payload is the run id and the Effective Memory hash, each after one byte of length, then the Run's frames, each
after four bytes of length. The magic holds bytes that no UTF-8 text holds, so that the next whole record is found
behind a damaged one.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MAGIC = b"\xffRTJ\xfe\r\n\x01"
_U32 = struct.Struct("<I")
_HEADER_BYTES = len(MAGIC) + 2 * _U32.size


class RecordDamaged(Exception):
    """Bytes that are not a whole record."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One Run: serialized RecordRetrievalRunsRequests in sending order, as `run_frames` made them."""

    run_id: str
    effective_memory_hash: str
    frames: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A whole record of a segment and its place there, in bytes."""

    offset: int
    length: int
    record: RunRecord


@dataclass(frozen=True, slots=True)
class Damaged:
    """Bytes of a segment that hold no whole record; `torn` says that nothing whole follows them."""

    offset: int
    length: int
    torn: bool


def record_pieces(run_id: str, effective_memory_hash: str, frames: Sequence[Sequence[bytes]]) -> tuple[bytes, bytes]:
    """Return what precedes the record's payload, and the payload; each frame is given in pieces."""
    pieces = [_short(run_id), _short(effective_memory_hash)]
    for frame in frames:
        pieces.append(_U32.pack(sum(map(len, frame))))
        pieces += frame
    payload = b"".join(pieces)
    length = _U32.pack(len(payload))
    return MAGIC + length + _U32.pack(zlib.crc32(payload, zlib.crc32(length))), payload


def decode_record(content: bytes, offset: int = 0) -> tuple[RunRecord, int]:
    """Return the record that begins at `offset`, and where it ends; raise RecordDamaged."""
    begin = offset + _HEADER_BYTES
    if begin > len(content) or not content.startswith(MAGIC, offset):
        raise RecordDamaged("no record begins here")
    length_bytes = content[offset + len(MAGIC) : begin - _U32.size]
    end = begin + _U32.unpack(length_bytes)[0]
    if end > len(content):
        raise RecordDamaged("the record is cut off")
    (checksum,) = _U32.unpack_from(content, begin - _U32.size)
    if zlib.crc32(memoryview(content)[begin:end], zlib.crc32(length_bytes)) != checksum:
        raise RecordDamaged("the record's checksum differs")
    return _decode_payload(content[begin:end]), end


def scan(content: bytes) -> Iterator[Found | Damaged]:
    """Yield what a segment holds, in order; every byte belongs to exactly one of them."""
    offset, damage = 0, 0
    while offset < len(content):
        try:
            record, end = decode_record(content, offset)
        except RecordDamaged:
            following = content.find(MAGIC, offset + 1)
            offset = len(content) if following < 0 else following
            continue
        if offset > damage:
            yield Damaged(damage, offset - damage, torn=False)
        yield Found(offset, end - offset, record)
        offset = damage = end
    if offset > damage:
        yield Damaged(damage, offset - damage, torn=True)


def _short(text: str) -> bytes:
    encoded = text.encode()
    return bytes([len(encoded)]) + encoded


def _decode_payload(payload: bytes) -> RunRecord:
    run_id, begin = _read_short(payload, 0)
    memory_hash, begin = _read_short(payload, begin)
    frames = []
    while begin < len(payload):
        (length,) = _U32.unpack_from(payload, begin)
        begin += _U32.size + length
        frames.append(payload[begin - length : begin])
    return RunRecord(run_id, memory_hash, tuple(frames))


def _read_short(payload: bytes, begin: int) -> tuple[str, int]:
    end = begin + 1 + payload[begin]
    return payload[begin + 1 : end].decode(), end
