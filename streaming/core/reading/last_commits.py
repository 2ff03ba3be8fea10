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
from typing import NamedTuple

from rebalance_monitor.schemas.offset_commits import commit_place, committed


class LoggedCommit(NamedTuple):
    """`offset`: None where it was deleted, and then there is no `commit_ms` (by the coordinator's clock)."""

    group: str
    topic: str
    partition: int
    offset: int | None
    commit_ms: int | None


class LastCommits(NamedTuple):
    """`readable`: no record that may be a commit of these groups was one that nobody can read."""

    commits: tuple[LoggedCommit, ...]
    readable: bool = True


NO_COMMITS = LastCommits(())


def last_commits(raw: Mapping[bytes, bytes | None], wanted: Callable[[str], bool]) -> LastCommits:
    """`raw`: the last value of each key. `wanted`: whether a group's commits are."""
    found: list[LoggedCommit] = []
    readable = True
    for key, value in raw.items():
        place = commit_place(key)
        if place is None or place.topic is None or place.partition is None:
            readable = False
        elif not wanted(place.group):
            continue
        elif value is None:
            found.append(LoggedCommit(place.group, place.topic, place.partition, None, None))
        elif (told := committed(key, value)) is None:
            readable = False
        else:
            found.append(LoggedCommit(place.group, place.topic, place.partition, *told))
    return LastCommits(tuple(found), readable)
