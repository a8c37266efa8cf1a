"""The journal's records: a damaged one costs itself and nothing else."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ranker_service.recorder.record import MAGIC, Damaged, Found, RunRecord, decode_record, record_pieces, scan

texts = st.text(st.characters(codec="ascii"), min_size=1, max_size=26)
records = st.builds(RunRecord, texts, st.sampled_from(["", "a" * 64]), st.lists(st.binary(max_size=60)).map(tuple))


def encoded(record: RunRecord) -> bytes:
    return b"".join(record_pieces(record.run_id, record.effective_memory_hash, [[frame] for frame in record.frames]))


def found(content: bytes) -> list[RunRecord]:
    return [part.record for part in scan(content) if isinstance(part, Found)]


@given(records)
def test_what_is_written_is_read(record: RunRecord) -> None:
    content = encoded(record)
    assert decode_record(content) == (record, len(content))


@given(st.lists(records, max_size=5))
def test_a_segment_is_its_records_in_order(written: list[RunRecord]) -> None:
    assert found(b"".join(map(encoded, written))) == written


THREE = [RunRecord(f"run-{i}", "b" * 64, (b"started", b"candidates" * 3, b"finished")) for i in range(3)]


def test_every_single_flipped_bit_loses_at_most_the_record_that_holds_it() -> None:
    content = b"".join(map(encoded, THREE))
    ends = [len(content) // 3 * (i + 1) for i in range(3)]
    for place in range(8 * len(content)):
        damaged = bytearray(content)
        damaged[place // 8] ^= 1 << place % 8
        hit = next(i for i, end in enumerate(ends) if place // 8 < end)
        assert found(bytes(damaged)) == [record for i, record in enumerate(THREE) if i != hit], place


def test_a_segment_cut_at_any_byte_keeps_every_record_before_the_cut() -> None:
    content = b"".join(map(encoded, THREE))
    for cut in range(len(content)):
        parts = list(scan(content[:cut]))
        whole = cut // (len(content) // 3)
        assert [part.record for part in parts if isinstance(part, Found)] == THREE[:whole], cut
        torn = [part for part in parts if isinstance(part, Damaged)]
        assert [part.torn for part in torn] == ([True] if cut % (len(content) // 3) else [])


def test_a_segment_that_lost_its_beginning_keeps_every_record_behind_it() -> None:
    content = b"".join(map(encoded, THREE))
    for cut in range(1, len(content)):
        whole = (len(content) - cut) // (len(content) // 3)
        assert found(content[cut:]) == THREE[3 - whole :], cut


@settings(max_examples=200)
@given(st.binary(max_size=200), st.lists(records, max_size=2), st.binary(max_size=200))
def test_every_byte_belongs_to_exactly_one_part(before: bytes, written: list[RunRecord], after: bytes) -> None:
    content = before + b"".join(map(encoded, written)) + after
    parts = list(scan(content))
    assert [part.offset for part in parts] == [sum(p.length for p in parts[:i]) for i in range(len(parts))]
    assert sum(part.length for part in parts) == len(content)


def test_a_record_that_quotes_the_magic_is_still_one_record() -> None:
    record = RunRecord("run", "", (MAGIC * 3, encoded(THREE[0])))
    assert found(encoded(record)) == [record]
    damaged = bytearray(encoded(record) + encoded(THREE[1]))
    damaged[len(MAGIC)] ^= 1
    assert THREE[1] in found(bytes(damaged))


def test_a_length_that_reaches_past_the_end_hides_nothing() -> None:
    content = MAGIC + b"\xff\xff\xff\x7f" + b"\0\0\0\0" + encoded(THREE[0])
    assert found(content) == THREE[:1]
