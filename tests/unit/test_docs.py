"""What the documents say is what there is."""

import re
from pathlib import Path

import pytest

from ranker_service.profiles.catalog import ProfileCatalog

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = {".venv", "node_modules", ".build", "handbook", "corpus"}
DOCUMENTS = [path for path in ROOT.rglob("*.md") if not ELSEWHERE & set(path.parts)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text("utf-8"))
    missing = [link for link in links if "://" not in link and not (document.parent / link).exists()]
    assert missing == []


def test_every_make_target_of_the_readme_exists() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    text = "".join(path.read_text("utf-8") for path in DOCUMENTS)
    assert set(re.findall(r"`?make ([a-z-]+)`", text)) <= targets
    assert {"demo", "test", "check", "setup"} <= targets


def test_the_default_profile_is_what_the_quality_page_says() -> None:
    profile = ProfileCatalog.load().default()
    page = (ROOT / "docs" / "quality.md").read_text("utf-8")
    for value in (profile.rerank.power, profile.rerank.rrf_weight, profile.selection.relevance_floor):
        assert f"{value:g}" in page
