"""Somebody who judges one case over and over, as a process of its own: `judge TARGET CASE AUTHOR ROUNDS`.

Each round reads the version and replaces the judgments, again and again until it succeeds; every success is sent a
second time, as if its answer had been lost. Prints the versions made, as JSON.
"""

import json
import sys

import grpc

from tests import history_cases as cases
from tests.fakes.history_server import HistoryClient


def main(target: str, case_id: str, author: str, rounds: int) -> None:
    """Judge."""
    client = HistoryClient(target)
    print(json.dumps([_judge(client, case_id, author, number) for number in range(rounds)]))  # noqa: T201
    client.close()


def _judge(client: HistoryClient, case_id: str, author: str, number: int) -> int:
    judgment = cases.a_judgment(notes=f"{author} {number}")
    request = {"author": author, "request_id": f"{author}-{number}"}
    expected = cases.get(client, case_id).evaluation_case.judgment_version
    while True:
        try:
            first = cases.replace(client, case_id, expected, judgment, **request)
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.ABORTED:  # type: ignore[attr-defined]
                raise
            expected = cases.get(client, case_id).evaluation_case.judgment_version
        else:
            assert cases.replace(client, case_id, expected, judgment, **request) == first
            return int(first.judgment_version)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
