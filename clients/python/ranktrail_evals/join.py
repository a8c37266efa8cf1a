"""Which of a record's citations a retrieval brought.

Ids and citations may live in different namespaces: offline a record declares its own citation ids, live a ranker names
units. The join decides which comparison means something, and says so when none does. The metric, the failure labels and
the answer's citations all use this one.
"""

from collections.abc import Iterator, Sequence

from ranktrail_evals.passages import Cited, Context
from ranktrail_evals.words import words

SHARE_OF_WORDS = 0.6
"""A context that has at least this share of a citation's distinct words holds it."""

Matches = tuple[frozenset[str], ...]
"""For each retrieved thing, best first, the citations that it brought."""


def resolve_retrieved_citations(
    citations: Sequence[Cited],
    relevant_ids: Sequence[str | None],
    retrieved_ids: Sequence[str | None] | None,
    contexts: Sequence[Context],
) -> frozenset[str] | None:
    """Return the declared citations that were retrieved, None where that cannot be decided.

    Without relevant ids there is nothing to decide. An empty `retrieved_ids` is an empty retrieval, whatever else is
    there. Ids that overlap the declared ones share their namespace, and decide; else the texts do, when every relevant
    citation has one and there are contexts.
    """
    matches = retrieved_matches(citations, relevant_ids, retrieved_ids, contexts)
    return None if matches is None else frozenset(one for brought in matches for one in brought)


def retrieved_matches(
    citations: Sequence[Cited],
    relevant_ids: Sequence[str | None],
    retrieved_ids: Sequence[str | None] | None,
    contexts: Sequence[Context],
) -> Matches | None:
    """Return what each retrieved id, or each context where texts decide, brought; None as in the resolution.

    A passage that only several neighbouring contexts hold together counts for each of them.
    """
    declared = {one.citation_id: one.text for one in citations if one.citation_id is not None}
    relevant = {one for one in relevant_ids if one is not None}
    if not relevant:
        return None
    if retrieved_ids is not None and not retrieved_ids:
        return ()
    if retrieved_ids is not None and not declared.keys().isdisjoint(retrieved_ids):
        return tuple(frozenset([one] if one is not None and one in declared else []) for one in retrieved_ids)
    texts = {one: split for one, text in declared.items() if (split := words(text or ""))}
    if not contexts or not relevant <= texts.keys():
        return None
    return _by_text(texts, contexts)


def holds_text(context: str, passage: str) -> bool:
    """Say whether a context holds a passage: its words in a row, or enough of its distinct words."""
    return _holds(words(context), words(passage))


def _by_text(texts: dict[str, list[str]], contexts: Sequence[Context]) -> Matches:
    split = [words(context.text) for context in contexts]
    found = [{one for one, passage in texts.items() if _holds(context, passage)} for context in split]
    for chain in _chains(contexts):
        together = {word for place in chain for word in split[place]}
        held = {one for one, passage in texts.items() if _has_enough(together, passage)}
        held -= set[str]().union(*(found[place] for place in chain))
        for place in chain:
            found[place] |= held
    return tuple(frozenset(one) for one in found)


def _holds(context: Sequence[str], passage: Sequence[str]) -> bool:
    in_a_row = f" {' '.join(passage)} " in f" {' '.join(context)} "
    return in_a_row or _has_enough(set(context), passage)


def _has_enough(held: set[str], passage: Sequence[str]) -> bool:
    distinct = set(passage)
    return len(distinct & held) / len(distinct) >= SHARE_OF_WORDS


def _chains(contexts: Sequence[Context]) -> Iterator[list[int]]:
    """Yield the places of contexts that touch or overlap each other in one resource, where they are several."""
    spans = sorted(
        (context.resource_id, context.start_byte, context.end_byte, place)
        for place, context in enumerate(contexts)
        if context.resource_id is not None and context.start_byte is not None and context.end_byte is not None
    )
    chain: list[int] = []
    resource, reached = "", 0
    for resource_id, start, end, place in spans:
        if chain and resource_id == resource and start <= reached:
            chain.append(place)
            reached = max(reached, end)
        else:
            if len(chain) > 1:
                yield chain
            chain, resource, reached = [place], resource_id, end
    if len(chain) > 1:
        yield chain
