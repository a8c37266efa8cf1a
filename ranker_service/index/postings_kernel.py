"""The compiled loop of a BM25 query: add up the postings of its terms, keep the best rows.

It allocates nothing and touches nothing but the postings of the query's terms and the rows that they name, so its cost
does not grow with the corpus; it runs without the interpreter lock.
"""

from typing import Any

import numpy as np

from ranker_service.index.compiled import compiled

TIE_SCALE = 1e12
"""Scores that agree to twelve places tie (domain.ranking.TIE_PLACES)."""


def _precedes(key: Any, row: Any, other_key: Any, other_row: Any) -> Any:
    """Say whether a row ranks before another: the higher key, then the lower row."""
    return key > other_key or (key == other_key and row < other_row)


_ranks_before = compiled(_precedes)


def _sift_down(keys: Any, rows: Any, size: Any) -> None:
    """Restore the heap, whose root ranks last, after its root was replaced."""
    here = np.uint64(0)
    while True:
        last = here
        for child in (np.uint64(2) * here + np.uint64(1), np.uint64(2) * here + np.uint64(2)):
            if child < size and _ranks_before(keys[last], rows[last], keys[child], rows[child]):
                last = child
        if last == here:
            return
        keys[here], keys[last] = keys[last], keys[here]
        rows[here], rows[last] = rows[last], rows[here]
        here = last


def _sift_up(keys: Any, rows: Any, here: Any) -> None:
    """Restore the heap after an element was appended at `here`."""
    while here > np.uint64(0):
        parent = (here - np.uint64(1)) // np.uint64(2)
        if not _ranks_before(keys[parent], rows[parent], keys[here], rows[here]):
            return
        keys[here], keys[parent] = keys[parent], keys[here]
        rows[here], rows[parent] = rows[parent], rows[here]
        here = parent


_descend = compiled(_sift_down)
_ascend = compiled(_sift_up)


def _accumulate(
    terms: Any, offsets: Any, rows: Any, contributions: Any, scores: Any, is_touched: Any, touched: Any
) -> Any:
    """Add the contributions of each term's postings in `terms` order; return how many rows were touched."""
    count = np.uint64(0)
    for term in terms:
        for posting in range(offsets[term], offsets[np.uint64(term) + np.uint64(1)]):
            row = rows[posting]
            if is_touched[row]:
                scores[row] += contributions[posting]
            else:
                is_touched[row] = True
                scores[row] = contributions[posting]
                touched[count] = row
                count += np.uint64(1)
    return count


_add_up = compiled(_accumulate)


def _search(
    terms: Any,
    offsets: Any,
    rows: Any,
    contributions: Any,
    allowed: Any,
    scores: Any,
    is_touched: Any,
    touched: Any,
    best_keys: Any,
    best_rows: Any,
) -> Any:
    """Fill `best_rows` with the rows that rank first, in no order, and return how many there are.

    `allowed` is empty or says of each row whether it may rank. `scores` afterwards holds the score of each best row;
    `is_touched` is all false before and after.
    """
    count = _add_up(terms, offsets, rows, contributions, scores, is_touched, touched)
    size = np.uint64(0)
    limit = np.uint64(best_rows.size)
    for position in range(count):
        row = touched[position]
        is_touched[row] = False
        if allowed.size and not allowed[row]:
            continue
        key = np.rint(scores[row] * TIE_SCALE)
        if size < limit:
            best_keys[size], best_rows[size] = key, row
            _ascend(best_keys, best_rows, size)
            size += np.uint64(1)
        elif _ranks_before(key, row, best_keys[0], best_rows[0]):
            best_keys[0], best_rows[0] = key, row
            _descend(best_keys, best_rows, size)
    return size


search_postings = compiled(_search)
