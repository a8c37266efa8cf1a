"""The default encoder, loaded once, and small checkpoints, saved once."""

from pathlib import Path

import pytest

from ranker_service.models.cross_encoder import CrossEncoder
from ranker_service.models.encoder import TransformerEncoder
from ranker_service.models.source import ModelFolder, resolve
from tests.checkpoints import save_encoder, save_overlap_cross_encoder

DTYPES = ("float32", "bfloat16")


@pytest.fixture(scope="session")
def package() -> ModelFolder:
    return resolve()


@pytest.fixture(scope="session")
def encoders(package: ModelFolder) -> dict[str, TransformerEncoder]:
    return {dtype: TransformerEncoder.load(package, dtype) for dtype in DTYPES}


@pytest.fixture(params=DTYPES)
def encoder(request: pytest.FixtureRequest, encoders: dict[str, TransformerEncoder]) -> TransformerEncoder:
    return encoders[request.param]


@pytest.fixture(scope="session")
def small_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small-encoder")
    save_encoder(folder)
    return folder


@pytest.fixture(scope="session")
def overlap_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("overlap")
    save_overlap_cross_encoder(folder)
    return folder


@pytest.fixture(scope="session")
def cross_encoders(overlap_checkpoint: Path) -> dict[str, CrossEncoder]:
    return {dtype: CrossEncoder.load(resolve(str(overlap_checkpoint)), dtype) for dtype in DTYPES}


@pytest.fixture(params=DTYPES)
def cross_encoder(request: pytest.FixtureRequest, cross_encoders: dict[str, CrossEncoder]) -> CrossEncoder:
    return cross_encoders[request.param]
