"""A test collection, and how one is put together from checked records."""

import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from ranktrail_client.collections.lines import Line
from ranktrail_client.frames import MAX_RESOURCE_BYTES, digest_of

# The limits of the contracts, checked here so that nothing of a collection is committed before all of it is right.
MAX_ID_BYTES = 512
MAX_PATH_BYTES = 1_024
MAX_TITLE_BYTES = 1_024
MAX_QUERY_BYTES = 8_192
MAX_RELEVANCE = 3
MAX_JUDGMENTS = 5_000
MAX_JUDGMENT_BYTES = 1_048_576
"""The ids of all documents that are judged for one query."""

_INVISIBLE = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class Document:
    """A document as the resource that it becomes."""

    document_id: str
    title: str
    text: str
    path: str = ""
    kind: str = ""
    media_type: str = "text/plain"


@dataclass(frozen=True, slots=True)
class Query:
    """A query, and the relevance 0 to 3 of documents to it, by document id."""

    query_id: str
    text: str
    category: str = ""
    notes: str = ""
    judgments: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents, each with a path of its own, and queries, in the order of their files."""

    documents: tuple[Document, ...]
    queries: tuple[Query, ...]


@dataclass(frozen=True, slots=True)
class Names:
    """What a format calls the fields of its records, for the sentences of errors."""

    identifier: str
    title: str
    text: str
    query: str
    document: str
    relevance: str


class Assembly:
    """Records on their way into a collection. Every method raises CollectionInvalid for one that may not be in it."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._documents: dict[str, Document] = {}
        self._queries: dict[str, Query] = {}
        self._lines: dict[tuple[str, str], int] = {}
        self._judged: dict[tuple[str, str], int] = {}
        self._judged_bytes: Counter[str] = Counter()

    def add_document(self, line: Line, document: Document) -> None:
        """Take a document whose record begins at `line`."""
        self._check_id(line, "document", document.document_id)
        _check_size(line, self._names.title, document.title, MAX_TITLE_BYTES)
        _check_size(line, self._names.text, document.text, MAX_RESOURCE_BYTES)
        self._documents[document.document_id] = document

    def add_query(self, line: Line, query: Query) -> None:
        """Take a query whose record begins at `line`."""
        self._check_id(line, "query", query.query_id)
        _check_size(line, self._names.text, query.text, MAX_QUERY_BYTES)
        if _is_blank(query.text):
            raise line.wrong(self._names.text, f"of query {query.query_id!r} is blank: give it a text")
        self._queries[query.query_id] = query

    def judge(self, line: Line, query_id: str, document_id: str, relevance: int) -> None:
        """Take the relevance of a document to a query; both must have been added."""
        query = self._queries.get(query_id)
        if query is None:
            raise line.wrong(self._names.query, f"{query_id!r} is no query of the collection: add it or drop the line")
        if document_id not in self._documents:
            raise line.wrong(
                self._names.document, f"{document_id!r} is no document of the collection: add it or drop the line"
            )
        before = self._judged.setdefault((query_id, document_id), line.number)
        if document_id in query.judgments:
            raise line.wrong(
                self._names.document, f"{document_id!r} is judged for query {query_id!r} in line {before}: drop one"
            )
        if not 0 <= relevance <= MAX_RELEVANCE:
            raise line.wrong(self._names.relevance, f"is {relevance}: it must be 0 to {MAX_RELEVANCE}")
        self._judged_bytes[query_id] += len(document_id.encode("utf-8"))
        if len(query.judgments) == MAX_JUDGMENTS or self._judged_bytes[query_id] > MAX_JUDGMENT_BYTES:
            raise line.wrong(self._names.query, f"{query_id!r} has more judgments than fit into a case: drop some")
        query.judgments[document_id] = relevance

    def collection(self, without: frozenset[str] = frozenset()) -> Collection:
        """Return what was added; judged queries always, others unless their ids are in `without`."""
        queries = (query for key, query in self._queries.items() if query.judgments or key not in without)
        return Collection(tuple(_with_paths(self._documents)), tuple(queries))

    def _check_id(self, line: Line, kind: str, identifier: str) -> None:
        name = self._names.identifier
        if not identifier or "\0" in identifier:
            raise line.wrong(name, f"of a {kind} is empty or has a NUL character: give it another")
        _check_size(line, name, identifier, MAX_ID_BYTES)
        before = self._lines.setdefault((kind, identifier), line.number)
        if before != line.number:
            raise line.wrong(name, f"{identifier!r} is that of the {kind} in line {before}: each needs one of its own")


def _check_size(line: Line, name: str, text: str, limit: int) -> None:
    size = len(text.encode("utf-8"))
    if size > limit:
        raise line.wrong(name, f"has {size} bytes, at most {limit} are allowed: shorten it")


def _is_blank(text: str) -> bool:
    # U+034F is invisible too, and Unicode counts it as a mark.
    return all(unicodedata.category(one) in _INVISIBLE or one == "\u034f" for one in text)


def _with_paths(documents: dict[str, Document]) -> Iterator[Document]:
    """Yield documents, each with the first of these paths that is one and still free: its own, its id, a digest."""
    taken: set[str] = set()
    for key, one in documents.items():
        wanted = [path for path in (one.path, key) if _is_path(path)]
        path = next(path for path in (*wanted, f"documents/{digest_of(key.encode('utf-8'))}") if path not in taken)
        taken.add(path)
        yield Document(key, one.title, one.text, path, one.kind, one.media_type)


def _is_path(text: str) -> bool:
    has_good_parts = all(part not in ("", ".", "..") for part in text.split("/"))
    return has_good_parts and not {"\\", "\0"} & set(text) and len(text.encode("utf-8")) <= MAX_PATH_BYTES
