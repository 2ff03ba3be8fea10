"""In which days generations are looked for: each day is a partition of its own, and a list that is short seldom needs
more than the last ones. A statement says the days as numbers: PostgreSQL then plans over these days alone.

    [newest - 1, …]     [newest - 8, …]     all that was asked for          until one of them fills the list
"""

from collections.abc import Iterator, Mapping
from typing import Any, LiteralString

from rebalance_monitor.streaming.core.columns import day_of

DAYS_BEHIND = 1, 8
LEAST, GREATEST = -(2**31), 2**31 - 1
"""What the column `day` can hold; a day beyond is stored as the nearest one."""
UNRESTRICTED = frozenset(("cluster", "group", "since_ms", "until_ms"))
"""What may be asked for without making generations rare in each day."""

Condition = tuple[list[LiteralString], list[int]]


def within(since_ms: int | None, until_ms: int | None = None) -> Condition:
    """The condition that a moment lies on these days, and its values; no bound: None."""
    return _between(None if since_ms is None else _stored(since_ms), None if until_ms is None else _stored(until_ms))


def spans(asked: Mapping[str, Any], newest_day: int | None, before_ms: int | None) -> Iterator[Condition]:
    """One condition after the other, each with more days. `asked`: column to value; `newest_day`: where generations are
    known to be, None: nowhere; `before_ms`: only those up to this moment are wanted."""
    since, until = asked.get("since_ms"), asked.get("until_ms")
    latest = [_stored(one) for one in (until, before_ms) if one is not None]
    low, high = None if since is None else _stored(since), min(latest, default=None)
    if asked.keys() <= UNRESTRICTED and (latest or newest_day is not None):
        newest = min(one for one in (*latest, newest_day) if one is not None)
        for behind in DAYS_BEHIND:
            if low is not None and newest - behind <= low:
                break
            yield _between(newest - behind, high)
    yield _between(low, high)


def before(at_ms: int) -> Iterator[Condition]:
    """The day of a moment with the one before it, as brokers' clocks differ, and then all earlier ones."""
    day = _stored(at_ms)
    yield _between(day - 1, day)
    yield _between(None, day - 2)


def since(at_ms: int) -> Iterator[Condition]:
    """The day of a moment with the one after it, and then all later ones."""
    day = _stored(at_ms)
    yield _between(day, day + 1)
    yield _between(day + 2, None)


def _stored(at_ms: int) -> int:
    return min(max(day_of(at_ms), LEAST), GREATEST)


def _between(low: int | None, high: int | None) -> Condition:
    bounds: list[tuple[LiteralString, int | None]] = [("day >= %s", low), ("day <= %s", high)]
    given = [(text, day) for text, day in bounds if day is not None]
    return [text for text, _ in given], [day for _, day in given]
