"""The last commit of each partition of a group, from the commits of a range of the coordinator's log.

    offset  record
    100     orders  t-0  at 40
    101     orders  t-1  at 7
    102     orders  t-0  at 45
    103     orders  t-1  deleted         told: t-0 at 45, t-1 at nothing

Metadata of commits, which are clients' own words, go no further. Whether a commit was made in a transaction, and how
that ended, no record says (`commits`).
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from rebalance_monitor.schemas.offset_commits import commit_place, committed

LoggedCommits: TypeAlias = Mapping[tuple[str, int], tuple[int, int] | None]
"""By topic and partition: the offset, and when it was committed (ms, by the coordinator's clock); None: deleted."""


class LastCommits(NamedTuple):
    """By group. `readable`: no record that may be a commit of these groups was one that nobody can read."""

    groups: Mapping[str, LoggedCommits]
    readable: bool = True


NO_COMMITS = LastCommits({})


def last_commits(raw: Mapping[bytes, bytes | None], wanted: Callable[[str], bool]) -> LastCommits:
    """`raw`: the last value of each key. `wanted`: whether a group's commits are."""
    groups: dict[str, dict[tuple[str, int], tuple[int, int] | None]] = {}
    readable = True
    for key, value in raw.items():
        place = commit_place(key)
        if place is None:
            readable = False
            continue
        group, topic, partition = place
        if not wanted(group):
            continue
        told = None if value is None else committed(key, value)
        if told is None and value is not None:
            readable = False
        else:
            groups.setdefault(group, {})[topic, partition] = told
    return LastCommits(groups, readable)
