"""A dataset file to a dataset, or to every problem that it has."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ranktrail_evals.dataset.checks import problems_of
from ranktrail_evals.dataset.model import Dataset
from ranktrail_evals.errors import DatasetInvalid

MAX_FILE_BYTES = 64 * 1024 * 1024


def read_dataset(path: Path) -> Dataset:
    """Return the dataset in a file; raise DatasetInvalid with each problem when it cannot be read or is none."""
    text = _text(path)
    raw = parse_json(path, text)
    try:
        dataset = Dataset.model_validate_json(text)
    except ValidationError as error:
        raise DatasetInvalid(path, [_sentence(detail, raw) for detail in error.errors()]) from error
    problems = problems_of(dataset)
    if problems:
        raise DatasetInvalid(path, problems)
    return dataset


def read_raw(path: Path) -> Any:
    """Return a file's JSON value without asking whether it is a dataset; raise DatasetInvalid when it has none."""
    return parse_json(path, _text(path))


def parse_json(path: Path, text: str) -> Any:
    """Return the JSON value; raise DatasetInvalid for text that is none, names a key twice or has a NaN."""
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise DatasetInvalid(path, [f"is no JSON: {reason}"]) from error


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise DatasetInvalid(path, [f"has more than {MAX_FILE_BYTES} bytes"])
        return content.decode("utf-8")
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise DatasetInvalid(path, [f"cannot be read ({reason})"]) from error
    except UnicodeDecodeError as error:
        raise DatasetInvalid(path, ["is not UTF-8 text"]) from error


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} stands twice in one object")
    return found


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no JSON number")


def _sentence(detail: ErrorDetails, raw: Any) -> str:
    location = list(detail["loc"])
    record = ""
    if len(location) > 1 and location[0] == "records" and isinstance(location[1], int):
        record = f"record {_record_name(raw, location[1])}: "
        location = location[2:]
    field = ".".join(str(part) for part in location)
    unknown = detail["type"] == "extra_forbidden"
    problem = "is no field of this format" if unknown else detail["msg"][0].lower() + detail["msg"][1:]
    return f"{record}{field}: {problem}" if field else f"{record}{problem}"


def _record_name(raw: Any, index: int) -> str:
    record = raw["records"][index]
    name = record.get("record_id") if isinstance(record, dict) else None
    return repr(name) if isinstance(name, str) else f"number {index + 1}"
