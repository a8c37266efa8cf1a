"""What a backup says of itself: `manifest.json`, beside the folder `data` that holds its files."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Self

from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.fields import reason_of

NAME, DATA = "manifest.json", "data"
FORMAT_VERSION = 1
PARTS = ("history", "ranker")
"""What a data directory consists of, as far as it is kept."""
MAX_BYTES = 1 << 30
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file: its path below the data directory, its bytes, and their SHA-256."""

    path: str
    size_bytes: int
    digest: str


@dataclass(frozen=True, slots=True)
class BackupManifest:
    """All files of a backup, and what was wrong when it was made; `version` is that of the product."""

    create_time: str
    version: str
    files: tuple[KeptFile, ...]
    problems: tuple[dict[str, Any], ...]

    @property
    def total_bytes(self) -> int:
        """Bytes of all files."""
        return sum(file.size_bytes for file in self.files)

    def content(self) -> bytes:
        """Return the file's bytes, which hold a digest of all the rest of them."""
        value = {
            "format_version": FORMAT_VERSION,
            "create_time": self.create_time,
            "version": self.version,
            "file_count": len(self.files),
            "total_bytes": self.total_bytes,
            "files": [asdict(file) for file in self.files],
            "problems": list(self.problems),
        }
        return _canonical(value | {"sha256": _signature(value)}) + b"\n"

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read and check the manifest of a backup; raise CommandFailed, which names the field, when it is none."""
        try:
            with (folder / NAME).open("rb") as file:
                value = json.loads(file.read(MAX_BYTES))
            return cls._checked(folder, value)
        except OSError as error:
            raise _refused(folder, f"has no {NAME} that can be read ({reason_of(error)})") from error
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise _refused(folder, f"has a {NAME} that is not one") from error

    @classmethod
    def _checked(cls, folder: Path, value: dict[str, Any]) -> Self:
        if value["format_version"] != FORMAT_VERSION:
            problem = f"has format_version {value['format_version']!r}, and this release reads {FORMAT_VERSION}"
            raise CommandFailed(f"backup {str(folder)!r} {problem}: use the release that made it", Exit.REFUSED)
        if value.pop("sha256") != _signature(value):
            raise _refused(folder, f"has a {NAME} that was changed after it was written (sha256)")
        files = tuple(KeptFile(**file) for file in value["files"])
        for file in files:
            if not (is_kept_path(file.path) and _DIGEST.fullmatch(file.digest) and file.size_bytes >= 0):
                raise _refused(folder, f"names a file that no backup has ({file.path!r})")
        return cls(value["create_time"], value["version"], files, tuple(value["problems"]))


def is_kept_path(path: str) -> bool:
    """Say whether a path is one of a file below a part of the data directory that is kept."""
    parts = path.split("/")
    is_plain = all(part and not part.startswith(".") and "\0" not in part for part in parts)
    return is_plain and len(parts) > 1 and parts[0] in PARTS and not PurePosixPath(path).is_absolute()


def _signature(value: Mapping[str, Any]) -> str:
    return hashlib.sha256(_canonical(value)).hexdigest()


def _canonical(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, indent=1).encode("utf-8")


def _refused(folder: Path, problem: str) -> CommandFailed:
    return CommandFailed(f"backup {str(folder)!r} {problem}: name a folder that `ranktrail backup` wrote", Exit.REFUSED)
