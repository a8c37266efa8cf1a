"""What every ports.Encoder promises; a test class inherits the suite and gives it an `encoder` fixture."""

import threading

import numpy as np
from numpy.typing import NDArray

from ranker_service.domain.encoding import TokenVectors, UnitEncoding
from ranker_service.ports import Encoder

TEXTS = (
    "Roll back a release.",
    "a",
    "To roll back, run the deploy job of the last good release again and watch the error rate for ten minutes.",
    "Wer rollt zurück? 東京 café 👩🏽‍🚀",
    "Roll back a release. " * 3,
    "roll\nback\ta   release",
    "Roll back a release!",
)


def encodings(encoder: Encoder, texts: tuple[str, ...], *, keep_token_vectors: bool = True) -> list[UnitEncoding]:
    """Return the encodings of texts in the order of the texts, having checked that each came once."""
    found = list(encoder.encode_units(texts, keep_token_vectors))
    assert sorted(position for position, _ in found) == list(range(len(texts)))
    return [encoding for _, encoding in sorted(found, key=lambda pair: pair[0])]


def require_equal(one: UnitEncoding, other: UnitEncoding) -> None:
    """Compare bit for bit."""
    assert one.vector.tobytes() == other.vector.tobytes()
    assert one.token_vectors is not None
    assert other.token_vectors is not None
    assert one.token_vectors.values.tobytes() == other.token_vectors.values.tobytes()
    assert one.token_vectors.scales.tobytes() == other.token_vectors.scales.tobytes()


def restored(vectors: TokenVectors) -> NDArray[np.float32]:
    """Return token vectors as numbers."""
    return vectors.values.astype(np.float32) * vectors.scales.astype(np.float32)[:, None]


class EncoderSuite:
    """The promises."""

    def test_it_says_what_it_is(self, encoder: Encoder) -> None:
        assert encoder.revision
        assert encoder.dimension > 0
        assert encoder.window > encoder.special_token_count >= 0

    def test_unit_vectors_have_its_dimension_and_length_one(self, encoder: Encoder) -> None:
        for encoding in encodings(encoder, TEXTS):
            assert encoding.vector.shape == (encoder.dimension,)
            assert encoding.vector.dtype == np.float32
            assert abs(np.linalg.norm(encoding.vector.astype(np.float64)) - 1) < 1e-5

    def test_one_text_has_one_encoding_whatever_is_encoded_beside_it(self, encoder: Encoder) -> None:
        together = encodings(encoder, TEXTS)
        backwards = encodings(encoder, TEXTS[::-1])[::-1]
        for text, first, second in zip(TEXTS, together, backwards, strict=True):
            require_equal(first, second)
            require_equal(first, encodings(encoder, (text,))[0])

    def test_pooled_vectors_do_not_depend_on_whether_token_vectors_are_kept(self, encoder: Encoder) -> None:
        kept, dropped = encodings(encoder, TEXTS), encodings(encoder, TEXTS, keep_token_vectors=False)
        for one, other in zip(kept, dropped, strict=True):
            assert one.vector.tobytes() == other.vector.tobytes()
            assert other.token_vectors is None

    def test_each_token_of_a_unit_has_a_vector_of_length_about_one(self, encoder: Encoder) -> None:
        for text, encoding in zip(TEXTS, encodings(encoder, TEXTS), strict=True):
            vectors = encoding.token_vectors
            assert vectors is not None
            assert (vectors.values.dtype, vectors.scales.dtype) == (np.int8, np.float16)
            assert vectors.values.shape == (len(encoder.token_spans(text)), encoder.dimension)
            assert vectors.scales.shape == vectors.values.shape[:1]
            assert np.allclose(np.linalg.norm(restored(vectors), axis=1), 1, atol=0.02)

    def test_nothing_to_encode_is_nothing(self, encoder: Encoder) -> None:
        assert list(encoder.encode_units([], keep_token_vectors=True)) == []

    def test_a_query_has_a_vector_of_length_one_and_one_for_each_token(self, encoder: Encoder) -> None:
        for text in TEXTS:
            encoding = encoder.encode_query(text)
            count = len(encoder.token_spans(text))
            assert abs(np.linalg.norm(encoding.vector.astype(np.float64)) - 1) < 1e-5
            assert encoding.token_vectors.shape == (count, encoder.dimension)
            assert np.allclose(np.linalg.norm(encoding.token_vectors.astype(np.float64), axis=1), 1, atol=0.01)
            assert (encoding.token_count, encoding.tokens_encoded) == (count, count)

    def test_a_query_and_a_unit_of_one_text_point_the_same_way(self, encoder: Encoder) -> None:
        for text, unit in zip(TEXTS, encodings(encoder, TEXTS), strict=True):
            assert float(encoder.encode_query(text).vector @ unit.vector) > 0.9999

    def test_a_query_beyond_the_window_is_cut_and_says_so(self, encoder: Encoder) -> None:
        room = encoder.window - encoder.special_token_count
        whole, long = "a " * room, "a " * (room + 7)
        fits, cut = encoder.encode_query(whole), encoder.encode_query(long)
        assert (fits.token_count, fits.tokens_encoded) == (room, room)
        assert (cut.token_count, cut.tokens_encoded) == (room + 7, room)
        assert len(cut.token_vectors) == room
        assert cut.vector.tobytes() == fits.vector.tobytes()

    def test_token_spans_are_in_order_inside_the_text_and_never_cut(self, encoder: Encoder) -> None:
        for text in (*TEXTS, "word " * 3 * encoder.window):
            spans = encoder.token_spans(text)
            assert all(0 <= start <= end <= len(text) for start, end in spans)
            assert spans == sorted(spans)
        assert len(encoder.token_spans("word " * 3 * encoder.window)) == 3 * encoder.window
        assert encoder.token_spans("") == []

    def test_threads_get_the_answers_of_a_single_thread(self, encoder: Encoder) -> None:
        long = "word " * 3 * encoder.window
        spans, vector = encoder.token_spans(long), encoder.encode_query(long).vector.tobytes()
        wrong: list[str] = []

        def count() -> None:
            wrong.extend("spans" for _ in range(20) if encoder.token_spans(long) != spans)

        def encode() -> None:
            wrong.extend("vector" for _ in range(5) if encoder.encode_query(long).vector.tobytes() != vector)

        threads = [threading.Thread(target=work) for work in (count, encode) * 4]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
