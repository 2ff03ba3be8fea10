"""What is asked for in turn, because there may be too much of it for one time."""

from bisect import bisect_right
from collections.abc import Iterable


def next_of(names: Iterable[str], after: str | None, most: int) -> list[str]:
    """The next names in turn, at most so many, each once; `after`: the last of the turn before."""
    order = sorted(names)
    at = 0 if after is None else bisect_right(order, after)
    return [*order[at:], *order[:at]][:most]
