"""Maintenance windows: while one runs, its incidents stay visible and are told to nobody.

A window names its owner and its reason and ends by itself, at most MAX_WINDOW_MS after its start: a window somebody
forgot must not hide a cluster for good.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

MAX_WINDOW_MS = 7 * 24 * 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance:
    """One window. `cluster` and `groups` are shell-style patterns; from `from_ms` until just before `until_ms`."""

    cluster: str
    groups: str
    owner: str
    reason: str
    from_ms: int
    until_ms: int
    window_id: str = ""

    def covers(self, cluster: str, group: str, now_ms: int) -> bool:
        """Whether this group's incidents are muted at `now_ms`."""
        inside = self.from_ms <= now_ms < self.until_ms
        return inside and fnmatchcase(cluster, self.cluster) and fnmatchcase(group, self.groups)

    def state(self, now_ms: int) -> str:
        """planned, running or over."""
        if now_ms < self.from_ms:
            return "planned"
        return "running" if now_ms < self.until_ms else "over"


def muting(windows: Iterable[Maintenance], cluster: str, group: str, now_ms: int) -> Maintenance | None:
    """The window that mutes this group now; of several the one that lasts longest."""
    running = [one for one in windows if one.covers(cluster, group, now_ms)]
    return max(running, key=lambda one: one.until_ms, default=None)


def problem(from_ms: int, until_ms: int) -> str | None:
    """What is wrong with a window's times, as the end of a sentence; None if nothing."""
    if until_ms <= from_ms:
        return "must end after it begins"
    if until_ms - from_ms > MAX_WINDOW_MS:
        return "may last 7 days at most"
    return None
