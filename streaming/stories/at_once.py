"""Why many groups rebalanced at once: what all of them share, and hardly any other group has.

    10:00:01 orders   a member on 10.0.3.4 went        12 of 12 groups that rebalanced within 4.0 s: a member on host
    10:00:02 billing  likewise                         10.0.3.4 came or went; 0 of the 30 other groups have one there
    10:00:04 …

An event is a run of rebalances in one cluster, at most `SPAN_MS` long, with no rebalance in between that does not share
the fact. Nothing is claimed where nothing is shared, where others have it too, or where chance may have done it: of N
groups k have the fact, and if any n of them rebalance then, all n have it in C(k, n) of C(N, n) cases. This times the
number of facts that were tried must be below `MOST_CHANCE`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any, NamedTuple

from rebalance_monitor.streaming.core.model.messages import counted
from .durations import duration
from .known import Published
from .rebalances import NamedMember, SeenRebalance, seen

SPAN_MS = 10_000
LEAST_GROUPS = 3
MOST_OTHERS_SHARE, MOST_CHANCE = 0.1, 0.001
"""The share of the other groups that may have the fact, too; how probable it may be that chance did it."""
MOST_EXAMPLES = 5
Name = tuple[str, str]
"""(cluster, group)."""
_NUMBER = re.compile(r"[-_.]?[0-9]+$")


class GroupMoment(NamedTuple):
    """When a group rebalanced."""

    cluster: str
    group: str
    at_ms: int


class Shared(NamedTuple):
    """What groups may share. `what`: host, client_id (without the number at its end) or partition (of the group's
    records: its coordinator leads it)."""

    what: str
    name: str


class GroupStanding(NamedTuple):
    """A group that has members, as its newest generation shows it."""

    cluster: str
    group: str
    shared: frozenset[Shared]


@dataclass(frozen=True, slots=True)
class SharedBy:
    """A fact that all groups of an event share. `others_have`: of `others` groups that did not rebalance then.
    `elected_anew`: of a partition: so many of the groups have had their coordinator by a later election since the
    record before."""

    fact: Shared
    groups: int
    others: int
    others_have: int
    elected_anew: int = 0


@dataclass(frozen=True, slots=True)
class RebalancedAtOnce:
    """Rebalances of several groups as one event: (group, rebalance) in their order."""

    cluster: str
    rebalances: tuple[tuple[str, SeenRebalance], ...]
    shared: tuple[SharedBy, ...]

    @property
    def groups(self) -> list[str]:
        return sorted({group for group, _ in self.rebalances})


def ranges(moments: Iterable[GroupMoment]) -> list[tuple[str, int, int]]:
    """(cluster, first, last moment) of each time in which enough groups rebalanced within the span, newest first."""
    by_cluster: dict[str, list[tuple[int, str]]] = {}
    for one in moments:
        by_cluster.setdefault(one.cluster, []).append((one.at_ms, one.group))
    found: list[tuple[str, int, int]] = []
    for cluster, some in by_cluster.items():
        some.sort()
        end, inside = 0, Counter[str]()
        for from_ms, group in some:
            while end < len(some) and some[end][0] <= from_ms + SPAN_MS:
                inside[some[end][1]] += 1
                end += 1
            if len(inside) >= LEAST_GROUPS:
                until_ms = some[end - 1][0]
                if found and found[-1][0] == cluster and from_ms <= found[-1][2]:
                    found[-1] = cluster, found[-1][1], until_ms
                else:
                    found.append((cluster, from_ms, until_ms))
            inside[group] -= 1
            if not inside[group]:
                del inside[group]
    return sorted(found, key=lambda one: -one[2])


def standing(document: Published) -> GroupStanding:
    (one,) = seen([document])
    return GroupStanding(document["cluster"], document["group"], _of(one, one.members.values()))


def found_at_once(
    documents: Iterable[Published], from_ms: int, until_ms: int, groups: Iterable[GroupStanding]
) -> list[RebalancedAtOnce]:
    """The events of one cluster between two moments. `documents`: the generations of that time in any order, and of
    each group the one before; `groups`: all groups of the cluster that have members, gone through once and only where
    enough groups share something."""
    by_group: dict[str, list[Published]] = {}
    for one in documents:
        by_group.setdefault(one["group"], []).append(one)
    told = [
        (rebalance.at_ms, group, rebalance)
        for group, own in by_group.items()
        for rebalance in seen(own)
        if from_ms <= rebalance.at_ms <= until_ms and not rebalance.again and _dated(rebalance)
    ]
    told.sort(key=lambda one: (one[0], one[1], one[2].place))
    places: dict[Shared, list[int]] = {}
    for place, (*_, rebalance) in enumerate(told):
        for fact in _moved(rebalance):
            places.setdefault(fact, []).append(place)
    times = [at_ms for at_ms, *_ in told]
    asked = [
        (fact, run, names)
        for fact, some in sorted(places.items())
        for run in _runs(some, times)
        if len(names := {group for _, group, _ in told[slice(*run)]}) >= LEAST_GROUPS
    ]
    if not asked:
        return []
    there = {one.group: one for one in groups}
    cluster = next((one.cluster for one in there.values()), "")
    having: dict[Shared, set[str]] = {fact: set() for fact, *_ in asked}
    had = [(group, _had(rebalance)) for _, group, rebalance in told if group in there]
    for group, shared in (*((one.group, one.shared) for one in there.values()), *had):
        for fact in shared & having.keys():
            having[fact].add(group)
    run_of: dict[tuple[int, int], list[SharedBy]] = {}
    for fact, run, names in asked:
        others, have = len(there.keys() - names), len(having[fact] - names)
        if have <= others * MOST_OTHERS_SHARE:
            chance = comb(len(names) + have, len(names)) / comb(len(names) + others, len(names)) * len(places)
            if chance < MOST_CHANCE:
                anew = {group for _, group, one in told[slice(*run)] if one.elected_anew}
                elected = len(anew) if fact.what == "partition" else 0
                run_of.setdefault(run, []).append(SharedBy(fact, len(names), others, have, elected))
    return [
        RebalancedAtOnce(cluster, tuple((group, each) for _, group, each in told[first:end]), tuple(shared))
        for (first, end), shared in sorted(run_of.items(), reverse=True)
    ]


def _dated(one: SeenRebalance) -> bool:
    """Whether its time is known well enough: one that was polled came at any time since the sample before."""
    return one.sampled_ms is not None and one.sampled_ms <= SPAN_MS


def _runs(places: Sequence[int], times: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First place and the one behind the last, of rebalances without a gap between them, none of them later than the
    span after the first. `places`: of those that have a fact; `times`: of all rebalances."""
    first = end = places[0]
    for place in places:
        if place > end or times[place] > times[first] + SPAN_MS:
            yield first, end
            first = place
        end = place + 1
    yield first, end


