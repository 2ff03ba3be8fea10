"""Static members over time: one that was replaced without a generation, and two processes that share an instance id.

A process that joins with an instance id of the group gets a new member id, and the process before it is fenced. The
coordinator writes the record anew, often without a rebalance (coordinator-log.md 5.2). That is a restart. Two processes
with one instance id fence each other in turn, each time one of them is started again: the id alternates between hosts.

    10:00  i on host a        10:03  i on host a again     the third change within half an hour:
    10:01  i on host b        10:04  i on host b again     instance_id_contested opens
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.results import Certainty, Evidence, Subject

WINDOW_MS = 30 * 60_000
"""Within this time the changes must follow each other, and so long after the last one the incident stays open."""
TURNS = 4
"""Sightings that show an alternation: a, b, a, b."""


@dataclass(frozen=True, slots=True)
class StaticProcess:
    """A process that joined under an instance id: its member id, its host, and the time (ms) of the first record."""

    member_id: str
    host: str
    at_ms: int
    client_id: str


Sightings = Mapping[str, tuple[StaticProcess, ...]]
"""The last processes of each instance id in the group, the newest last."""


def seen(before: Sightings, body: GroupGeneration, at_ms: int) -> Sightings:
    """With the processes of this record. An id that is not in the group any more is forgotten."""
    now = {}
    for member in body.members:
        if member.instance_id is not None:
            known = before.get(member.instance_id, ())
            if not known or known[-1].member_id != member.member_id:
                known = (*known, StaticProcess(member.member_id, member.client_host, at_ms, member.client_id))[-TURNS:]
            now[member.instance_id] = known
    return now


def replaced(before: Sightings, now: Sightings) -> list[str]:
    """Instance ids whose process is another one than in the record before."""
    return sorted(
        one for one, known in now.items() if one in before and before[one][-1].member_id != known[-1].member_id
    )


def contested(rule: Rule, sightings: Sightings, at_ms: int, here: Evidence) -> Iterator[Finding]:
    """Instance ids that alternate between two hosts, the last change not too long ago; `rule`: what it breaks."""
    for instance, known in sorted(sightings.items()):
        if alternates(known) and at_ms < known[-1].at_ms + WINDOW_MS:
            first, second = known[-2].host.lstrip("/"), known[-1].host.lstrip("/")
            yield Finding(
                rule=rule,
                severity=rule.severity,
                certainty=Certainty.LIKELY,
                subjects=(Subject("member", instance),),
                message=f"{instance} alternates between {first} and {second}: {TURNS - 1} changes within "
                f"{(known[-1].at_ms - known[0].at_ms) // 1000} s",
                evidence=(here,),
            )


def due_ms(sightings: Sightings) -> int | None:
    """When the next alternation is over, if nothing changes."""
    return min((known[-1].at_ms + WINDOW_MS for known in sightings.values() if alternates(known)), default=None)


def calmed(sightings: Sightings, at_ms: int) -> Sightings:
    """Without the alternations that are over by then: of those only the newest process is kept."""
    return {
        instance: known[-1:] if alternates(known) and known[-1].at_ms + WINDOW_MS <= at_ms else known
        for instance, known in sightings.items()
    }


def alternates(known: tuple[StaticProcess, ...]) -> bool:
    """Whether these last processes of an instance id show two hosts in turn, within the time."""
    hosts = [one.host for one in known]
    if len(hosts) < TURNS or hosts[0] == hosts[1] or hosts[:2] != hosts[2:]:
        return False
    return 0 <= known[-1].at_ms - known[0].at_ms <= WINDOW_MS
