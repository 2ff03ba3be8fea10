"""Lag as people read it."""

from typing import Any

from .durations import duration

Object = dict[str, Any]


def lag_text(lag: int | None, lag_ms: int | None, at_least: bool) -> str:
    """5,800, 30 s; 40, at least 2.0 h; not known."""
    if lag is None:
        return "not known"
    if lag_ms is None or not lag:
        return f"{lag:,}"
    return f"{lag:,}, {'at least ' if at_least else ''}{duration(lag_ms)}"


def held_up_text(held: Object | None) -> str:
    """What a rebalance held up, in one sentence; "" where nobody asked for offsets."""
    if held is None:
        return ""
    several = f", {held['rebalances']} rebalances without a sample between them" if held["rebalances"] > 1 else ""
    if held["records"] is None:
        return f"What it held up is {held['why'] or 'not known yet'}{several}"
    if not held["records"]:
        text = "It held up no records that a sample shows"
    else:
        text = f"It held up {held['records']:,} records above the lag of {held['before']:,} before"
    if held["caught_up_ms"] is not None:
        took = duration(max(held["caught_up_ms"] - held["since_ms"], 0))
        return f"{text}; no more lag than before after {took}{several}"
    return f"{text}; {held['why'] or 'not caught up yet'}{several}"
