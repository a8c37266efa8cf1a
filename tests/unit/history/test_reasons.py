"""What callers are told of errors."""

import inspect

from history_service.domain import errors
from history_service.rpc.reasons import OWN_ROWS, row_of
from ranktrail.errors.v1 import error_reason_pb2
from ranktrail_serving.status import INTERNAL, INTERNAL_MESSAGE, status_of

ROOTS = {errors.HistoryError, errors.StoreUnusable}
"""Never raised themselves."""
AT_START = (errors.StoreUnusable,)
"""Raised before there is anybody to answer."""


def _all_errors() -> list[type[errors.HistoryError]]:
    classes = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]
    return [kind for kind in classes if kind not in ROOTS and not issubclass(kind, AT_START)]


def test_every_error_has_a_row_and_every_row_an_error() -> None:
    assert set(_all_errors()) == set(OWN_ROWS)


def test_every_reason_is_one_of_the_contract() -> None:
    known = {name.removeprefix("ERROR_REASON_") for name in error_reason_pb2.ErrorReason.DESCRIPTOR.values_by_name}
    assert {row.reason for row in OWN_ROWS.values()} <= known


def test_a_defect_shows_nothing_of_itself() -> None:
    defect = KeyError("/home/somebody/secret")
    assert row_of(defect) is INTERNAL
    assert status_of(row_of(defect), defect).message == INTERNAL_MESSAGE
    refused = errors.WriteFailed("disk /dev/sda1 is full")
    assert status_of(row_of(refused), refused).message == INTERNAL_MESSAGE
