"""Test collections: documents, queries, and how relevant which document is to which query.

Each format has a reader of its own. A reader checks everything before it returns, so that what it returns can be
imported whole.
"""

from ranktrail_client.collections.beir import read_beir
from ranktrail_client.collections.collection import Collection, Document, Query
from ranktrail_client.collections.cranfield import read_cranfield
from ranktrail_client.collections.lines import CollectionInvalid

__all__ = ["Collection", "CollectionInvalid", "Document", "Query", "read_beir", "read_cranfield"]
