"""Which Runs a reader wants to see, as the address of the page says it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Self
from urllib.parse import urlencode

from google.protobuf.timestamp_pb2 import Timestamp

from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail.history.v1.history_service_pb2 import RetrievalRun
from ranktrail_client.message_json import enum_number, enum_words
from ranktrail_diagnostics import words

STATES = enum_words(RetrievalRun.State.DESCRIPTOR)
PINNED = {"pinned": True, "unpinned": False}
PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class RunFilter:
    """The choices of a reader; an empty one chooses nothing. Days are UTC and both included."""

    project: str = ""
    state: str = ""
    text: str = ""
    first_day: date | None = None
    last_day: date | None = None
    pinned: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Self:
        """Read the query of an address; what is no choice counts as none."""
        return cls(
            project=query.get("project", ""),
            state=query.get("state", "") if query.get("state") in STATES else "",
            text=query.get("text", "").strip(),
            first_day=_day(query.get("from", "")),
            last_day=_day(query.get("to", "")),
            pinned=query.get("pinned", "") if query.get("pinned") in PINNED else "",
        )

    @property
    def query(self) -> str:
        """The choices as the query of an address."""
        values = {
            "project": self.project,
            "state": self.state,
            "text": self.text,
            "from": "" if self.first_day is None else self.first_day.isoformat(),
            "to": "" if self.last_day is None else self.last_day.isoformat(),
            "pinned": self.pinned,
        }
        return urlencode({name: value for name, value in values.items() if value})

    def request(self, page_token: str) -> pb.ListRetrievalRunsRequest:
        """Return the request for a page."""
        request = pb.ListRetrievalRunsRequest(
            page_size=PAGE_SIZE, page_token=page_token, project_id=self.project, query_text=self.text
        )
        if self.state:
            number = enum_number(RetrievalRun.State.DESCRIPTOR, self.state)
            request.state = RetrievalRun.State.ValueType(number)
        if self.first_day is not None:
            request.create_time_from.CopyFrom(_midnight(self.first_day))
        if self.last_day is not None and self.last_day < date.max:
            request.create_time_to.CopyFrom(_midnight(self.last_day + timedelta(days=1)))
        if self.pinned:
            request.pinned = PINNED[self.pinned]
        return request

    def chooses(self, run: RetrievalRun) -> bool:
        """Say whether a Run is one of those that the request lists."""
        created = words.as_datetime(run.create_time)
        day = None if created is None else created.date()
        return (
            self.project in {"", run.project_id}
            and self.state in {"", words.state(run)}
            and self.text.casefold() in run.query.casefold()
            and (self.first_day is None or (day is not None and day >= self.first_day))
            and (self.last_day is None or (day is not None and day <= self.last_day))
            and (not self.pinned or PINNED[self.pinned] == run.HasField("evaluation_case_id"))
        )


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _midnight(day: date) -> Timestamp:
    moment = Timestamp()
    moment.FromDatetime(datetime(day.year, day.month, day.day, tzinfo=UTC))
    return moment
