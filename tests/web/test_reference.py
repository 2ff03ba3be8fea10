"""docs/api.md says what the declaration says."""

from pathlib import Path

from rebalance_monitor.streaming.web.reference import text

DOCS = Path(__file__).parents[2] / "docs" / "api.md"


def test_the_document_is_the_declaration() -> None:
    command = "python -m rebalance_monitor.streaming.web.reference > docs/api.md"
    assert DOCS.read_text(encoding="utf-8") == text(), command
