"""Why groups rebalance, from stored generations: all that is read for it is bounded, and the answer says so."""

from collections.abc import Collection, Iterator, Sequence
from threading import Lock
from typing import Any

from rebalance_monitor.streaming.stories import at_once, why
from .reader import Reader
from .rows import GroupName
from .scope import Scope
from .statements import WAIT_S, Unavailable

USUAL_WHY_MS, USUAL_AT_ONCE_MS = 7 * 24 * 3_600_000, 3_600_000
KEPT_MS = 60_000
"""So long the fleet's page shows the events that it found."""
MOST_INCIDENTS = 1_000
A_READ = 50
"""Generations of one statement: those of large groups are large."""
MOST_MOMENTS, MOST_RANGES, MOST_DOCUMENTS = 10_000, 50, 500
"""So many rebalances of all groups are looked at for whether many came at once, so many times in which they did, and so
many generations of these: the newest."""
Object = dict[str, Any]


def why_object(reader: Reader, key: GroupName, since_ms: int, until_ms: int) -> Object:
    """The ranking of one group between two moments."""
    found, complete = why.newest(documents_of(reader, key, since_ms, until_ms))
    if complete and since_ms:
        found += _documents_before(reader, key, since_ms)
    violations = violations_of(reader, key, since_ms, until_ms)
    return why.ranking_object(*key, since_ms, why.ranking(found, since_ms, violations=violations, all_of_them=complete))


def violations_of(reader: Reader, key: GroupName, since_ms: int, until_ms: int) -> list[Object]:
    """A group's incidents that were open between two moments: the newest."""
    where = {"cluster": key[0], "group": key[1], "since_ms": since_ms, "until_ms": until_ms}
    return [row.document for row in reader.incidents(where, "all", None, MOST_INCIDENTS).items]


def at_once_object(
    reader: Reader,
    only: Collection[GroupName] | None,
    since_ms: int,
    until_ms: int,
    cluster: str | None = None,
    *,
    most_documents: int = MOST_DOCUMENTS,
) -> Object:
    """Rebalances of many groups as one event each, the newest first. `only`: the groups that may be looked at."""
    told = reader.moments(since_ms, until_ms, only, MOST_MOMENTS + 1)
    moments = [at_once.GroupMoment(*one) for one in told[:MOST_MOMENTS] if cluster in (None, one[0])]
    found = at_once.ranges(moments)
    events, complete, left = [], len(told) <= MOST_MOMENTS and len(found) <= MOST_RANGES, most_documents
    members: dict[str, _WithMembers] = {}
    for name, from_ms, to_ms in found[:MOST_RANGES]:
        count = sum(one.cluster == name and from_ms <= one.at_ms <= to_ms for one in moments)
        if count > left:
            complete = False
            continue
        left -= count
        rows = reader.generations({"cluster": name, "since_ms": from_ms, "until_ms": to_ms}, only, most_documents).items
        before = reader.newest_before(from_ms, name, {(name, row.group) for row in rows}, empty=True)
        documents = [*(row.document for row in rows), *before]
        there = members.setdefault(name, _WithMembers(reader, name, only, moments)).at(to_ms)
        events += at_once.found_at_once(documents, from_ms, to_ms, there)
    return at_once.at_once_object(since_ms, events, all_of_them=complete)


class RecentEvents:
    """Events of the last hour for the fleet's page, which browsers load again and again: for each scope one request
    looks for them, at most once in KEPT_MS. Safe for many threads."""

    def __init__(self) -> None:
        self._found: dict[Scope, tuple[int, list[Object]]] = {}
        self._looking: dict[Scope, Lock] = {}

    def events(self, reader: Reader, scope: Scope, only: Collection[GroupName] | None, now_ms: int) -> list[Object]:
        """`only`: the groups of the scope. While another request looks, what was found before; Unavailable."""
        looking = self._looking.setdefault(scope, Lock())
        if not looking.acquire(timeout=0 if scope in self._found else WAIT_S):
            if scope in self._found:
                return self._found[scope][1]
            raise Unavailable("too many requests at once; try again in a moment")
        try:
            at_ms, events = self._found.get(scope, (None, []))
            if at_ms is None or abs(now_ms - at_ms) >= KEPT_MS:
                events = at_once_object(reader, only, now_ms - USUAL_AT_ONCE_MS, now_ms)["events"]
                self._found[scope] = now_ms, events
            return events
        finally:
            looking.release()


class _WithMembers:
    """The groups of a cluster that have members, at moments of which each is earlier than the one before. All are read
    at the first of them, and then those alone that rebalanced since. `moments`: of all rebalances up to the first."""

    def __init__(
        self,
        reader: Reader,
        cluster: str,
        only: Collection[GroupName] | None,
        moments: Sequence[at_once.GroupMoment],
    ) -> None:
        self._reader, self._cluster, self._only, self._moments = reader, cluster, only, moments
        self._found: dict[str, at_once.GroupStanding] = {}
        self._at_ms: int | None = None

    def at(self, at_ms: int) -> Iterator[at_once.GroupStanding]:
        """They as of this moment; nothing is read before the first one is taken."""
        again = self._only if self._at_ms is None else self._rebalanced(at_ms, self._at_ms)
        for _, group in again or ():
            self._found.pop(group, None)
        if again is None or again:
            documents = self._reader.newest_before(at_ms + 1, self._cluster, again, empty=False)
            self._found |= {one["group"]: at_once.standing(one) for one in documents}
        self._at_ms = at_ms
        yield from self._found.values()

    def _rebalanced(self, after_ms: int, until_ms: int) -> set[GroupName]:
        return {
            (one.cluster, one.group)
            for one in self._moments
            if one.cluster == self._cluster and after_ms < one.at_ms <= until_ms
        }


def documents_of(reader: Reader, key: GroupName, since_ms: int, until_ms: int) -> Iterator[Object]:
    """A group's generations between two moments, the newest first; read as they are taken."""
    where = {"cluster": key[0], "group": key[1], "since_ms": since_ms, "until_ms": until_ms}
    after = None
    while True:
        page = reader.generations(where, None, A_READ, after)
        yield from (row.document for row in page.items)
        after = page.next
        if after is None:
            return


def _documents_before(reader: Reader, key: GroupName, at_ms: int) -> list[Object]:
    """The generation before a moment, if there is one."""
    where = {"cluster": key[0], "group": key[1], "until_ms": at_ms - 1}
    return [row.document for row in reader.generations(where, None, 1).items]
