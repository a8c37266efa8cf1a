"""The sample memory that ships with the CLI: two folders of Markdown, five queries, and one edit."""

import shutil
import tomllib
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Self

QUERY_FILE = "queries.toml"


@dataclass(frozen=True, slots=True)
class SampleQuery:
    """A query and what it shows."""

    text: str
    why: str


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of one page of the project's layer, after which `query` has something to replace."""

    path: str
    find: str
    replace: str
    query: SampleQuery

    def apply(self, folder: Path) -> None:
        """Change the page below `folder`; raise ValueError unless `find` stands in it exactly once."""
        page = folder / self.path
        text = page.read_text("utf-8")
        if text.count(self.find) != 1:
            raise ValueError(f"{self.path} does not hold {self.find!r} exactly once")
        page.write_text(text.replace(self.find, self.replace), "utf-8")


@dataclass(frozen=True, slots=True)
class Handbook:
    """A copy of the sample memory that may be edited."""

    organization: Path
    project: Path
    queries: tuple[SampleQuery, ...]
    edit: Edit

    @classmethod
    def copy_to(cls, folder: Path) -> Self:
        """Copy what ships into `folder`, which must not exist yet."""
        with as_file(files("ranktrail_cli") / "handbook") as shipped:
            shutil.copytree(shipped, folder)
        document = tomllib.loads((folder / QUERY_FILE).read_text("utf-8"))
        queries = tuple(SampleQuery(row["text"], row["why"]) for row in document["query"])
        edit = document["edit"]
        return cls(
            folder / "organization",
            folder / "project",
            queries,
            Edit(edit["path"], edit["find"], edit["replace"], queries[edit["query"] - 1]),
        )
