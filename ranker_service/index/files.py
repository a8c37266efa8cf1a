"""The files of an index: written durably, and never loaded unless they are byte for byte what was written."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from ranker_service.domain.digest import canonical_json, digest_of


class IndexDamaged(Exception):
    """Index files that are not what their sidecar says; the remedy is to build the index anew."""


def write_bytes(path: Path, content: bytes | memoryview) -> None:
    """Write a new file and sync it."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def write_array(path: Path, array: NDArray[Any]) -> None:
    """Write an array in NumPy's own format and sync it."""
    with path.open("wb") as file:
        np.save(file, array, allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())


def read_array(path: Path) -> NDArray[Any]:
    """Read an array that `write_array` wrote; it is read-only.

    It is not mapped: what was checked when an index was opened must hold for as long as it is in use.
    """
    return frozen(np.load(path, allow_pickle=False))


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view."""
    view = array.view()
    view.flags.writeable = False
    return view


def sync_file(path: Path) -> None:
    """Make a file durable that a library wrote."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def digest_of_file(path: Path) -> str:
    """Return the digest of a file's bytes."""
    with path.open("rb", buffering=0) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of_ids(ids: Iterable[str]) -> str:
    """Return the digest of ids in their order; ids hold no NUL."""
    return digest_of("\0".join(ids).encode())


def write_sidecar(path: Path, fields: dict[str, Any]) -> None:
    """Write a sidecar that also carries the digest of its own fields."""
    write_bytes(path, canonical_json({"fields": fields, "digest": digest_of(canonical_json(fields))}))


def read_sidecar(path: Path) -> dict[str, Any]:
    """Read a sidecar's fields; raise IndexDamaged where it is missing, torn or changed."""
    try:
        document = orjson.loads(path.read_bytes())
        fields: dict[str, Any] = document["fields"]
        digest = document["digest"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise IndexDamaged(f"{path.name} cannot be read: {error}") from error
    if digest_of(canonical_json(fields)) != digest:
        raise IndexDamaged(f"{path.name} was changed")
    return fields


def require(name: str, found: object, expected: object) -> None:
    """Raise IndexDamaged unless what was found is what was expected."""
    if found != expected:
        raise IndexDamaged(f"{name} is {found!r} where {expected!r} was expected")


def describe_files(paths: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """Return size and digest of each file, by its name."""
    return {path.name: {"size": path.stat().st_size, "digest": digest_of_file(path)} for path in sorted(paths)}


def check_files(directory: Path, described: dict[str, dict[str, Any]]) -> None:
    """Raise IndexDamaged unless each described file has its size and its digest."""
    for name, expected in described.items():
        path = directory / name
        try:
            require(f"size of {name}", path.stat().st_size, expected["size"])
            require(f"digest of {name}", digest_of_file(path), expected["digest"])
        except OSError as error:
            raise IndexDamaged(f"{name} cannot be read: {error}") from error
