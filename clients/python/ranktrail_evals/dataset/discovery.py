"""Where datasets are: in this package, in a folder that the caller names, or in a file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

from ranktrail_evals.dataset.checksum import checksum
from ranktrail_evals.dataset.model import Dataset
from ranktrail_evals.dataset.reading import read_dataset, read_raw
from ranktrail_evals.errors import DatasetInvalid, DatasetNotFound

PACKAGED = Path(__file__).resolve().parents[1] / "datasets"


@dataclass(frozen=True, slots=True)
class Listed:
    """A file in a dataset folder: its dataset, or why it is none."""

    path: Path
    dataset: Dataset | None
    problem: DatasetInvalid | None = None


def list_datasets(directory: Path | None) -> list[Listed]:
    """Return every dataset file of the package and of `directory`; raise DatasetNotFound when that is no folder."""
    return [_listed(path) for path in _files(directory)]


def find_dataset(name: str, version: str | None, directory: Path | None) -> Dataset:
    """Return the newest dataset called `name`, or the one of `version`; `name` may also be the path of a file.

    Raises DatasetNotFound when there is none, DatasetInvalid when that file has problems.
    """
    path = Path(name)
    if path.suffix == ".json" or path.parent != Path():
        return _of_version(read_dataset(path), version)
    candidates = list(_called(name, directory))
    if version is not None:
        wanted = _version(version)
        candidates = [candidate for candidate in candidates if candidate[0] == wanted]
    if not candidates:
        which = name if version is None else f"{name} {version}"
        raise DatasetNotFound(f"dataset {which!r} is not known: `ranktrail evals datasets` names those that are")
    newest = max(found for found, _ in candidates)
    return _one([path for found, path in candidates if found == newest])


def _listed(path: Path) -> Listed:
    try:
        return Listed(path, read_dataset(path))
    except DatasetInvalid as error:
        return Listed(path, None, error)


def _files(directory: Path | None) -> Iterator[Path]:
    yield from sorted(PACKAGED.glob("*.json"))
    if directory is None:
        return
    if not directory.is_dir():
        raise DatasetNotFound(f"--dataset-dir {str(directory)!r} is no folder: name one with dataset files")
    yield from sorted(directory.glob("*.json"))


def _called(name: str, directory: Path | None) -> Iterator[tuple[Version, Path]]:
    """Yield version and path of each file that says it is `name`; a file with a broken version is read, and refused."""
    for path in _files(directory):
        try:
            raw = read_raw(path)
        except DatasetInvalid:
            if path.stem == name:
                raise
            continue
        if isinstance(raw, dict) and raw.get("dataset_id") == name:
            try:
                yield Version(str(raw.get("version"))), path
            except InvalidVersion:
                read_dataset(path)


def _one(paths: Sequence[Path]) -> Dataset:
    datasets = [read_dataset(path) for path in paths]
    for path, dataset in zip(paths[1:], datasets[1:], strict=True):
        if checksum(dataset) != checksum(datasets[0]):
            raise DatasetInvalid(path, [f"has the name and version of {str(paths[0])!r} and other content"])
    return datasets[0]


def _of_version(dataset: Dataset, version: str | None) -> Dataset:
    if version is not None and _version(version) != Version(dataset.version):
        raise DatasetNotFound(f"--version {version} is not that of the file, which is {dataset.version}")
    return dataset


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion as error:
        raise DatasetNotFound(f"--version {text!r} is no version: write it like 1.0.0") from error
