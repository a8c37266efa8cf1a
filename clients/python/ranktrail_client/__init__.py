"""The Python client of Ranktrail's services. Its types are the messages of the contract."""

from ranktrail_client.client import Client
from ranktrail_client.data_directory import resolve_data_directory
from ranktrail_client.errors import RanktrailError
from ranktrail_client.frames import commit_frames
from ranktrail_client.message_json import message_json
from ranktrail_client.paging import pages

__all__ = ["Client", "RanktrailError", "commit_frames", "message_json", "pages", "resolve_data_directory"]
