"""Which records of a dataset are measured."""

import random

from ranktrail_evals.dataset.model import Dataset, Record
from ranktrail_evals.errors import DatasetNotFound


def selected_records(dataset: Dataset, split: str | None, sample: int | None, seed: int) -> tuple[Record, ...]:
    """Return the records of `split`, or `sample` of them drawn by `seed`, in the order of the file.

    The draw depends on the record ids alone. Raises DatasetNotFound for a split that there is not and for a sample
    larger than it.
    """
    if split is not None and split not in dataset.splits:
        known = ", ".join(sorted(dataset.splits)) or "none"
        raise DatasetNotFound(f"--split {split!r} is no split of {dataset.dataset_id}: it has {known}")
    ids = {record.record_id for record in dataset.records} if split is None else set(dataset.splits[split])
    if sample is not None:
        if sample > len(ids):
            raise DatasetNotFound(f"--sample {sample} is more than the {len(ids)} records there are")
        ids = set(random.Random(seed).sample(sorted(ids), sample))  # noqa: S311 - drawn to be repeated
    return tuple(record for record in dataset.records if record.record_id in ids)
