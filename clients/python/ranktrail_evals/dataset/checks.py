"""What the shape of a file cannot say: that its ids lead somewhere and its fields agree with each other."""

from collections import Counter
from collections.abc import Iterable, Iterator

from packaging.version import InvalidVersion, Version

from ranktrail_evals.dataset.model import Citation, Dataset, Record
from ranktrail_evals.join import holds_text
from ranktrail_evals.words import words


def problems_of(dataset: Dataset) -> list[str]:
    """Return a sentence for each problem, in the order of the file; an empty list where there is none."""
    return [*_version_problems(dataset), *_record_problems(dataset), *_split_problems(dataset)]


def _version_problems(dataset: Dataset) -> Iterator[str]:
    try:
        Version(dataset.version)
    except InvalidVersion:
        yield f"version {dataset.version!r} is no version: write it like 1.0.0"


def _record_problems(dataset: Dataset) -> Iterator[str]:
    for record_id in _repeated(record.record_id for record in dataset.records):
        yield f"record {record_id!r}: record_id is used twice"
    for record in dataset.records:
        for problem in (
            *_text_problems(record),
            *_id_problems(record),
            *_grade_problems(record, dataset.is_graded),
            *_retrieval_problems(record),
        ):
            yield f"record {record.record_id!r}: {problem}"
    yield from _shared_citation_problems(dataset)


def _text_problems(record: Record) -> Iterator[str]:
    if not record.question.strip():
        yield "question is blank"
    for citation in record.citations:
        if citation.text is not None and not words(citation.text):
            yield f"citations: {citation.citation_id!r} has a text without a word: leave it out or write it"


def _id_problems(record: Record) -> Iterator[str]:
    declared = [citation.citation_id for citation in record.citations]
    for citation_id in _repeated(declared):
        yield f"citations: {citation_id!r} is declared twice"
    for field, ids in (
        ("judgments", [judgment.citation_id for judgment in record.judgments]),
        ("answer_citation_ids", record.answer_citation_ids or ()),
        ("offline_retrieved_citation_ids", record.offline_retrieved_citation_ids or ()),
    ):
        for citation_id in _repeated(ids):
            yield f"{field}: {citation_id!r} stands there twice"
        for citation_id in sorted(set(ids) - set(declared)):
            yield f"{field}: {citation_id!r} is none of the record's citations"


def _grade_problems(record: Record, graded: bool) -> Iterator[str]:
    for judgment in record.judgments:
        name = f"judgments: {judgment.citation_id!r}"
        if judgment.grade is not None and (judgment.grade > 0) != judgment.relevant:
            word = "relevant" if judgment.relevant else "not relevant"
            yield f"{name} is {word} with grade {judgment.grade}: one of them is wrong"
        elif graded and judgment.relevant and judgment.grade is None:
            yield f"{name} has no grade, and others have: give it 1 to 3"


def _retrieval_problems(record: Record) -> Iterator[str]:
    ids, contexts = record.offline_retrieved_citation_ids, record.offline_contexts
    if ids is None or contexts is None:
        return
    if bool(ids) != bool(contexts):
        yield (
            f"offline_contexts has {len(contexts)} texts and offline_retrieved_citation_ids {len(ids)} ids: "
            "either something was retrieved or nothing"
        )
        return
    for citation in record.citations:
        yield from _contradiction(citation, citation.citation_id in ids, contexts)


def _contradiction(citation: Citation, is_retrieved: bool, contexts: tuple[str, ...]) -> Iterator[str]:
    if citation.text is None:
        return
    if is_retrieved and not any(holds_text(context, citation.text) for context in contexts):
        yield (
            f"offline_contexts: none holds {citation.citation_id!r}, which offline_retrieved_citation_ids says "
            "was retrieved"
        )
    if not is_retrieved and any(words(context) == words(citation.text) for context in contexts):
        yield (
            f"offline_contexts: one is {citation.citation_id!r}, which offline_retrieved_citation_ids does not name: "
            "add it there"
        )


def _shared_citation_problems(dataset: Dataset) -> Iterator[str]:
    seen: dict[str, Citation] = {}
    for record in dataset.records:
        for citation in record.citations:
            if seen.setdefault(citation.citation_id, citation) != citation:
                yield (
                    f"record {record.record_id!r}: citations: {citation.citation_id!r} is another passage in an "
                    "earlier record: give it an id of its own"
                )


def _split_problems(dataset: Dataset) -> Iterator[str]:
    known = {record.record_id for record in dataset.records}
    for name, ids in dataset.splits.items():
        if not name.strip() or not ids:
            yield f"split {name!r} is empty or has no name: name records in it or leave it out"
        for record_id in sorted(set(ids) - known):
            yield f"split {name!r}: {record_id!r} is no record of this dataset"
    placed = [record_id for ids in dataset.splits.values() for record_id in ids]
    for record_id in _repeated(placed):
        yield f"record {record_id!r}: stands twice in the splits"
    for record_id in sorted(known - set(placed)) if dataset.splits else ():
        yield f"record {record_id!r}: is in no split"


def _repeated(ids: Iterable[str]) -> list[str]:
    return [one for one, count in Counter(ids).items() if count > 1]
