"""The activation state's bytes: one encoding a state, bounded, and nothing else decodes."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranker_service.domain.activation import MAX_EPOCH, ActivationState, fingerprint
from ranker_service.domain.digest import digest_of
from ranker_service.domain.errors import ActivationStateInvalid
from ranker_service.domain.limits import ACTIVATION_STATE_BYTES, KNOWN_UNITS, UNIT_KEY_BYTES
from ranker_service.domain.trace import Stage

DIGEST = digest_of(b"unit")
STATE = ActivationState(7, {"a.md#top/1/0": DIGEST, "b.md#東京/1/0": digest_of(b"other")})

_KEYS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
_STATES = st.builds(
    ActivationState,
    st.integers(0, MAX_EPOCH),
    st.dictionaries(_KEYS, st.binary(max_size=4).map(digest_of), max_size=40),
)


def _sealed(content: bytes) -> bytes:
    return content + hashlib.sha256(content).digest()[:16]


def _assert_refused_or_canonical(state: bytes) -> None:
    """Bytes are the encoding of what they decode to, or are refused; nothing else is raised."""
    try:
        decoded = ActivationState.decode(state)
    except ActivationStateInvalid:
        return
    assert decoded.encode() == state


@given(_STATES)
def test_a_state_survives_its_encoding_order_included(state: ActivationState) -> None:
    decoded = ActivationState.decode(state.encode())
    assert decoded == state
    assert list(decoded.known) == list(state.known)


def test_equal_states_have_equal_bytes() -> None:
    assert STATE.encode() == ActivationState(7, dict(STATE.known)).encode()


@given(_STATES, st.data())
def test_any_changed_byte_is_refused(state: ActivationState, data: st.DataObject) -> None:
    encoded = bytearray(state.encode())
    place = data.draw(st.integers(0, len(encoded) - 1))
    encoded[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ActivationStateInvalid):
        ActivationState.decode(bytes(encoded))


@given(_STATES, st.data())
def test_any_cut_or_extension_is_refused(state: ActivationState, data: st.DataObject) -> None:
    encoded = state.encode()
    cut = data.draw(st.integers(0, len(encoded) - 1))
    for wrong in (encoded[:cut], encoded[cut + 1 :], encoded + data.draw(st.binary(min_size=1, max_size=40))):
        with pytest.raises(ActivationStateInvalid):
            ActivationState.decode(wrong)


@given(st.binary(max_size=300))
def test_bytes_of_any_kind_never_crash(content: bytes) -> None:
    for state in (content, _sealed(content), _sealed(b"RTA\x01" + content)):
        _assert_refused_or_canonical(state)


@given(_STATES, st.data())
def test_a_mutation_with_a_fresh_checksum_is_refused_or_is_another_valid_state(
    state: ActivationState, data: st.DataObject
) -> None:
    content = bytearray(state.encode()[:-16])
    place = data.draw(st.integers(0, len(content) - 1))
    content[place : place + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    _assert_refused_or_canonical(_sealed(bytes(content)))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"RTA\x01" + bytes(9),
        b"RTA\x02" + bytes(10),
        b"RTA\x01" + b"\xff" * 8 + bytes(2),
        b"RTA\x01" + bytes(8) + (KNOWN_UNITS + 1).to_bytes(2),
        b"RTA\x01" + bytes(8) + b"\x00\x01" + b"\x00\x00" + bytes(32),
        b"RTA\x01" + bytes(8) + b"\x00\x01" + b"\x00\x01\xff" + bytes(32),
        b"RTA\x01" + bytes(8) + b"\x00\x02" + (b"\x00\x01a" + bytes(32)) * 2,
        b"RTA\x01" + bytes(8) + b"\x00\x00" + b"\x00\x01a" + bytes(32),
    ],
    ids=["empty", "short", "version", "epoch", "count", "empty key", "not UTF-8", "one key twice", "one too many"],
)
def test_what_no_state_encodes_to_is_refused_even_with_a_right_checksum(content: bytes) -> None:
    with pytest.raises(ActivationStateInvalid, match="send the next_activation_state") as refused:
        ActivationState.decode(_sealed(content))
    assert (refused.value.stage, refused.value.code) == (Stage.ACTIVATION_STATE, "invalid_activation_state")


def test_the_oldest_units_are_left_out_past_256() -> None:
    known = {str(n): DIGEST for n in range(300)}
    decoded = ActivationState.decode(ActivationState(1, known).encode())
    assert list(decoded.known) == [str(n) for n in range(300 - KNOWN_UNITS, 300)]


def test_the_oldest_units_are_left_out_where_their_keys_would_exceed_64_kib() -> None:
    known = {f"{n:03}".ljust(UNIT_KEY_BYTES, "k"): DIGEST for n in range(100)}
    encoded = ActivationState(1, known).encode()
    assert len(encoded) <= ACTIVATION_STATE_BYTES < len(encoded) + 2 + UNIT_KEY_BYTES + 32
    kept = list(ActivationState.decode(encoded).known)
    assert kept == list(known)[-len(kept) :]


def test_more_than_64_kib_are_refused_unread() -> None:
    with pytest.raises(ActivationStateInvalid, match="65537 bytes"):
        ActivationState.decode(bytes(ACTIVATION_STATE_BYTES + 1))


def test_the_fingerprint_tells_absent_from_empty_and_reads_raw_bytes() -> None:
    assert fingerprint(None) == hashlib.sha256(b"absent").hexdigest()
    assert fingerprint(b"") == hashlib.sha256(b"present\0").hexdigest()
    assert fingerprint(b"\xff") == hashlib.sha256(b"present\0\xff").hexdigest()
