"""The identity of a dataset's content."""

import hashlib
import json

from ranktrail_evals.dataset.model import Dataset


def checksum(dataset: Dataset) -> str:
    """Return the digest of records and splits as canonical JSON, without fields that have their default.

    So neither a title nor a version, nor the order of the records, nor an optional field that a later format adds,
    changes it.
    """
    records = [record.model_dump(mode="json", exclude_defaults=True) for record in dataset.records]
    content = {
        "records": sorted(records, key=lambda record: str(record["record_id"])),
        "splits": {name: sorted(ids) for name, ids in dataset.splits.items()},
    }
    text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
