"""The catalog of ranking profiles: those that ship with the product and those of a directory."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Self

from ranker_service.domain.limits import PROFILE_TOML_BYTES
from ranker_service.domain.profile import Profile, ProfileInvalid

_LOG = logging.getLogger(__name__)
DEFAULT_PROFILE = "activation.v1"
PACKAGE_SOURCE = "package"
_SUFFIX = ".toml"


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A profile, the text it was read from, and its source: `package`, or the file's name."""

    profile: Profile
    toml: str
    source: str


class ProfileCatalog:
    """Every known profile, and which of them is used when a request names none."""

    def __init__(
        self, entries: Iterable[CatalogEntry], default_name: str = DEFAULT_PROFILE, problems: Sequence[str] = ()
    ) -> None:
        self._entries = {entry.profile.name: entry for entry in sorted(entries, key=lambda entry: entry.profile.name)}
        default = self.find(default_name)
        if default is None:
            known = ", ".join(self._entries)
            raise ProfileInvalid([f"profile {default_name!r} is not known: use one of {known}", *problems])
        self._default = default

    @classmethod
    def load(cls, directory: Path | None = None, default_name: str = DEFAULT_PROFILE) -> Self:
        """Read the profiles of the package and the *.toml files of `directory`, where it exists.

        A file that cannot be read, is no profile, or has a name that is taken is left out with a warning that names it.
        Raises ProfileInvalid where the default is not among the rest.
        """
        entries = {entry.profile.name: entry for entry in _packaged()}
        problems: list[str] = []
        for file in _files_of(directory):
            try:
                entry = _entry(file.name, _read(file), file.name)
                _require_free(entry, entries)
                entries[entry.profile.name] = entry
            except ProfileInvalid as error:
                _LOG.warning("profile %s is left out: %s", file, error)
                problems += error.problems
        return cls(entries.values(), default_name, problems)

    def entries(self) -> tuple[CatalogEntry, ...]:
        """Return every profile, in name order."""
        return tuple(self._entries.values())

    def find(self, name: str) -> Profile | None:
        """Return the profile of that name; None where there is none."""
        entry = self._entries.get(name)
        return None if entry is None else entry.profile

    def default(self) -> Profile:
        """Return the profile of requests that name none."""
        return self._default


def _packaged() -> Iterator[CatalogEntry]:
    files = [file for file in resources.files(__name__.rpartition(".")[0]).iterdir() if file.name.endswith(_SUFFIX)]
    for file in sorted(files, key=lambda file: file.name):
        yield _entry(file.name, file.read_bytes(), PACKAGE_SOURCE)


def _files_of(directory: Path | None) -> list[Path]:
    return [] if directory is None else sorted(directory.glob(f"*{_SUFFIX}"))


def _require_free(entry: CatalogEntry, entries: Mapping[str, CatalogEntry]) -> None:
    taken = entries.get(entry.profile.name)
    if taken is not None:
        name, source = entry.profile.name, taken.source
        raise ProfileInvalid([f"{entry.source}: name {name!r} is taken by {source}: choose another"])


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.read(PROFILE_TOML_BYTES + 1)
    except OSError as error:
        raise ProfileInvalid([f"{file.name}: cannot be read: {error.strerror}"]) from error


def _entry(name: str, content: bytes, source: str) -> CatalogEntry:
    if len(content) > PROFILE_TOML_BYTES:
        raise ProfileInvalid([f"{name}: has more than {PROFILE_TOML_BYTES} bytes"])
    try:
        text = content.decode("utf-8")
        return CatalogEntry(Profile.from_toml(text), text, source)
    except UnicodeDecodeError as error:
        raise ProfileInvalid([f"{name}: is not UTF-8"]) from error
    except ProfileInvalid as error:
        raise ProfileInvalid([f"{name}: {problem}" for problem in error.problems]) from error
