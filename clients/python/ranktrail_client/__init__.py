"""The Python client of Ranktrail's services. Its types are the messages of the contract."""

from ranktrail_client.certificates import Certificates
from ranktrail_client.client import AsyncClient, Client
from ranktrail_client.data_directory import resolve_data_directory
from ranktrail_client.errors import RanktrailError
from ranktrail_client.frames import commit_frames
from ranktrail_client.message_json import message_json
from ranktrail_client.paging import async_pages, pages

__all__ = [
    "AsyncClient",
    "Certificates",
    "Client",
    "RanktrailError",
    "async_pages",
    "commit_frames",
    "message_json",
    "pages",
    "resolve_data_directory",
]