def _moved(one: SeenRebalance) -> frozenset[Shared]:
    """What a rebalance has to do with: hosts and client ids of members that came or went, and its partition."""
    return _of(one, (*one.came, *one.went))


def _had(one: SeenRebalance) -> frozenset[Shared]:
    return _of(one, (*one.members.values(), *one.went))


def _of(one: SeenRebalance, members: Iterable[NamedMember]) -> frozenset[Shared]:
    partition = (
        {Shared("partition", str(one.source["partition"]))} if one.source["topic"] == "__consumer_offsets" else ()
    )
    hosts = {Shared("host", member.host) for member in members if member.host}
    clients = {Shared("client_id", stem) for member in members if (stem := _NUMBER.sub("", member.client))}
    return frozenset({*partition, *hosts, *clients})


_SAYS: Mapping[str, tuple[str, str]] = {
    "host": ("a member on host {} came or went", "have one there"),
    "client_id": ("a member with client id {}, with a number behind it or without, came or went", "have one"),
    "partition": (
        "their records are in partition {} of __consumer_offsets, so one broker coordinates them", "have theirs there",
    ),
}  # fmt: skip


def shared_text(event: RebalancedAtOnce, one: SharedBy) -> str:
    """The sentence with its counts."""
    took = duration(event.rebalances[-1][1].at_ms - event.rebalances[0][1].at_ms)
    what, have = (text.format(one.fact.name) for text in _SAYS[one.fact.what])
    return (
        f"{one.groups} of {counted(one.groups, 'group')} that rebalanced within {took}: {what}; "
        f"{one.others_have} of the {one.others} other groups {have}{_elected(one)}"
    )


def _elected(one: SharedBy) -> str:
    whose = "all of them" if one.elected_anew == one.groups else f"{one.elected_anew} of them"
    return f"; it was elected anew since the record before of {whose}" if one.elected_anew else ""


def event_object(event: RebalancedAtOnce) -> dict[str, Any]:
    return {
        "cluster": event.cluster,
        "from_ms": event.rebalances[0][1].at_ms,
        "until_ms": event.rebalances[-1][1].at_ms,
        "groups": event.groups,
        "rebalances": len(event.rebalances),
        "certainty": "likely",
        "shared": [
            {
                "what": one.fact.what,
                "name": one.fact.name,
                "groups": one.groups,
                "others": one.others,
                "others_have": one.others_have,
                "elected_anew": one.elected_anew,
                "text": shared_text(event, one),
            }
            for one in event.shared
        ],
        "evidence": [
            {"group": group, "generation": one.number, "at_ms": one.at_ms, "source": dict(one.source)}
            for group, one in event.rebalances[:MOST_EXAMPLES]
        ],
    }


def at_once_object(since_ms: int, events: Iterable[RebalancedAtOnce], *, all_of_them: bool = True) -> dict[str, Any]:
    """The events as the API answers them, the newest first."""
    told = sorted(map(event_object, events), key=lambda one: (-one["until_ms"], one["cluster"]))
    return {"kind": "at_once", "since_ms": since_ms, "all": all_of_them, "events": told}
