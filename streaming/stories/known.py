"""What is known of one group at one moment, as published: what the JSON API answers, or what a capture gives."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .short_names import short_tail

Published = Mapping[str, Any]

RECENT = 50
"""So many generations of a group are looked at for what caused an incident."""

_ATTENTION = ("notified", "muted", "suppressed", "over")
_ALERT = ("critical", "warning", "info")
_TRANSFERS = ("owned", "assigned")


def loudness(attention: str, violation: Published) -> tuple[int, int, int, str]:
    """The order in which people look at incidents: whether people are notified, how loudly, the newest first."""
    return (
        _ATTENTION.index(attention),
        _ALERT.index(violation["alert"]),
        -violation["opened_at_ms"],
        violation["incident_id"],
    )


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """`group`, `incidents` and `progress` are the objects of the API; `generations` are documents, the newest first,
    and perhaps not all that there are. `spans`: texts may say how long ago something was, or how long until; not where
    they stay on a screen."""

    group: Published
    now_ms: int
    generations: Sequence[Published] = ()
    incidents: Sequence[Published] = ()
    progress: Published | None = None
    spans: bool = True

    @property
    def latest(self) -> Published | None:
        return self.generations[0] if self.generations else None

    @property
    def open_incidents(self) -> list[Published]:
        """The loudest first."""
        lasting = [one for one in self.incidents if one["attention"] != "over"]
        return sorted(lasting, key=lambda one: loudness(one["attention"], one["violation"]))

    def generation_of(self, incident: Published) -> Published | None:
        """The generation that an incident opened with; None where it is not among those that are known."""
        number, at_ms = incident["opened_generation"], incident["opened_at_ms"]
        return next((one for one in self.generations if one["generation"] == number and one["at_ms"] <= at_ms), None)


def next_probing_ms(streams: Published) -> int | None:
    """When the next probing rebalance of a Streams application is due; None where none is, or that is not known."""
    next_ms: int | None = (streams.get("progress") or {}).get("next_ms") or streams.get("next_rebalance_ms")
    return next_ms or None


def names_of(generation: Published) -> dict[str, str]:
    """How people call each member: its worker or instance, else its client where no other member is called so, else its
    shortened id."""
    called = [
        (one["member_id"], one["worker"] or one["instance_id"] or client_and_host(one)) for one in generation["members"]
    ]
    often = Counter(name for _, name in called)
    alike = [member_id for member_id, name in called if often[name] > 1]
    short = {member_id: short_tail(member_id) for member_id in alike}
    if len(set(short.values())) < len(alike):
        short = {member_id: member_id for member_id in alike}
    return {member_id: short.get(member_id, name) for member_id, name in called}


def client_and_host(member: Published) -> str:
    """Its client id, and on which host, where that is known."""
    host = str(member.get("client_host") or "").lstrip("/")
    return f"{member['client_id']} on {host}" if host else str(member["client_id"])


def transfers(generation: Published) -> list[tuple[str, str, str]]:
    """(partition, holder, receiver) of what a member is to get and another one still holds, by the document alone.

    Several members of a share group may have one partition, so nobody waits there.
    """
    if generation["lifecycle"] == "share":
        return []
    called = names_of(generation)
    owned, due = (
        {member["member_id"]: set(map(_partition, _listed(member.get(share)))) for member in generation["members"]}
        for share in _TRANSFERS
    )
    found = [
        (name, called[holder], called[receiver])
        for receiver, wanted in due.items()
        for name in wanted - owned[receiver]
        for holder, held in owned.items()
        if name in held and holder != receiver and name not in due[holder]
    ]
    return sorted(found)


def _listed(share: Published | None) -> Sequence[Any]:
    found: Sequence[Any] = (share or {}).get("partitions", ())
    return found


def _partition(place: Sequence[Any]) -> str:
    return f"{place[0]}-{place[1]}"
