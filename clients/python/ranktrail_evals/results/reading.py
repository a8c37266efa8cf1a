"""A result file to a result."""

from pathlib import Path

from pydantic import ValidationError

from ranktrail_evals.errors import ResultInvalid
from ranktrail_evals.results.model import Result

BASELINES = Path(__file__).resolve().parents[1] / "baselines"
MAX_FILE_BYTES = 256 * 1024 * 1024


def read_result(name: str) -> Result:
    """Return the result in a file, or the bundled baseline of that name; raise ResultInvalid when it is none."""
    path = Path(name)
    bundled = BASELINES / f"{name}.json"
    if path.parent == Path() and not path.exists() and bundled.exists():
        path = bundled
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise ResultInvalid(f"result {name!r} cannot be read ({reason}): name the JSON file of a run") from error
    if len(content) > MAX_FILE_BYTES:
        raise ResultInvalid(f"result {name!r} has more than {MAX_FILE_BYTES} bytes: name the JSON file of a run")
    try:
        return Result.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "the file"
        raise ResultInvalid(f"result {name!r}: {field}: {first['msg']}: name the JSON file of a run") from error
