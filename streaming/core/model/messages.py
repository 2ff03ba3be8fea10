"""What messages have in common: moments, and lists that stay short."""

from collections.abc import Iterable
from datetime import UTC, datetime


def utc(at_ms: int) -> str:
    """`2026-11-23 10:05:00 UTC`; the number itself where it is no day of any calendar.

    What goes on is told as *since*: a duration would be wrong a minute later.
    """
    try:
        return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, OSError, ValueError):
        return f"{at_ms} ms"


def listed(names: Iterable[str], most: int = 5) -> str:
    """Names in one line, the many after the first `most` as a number."""
    known = list(names)
    more = f" and {len(known) - most} more" if len(known) > most else ""
    return ", ".join(known[:most]) + more


def counted(count: int, what: str) -> str:
    """`1 copy`, `2 copies`."""
    return f"1 {what}" if count == 1 else f"{count} {what[:-1]}ies" if what.endswith("y") else f"{count} {what}s"
