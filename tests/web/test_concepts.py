"""The drawings of docs/concepts.md are those that the page would draw today."""

from xml.etree import ElementTree

import pytest

from tests.web.concepts import CONCEPTS, DOCS, drawing


@pytest.mark.parametrize("name", CONCEPTS)
def test_a_drawing_is_of_today(name: str) -> None:
    drawn = drawing(CONCEPTS[name])
    ElementTree.fromstring(drawn)
    assert (DOCS / f"{name}.svg").read_text(encoding="utf-8") == drawn, "make picture draws them anew"
    assert f"concepts/{name}.svg" in DOCS.with_suffix(".md").read_text(encoding="utf-8")
