"""docs/api.md says what the declaration says."""

from pathlib import Path

from streaming.web.reference import text

DOCS = Path(__file__).parents[2] / "docs" / "api.md"


def test_the_document_is_the_declaration() -> None:
    assert DOCS.read_text(encoding="utf-8") == text(), "python -m streaming.web.reference > docs/api.md"
