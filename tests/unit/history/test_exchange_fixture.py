"""A fixture that was damaged on its way."""

import tempfile
from pathlib import Path
from random import Random

import pytest

from history_service.domain.corpus import Resource, manifest_hash
from history_service.domain.errors import BlobDigestMismatch, FixtureInvalid
from history_service.exchange.fixture import FixtureWriter, body_element
from history_service.exchange.fixture_cases import resource_element
from history_service.exchange.fixture_reader import FixtureFile
from tests import evaluation_sets as sets
from tests.fakes.history_server import RunningHistory

FLIPS = 600


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    running = RunningHistory(tmp_path_factory.mktemp("origin") / "data")
    sets.a_judged_set(running, 2)
    content = sets.exported(running)
    running.close()
    return content


def _check(document: bytes) -> None:
    with tempfile.TemporaryFile() as file:
        file.write(document)
        file.flush()
        FixtureFile(file).check()  # type: ignore[arg-type]


def _says_the_same(damaged: bytes, document: bytes) -> bool:
    """Whether only the time of the export, or nothing that a value depends on, changed."""
    try:
        return sets.timeless(damaged) == sets.timeless(document)
    except ValueError:
        return False


def test_a_flipped_byte_anywhere_is_found(document: bytes) -> None:
    _check(document)
    random, found = Random(7), 0
    for _ in range(FLIPS):
        damaged = bytearray(document)
        damaged[random.randrange(len(document))] ^= 1 << random.randrange(8)
        if not _says_the_same(bytes(damaged), document):
            with pytest.raises((FixtureInvalid, BlobDigestMismatch)):
                _check(bytes(damaged))
            found += 1
    assert found > FLIPS * 0.99


def test_members_are_written_in_their_order_only() -> None:
    with pytest.raises(ValueError, match="cases is not the next member"):
        list(FixtureWriter().array("cases", []))


def test_the_hash_of_a_corpus_is_that_of_its_manifest_row_by_row(tmp_path: Path) -> None:
    body = "text ✓".encode()
    element = body_element("0" * 64, body)
    assert element == {"content": "text ✓", "digest": "0" * 64, "encoding": "utf-8", "size_bytes": 8}
    resource = Resource("a", "project", "document", "a.md", "A ✓", "text/markdown", "0" * 64, 8, None)
    assert len(manifest_hash("p", [resource])) == 64
    assert resource_element("f" * 64, resource)["corpus_hash"] == "f" * 64
