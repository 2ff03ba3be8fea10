"""What settings that need no value would have saved, from stored generations: what is read and computed is bounded."""

from typing import Any

from rebalance_monitor.streaming.stories.known import Published
from rebalance_monitor.streaming.stories.whatif.advice import AskedHistory
from rebalance_monitor.streaming.stories.whatif.usual_advice import looked_at, usual_object
from .reader import Reader
from .rows import GroupName
from .why import documents_of

USUAL_ADVICE_MS = 7 * 24 * 3_600_000
MOST_HELD_SHOWN = 5_000
"""On a page, which somebody waits for; of the API see `usual_advice`."""
MOST_KEPT = 256
Object = dict[str, Any]


def usual_advice_object(reader: Reader, key: GroupName, since_ms: int, until_ms: int, *, there: bool) -> Object:
    """Of the generations between two moments. `there`: members are in the group at the second one."""
    found, whole = looked_at(documents_of(reader, key, since_ms, until_ms))
    return usual_object(AskedHistory(*key, found, whole=whole, until_ms=until_ms, there=there), since_ms)


class RecentAdvice:
    """Of the generations that a group's page shows, for browsers that load it again and again: computed anew once there
    is another one. Safe for many threads: two at once compute the same."""

    def __init__(self) -> None:
        self._found: dict[GroupName, tuple[object, Object]] = {}

    def of(self, key: GroupName, shown: list[Published], *, complete: bool, there: bool) -> Object:
        """`shown`: the newest first; `complete`: there are no older ones."""
        mark = [one["source"] for one in (*shown[:1], *shown[-1:])], len(shown), complete, there
        known, told = self._found.get(key, (None, {}))
        if known != mark:
            found, whole = looked_at(shown, MOST_HELD_SHOWN)
            until_ms = found[0]["at_ms"] if found else 0
            history = AskedHistory(*key, found, whole=whole and complete, until_ms=until_ms, there=there)
            told = usual_object(history, None)
            while len(self._found) >= MOST_KEPT:
                self._found.pop(next(iter(self._found)), None)
            self._found[key] = mark, told
        return told
