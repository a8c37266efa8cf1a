"""The JSON Schemas of the evals' files: `python -m ranktrail_evals.schemas docs` writes them to a folder."""

import json
import sys
from pathlib import Path

from pydantic import BaseModel

from ranktrail_evals.dataset.model import Dataset
from ranktrail_evals.replay.model import Replay
from ranktrail_evals.results.model import Result

SCHEMAS: dict[str, type[BaseModel]] = {
    "eval-dataset.schema.json": Dataset,
    "eval-result.schema.json": Result,
    "eval-replay.schema.json": Replay,
}


def schema_text(model: type[BaseModel]) -> str:
    """Return the JSON Schema (draft 2020-12) of what a file of `model` holds."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **model.model_json_schema()}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def write_schemas(directory: Path) -> None:
    """Write every schema to `directory`."""
    for name, model in SCHEMAS.items():
        (directory / name).write_text(schema_text(model), encoding="utf-8")


if __name__ == "__main__":
    write_schemas(Path(sys.argv[1]))
