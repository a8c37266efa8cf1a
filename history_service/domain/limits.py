"""Every limit of what history takes in, in one place. Sizes of text are bytes of UTF-8."""

MAX_RUN_ID_CHARACTERS = 128
MAX_PROJECT_ID_BYTES = 512
MAX_QUERY_BYTES = 8_192
MAX_QUERY_TEXT_BYTES = 1_024
MAX_PURPOSE_BYTES = 64
MAX_INSTANCE_ID_BYTES = 128
MAX_REVISION_BYTES = 1_024
MAX_STAGE_BYTES = 64
MAX_STAGE_LATENCIES = 64
MAX_FAILURE_CODE_BYTES = 128
MAX_FAILURE_SUMMARY_BYTES = 1_024

MAX_UNANSWERED_RUNS = 32
"""Runs of one recording stream that were begun and not answered."""
MAX_FRAME_CANDIDATES = 256
MAX_RUN_CANDIDATES = 500
MAX_RUN_CANDIDATE_BYTES = 2_621_440
"""All candidates of a Run as they travel, so that a Run with its resources fits into one message of 4 MiB."""
MAX_UNIT_KEY_BYTES = 2_048
MAX_EXCERPT_CHARACTERS = 1_200
MAX_HEADING_PATH_BYTES = 4_096

MAX_RESOURCE_ID_BYTES = 512
MAX_KIND_BYTES = 64
MAX_PATH_BYTES = 1_024
MAX_TITLE_BYTES = 1_024
MAX_MEDIA_TYPE_BYTES = 255
MAX_RESOURCE_BYTES = 33_554_432

MAX_MANIFEST_RESOURCES = 200_000
MAX_FRAME_RESOURCES = 256
MAX_BLOB_FRAME_BYTES = 1_048_576
MAX_DIGESTS_PER_MESSAGE = 10_000

MAX_CATEGORY_BYTES = 128
MAX_NOTES_BYTES = 8_192
MAX_AUTHOR_BYTES = 256
MAX_REQUEST_ID_BYTES = 128
MAX_CORPUS_TEXT_BYTES = 1_024
MAX_RELEVANCE = 3
MAX_JUDGMENTS = 5_000
MAX_JUDGMENT_BYTES = 1_048_576
"""The text of all judgments of a set, so that a case with its judgments fits into one message of 4 MiB."""
MAX_REPORT_CASES = 3_500
"""Cases of one report, so that it fits into one message of 4 MiB."""
MAX_FIXTURE_BYTES = 68_719_476_736
"""An exported set on its way in; it lies on disk until it is checked."""
MAX_EXPORT_SECONDS = 600
"""How long one export may hold its state of the database, whose log cannot shrink meanwhile."""
MAX_BACKUP_SECONDS = 3_600
"""How long one backup may hold bodies that a collection would remove."""

DEFAULT_PAGE_SIZE = 50
MAX_PAGE_SIZE = 100
MAX_PAGE_TOKEN_CHARACTERS = 4_096
