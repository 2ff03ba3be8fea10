"""Documents lead where they say: every link inside the clone, and every path that CONTRIBUTING names, is there."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.rooms import PAGE, PLACE, drawing

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
ABBREVIATED = {"core": ROOT / "streaming" / "core"}
"""CONTRIBUTING says so."""
PATH = re.compile(r"`((?:core|streaming|schemas|assignors|dashboards|lab|tests|docs|conf)/[\w./*-]+)`")


def anchor(heading: str) -> str:
    """How a heading is linked to: lower case, without punctuation, `-` for each space."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def lost(page: Path, text: str) -> Iterator[str]:
    for target, wanted in LINK.findall(text):
        path = (page.parent / target).resolve() if target else page
        if not path.exists():
            yield target
        elif wanted and wanted not in map(anchor, HEADING.findall(path.read_text(encoding="utf-8"))):
            yield f"{target}#{wanted}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert list(lost(page, page.read_text(encoding="utf-8"))) == []


def test_every_path_of_the_recipes_is_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    gone = []
    for path in PATH.findall(text):
        first, _, rest = path.partition("/")
        if not any(ABBREVIATED.get(first, ROOT / first).glob(rest.rstrip("/") or "*")):
            gone.append(path)
    assert gone == []


def test_the_drawing_of_the_rooms_is_that_of_the_import_contracts() -> None:
    assert PLACE.findall(PAGE.read_text(encoding="utf-8")) == [drawing()], "make rooms draws it"


def test_a_link_that_leads_nowhere_is_found() -> None:
    text = "[a](README.md#try-it) [b](gone.md) [c](README.md#never) [d](https://example.org) [e](#here)\n# Here\n"
    assert list(lost(ROOT / "CONTRIBUTING.md", text)) == ["gone.md", "README.md#never", "#here"]
