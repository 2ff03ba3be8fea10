"""Moments as messages name them. What goes on is told as *since*: a duration would be wrong a minute later."""

from datetime import UTC, datetime


def utc(at_ms: int) -> str:
    """`2026-11-23 10:05:00 UTC`; the number itself where it is no day of any calendar."""
    try:
        return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, OSError, ValueError):
        return f"{at_ms} ms"
