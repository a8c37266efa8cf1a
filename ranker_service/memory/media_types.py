"""Media types: a guess from the path, and the rules that read a type."""

from enum import Enum
from pathlib import PurePosixPath


class Rules(Enum):
    """How a body is cut into sections and blocks."""

    MARKDOWN = "markdown"
    PLAIN = "plain"
    CODE = "code"


MARKDOWN = "text/markdown"
PLAIN_TEXT = "text/plain"
UNKNOWN = "application/octet-stream"

# A table of our own: the system's differs between machines, and so would the index.
_BY_SUFFIX = {
    **dict.fromkeys(("md", "markdown", "mdown", "mkd", "mdx"), MARKDOWN),
    **dict.fromkeys(("txt", "text", "log", "adoc", "org", "tex"), PLAIN_TEXT),
    **dict.fromkeys(("ini", "cfg", "conf", "env", "properties"), PLAIN_TEXT),
    "rst": "text/x-rst",
    "html": "text/html",
    "htm": "text/html",
    "xml": "application/xml",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "css": "text/css",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "toml": "application/toml",
    "py": "text/x-python",
    "pyi": "text/x-python",
    **dict.fromkeys(("js", "jsx", "mjs", "cjs"), "text/javascript"),
    **dict.fromkeys(("ts", "tsx"), "text/x-typescript"),
    "go": "text/x-go",
    "rs": "text/x-rust",
    "java": "text/x-java",
    "kt": "text/x-kotlin",
    "scala": "text/x-scala",
    **dict.fromkeys(("c", "h"), "text/x-c"),
    **dict.fromkeys(("cc", "cpp", "cxx", "hpp", "hh"), "text/x-c++"),
    "cs": "text/x-csharp",
    "swift": "text/x-swift",
    "rb": "text/x-ruby",
    "php": "text/x-php",
    "lua": "text/x-lua",
    **dict.fromkeys(("sh", "bash", "zsh"), "text/x-shellscript"),
    "sql": "text/x-sql",
    "proto": "text/x-protobuf",
    "tf": "text/x-terraform",
}
_CODE = frozenset(media_type for media_type in _BY_SUFFIX.values() if media_type.startswith("text/x-")) - {
    "text/x-rst"
} | {
    "text/javascript",
    "application/javascript",
    "application/typescript",
    "text/css",
}
_TEXT_APPLICATIONS = frozenset(
    f"application/{name}"
    for name in ("json", "jsonl", "x-ndjson", "xml", "yaml", "x-yaml", "toml", "sql", "x-sh", "graphql")
)


def guess_media_type(path: str) -> str:
    """Return the media type that the file name's suffix stands for.

    A name without a suffix, such as README or .gitignore, is taken for plain text; an unknown suffix is
    application/octet-stream, which no parser handles.
    """
    suffix = PurePosixPath(path).suffix
    return _BY_SUFFIX.get(suffix[1:].lower(), UNKNOWN) if suffix else PLAIN_TEXT


def rules_of(media_type: str) -> Rules | None:
    """Return the rules that read `media_type`, its parameters aside; `None` where no parser handles it."""
    essence = media_type.split(";", 1)[0].strip().lower()
    if essence in (MARKDOWN, "text/x-markdown"):
        return Rules.MARKDOWN
    if essence in _CODE:
        return Rules.CODE
    if essence.startswith("text/") or essence in _TEXT_APPLICATIONS or essence.endswith(("+json", "+xml", "+yaml")):
        return Rules.PLAIN
    return None
