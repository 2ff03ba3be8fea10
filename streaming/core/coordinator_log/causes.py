"""What the coordinator said of a rebalance, joined with the generation that the rebalance led to.

The join is by group and old generation: a rebalance that ends generation N leads to N + 1. A group id that was deleted
and comes back counts from 0 again, so the member that the line names has to be one of either generation: a member id is
given once. Where it is not, or where the line names none, the cause is *likely* instead of *certain*; and of a group id
that has had several lives nothing is said then. A line of a coordinator that failed over before it had written the
generation says of the next one what did not come about: who went is there, or who joined is not. A record that
the coordinator wrote again, as for a static member that came back, was led to by no rebalance.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .line import Began, CoordinatorReason

Object = dict[str, Any]
SAYS, CLIENT_SAYS = "the coordinator says: ", "; client reason: "
_UUID = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_KINDS: Mapping[Began, str] = {
    Began.JOINED: "{}_joined",
    Began.LEFT: "{}_left",
    Began.EXPIRED: "{}_lost",
    Began.NOT_SYNCED: "{}_lost",
    Began.REPLACED: "member_replaced",
    Began.PROTOCOL: "protocol_changed",
    Began.UPDATED: "{}_rejoined",
    Began.REJOINED: "{}_rejoined",
    Began.LEADER: "{}_rejoined",
    Began.OTHER: "begun_by_coordinator",
}
_BY_CLIENT = {
    "cached metadata has changed": "topic_changed",
    "subscription has changed": "subscription_changed",
    "need to revoke partitions and re-join": "revocation_follow_up",
}
"""Reasons of Kafka's own consumer (`ConsumerCoordinator.java`, 3.2 and later) that name what else has changed."""
_MAYBE = "topic_changed"
"""Racks of replicas are metadata, too (KIP-881): the reason does not tell them from topics."""
_AGAIN = (Began.UPDATED, Began.REJOINED, Began.LEADER)
_GONE = ("left", "lost", "gone", "bounced")
_WENT = (Began.LEFT, Began.EXPIRED, Began.NOT_SYNCED)


def numbered(generation: Object) -> bool:
    """Whether its number is the coordinator's: of a classic group that was read, not polled."""
    return generation["lifecycle"] == "classic" and generation.get("sampled") is None


@dataclass(frozen=True, slots=True)
class SaidOf:
    """A stored reason. `seen`: the generations show it, too: who went was in the one before, who joined is in the one
    after, and whoever did something else is in either."""

    reason: CoordinatorReason
    seen: bool


def said_of(reason: CoordinatorReason, *, before: bool, after: bool) -> SaidOf | None:
    """None where the generation after shows that it did not come about. `before`, `after`: the member that it names is
    in the generation before the rebalance, as far as that is known, or after it."""
    if reason.kind in _WENT:
        return None if after else SaidOf(reason, before)
    return SaidOf(reason, after or (before and reason.kind is not Began.JOINED))


def with_reasons(generation: Object, said: Iterable[SaidOf]) -> Object:
    """The generation's object, its causes led by the coordinator's. Those found without it stay, unless they say the
    same of the same member; what contradicts it keeps its own certainty. One rebalance has one reason: beside one that
    was seen others are of another coordinator or life. One that was not seen leads no certain cause."""
    several = list(said)
    told = [one for one in several if one.seen] or several
    if not told:
        return generation
    noun = "worker" if generation["protocol_type"] == "connect" else "member"
    own: list[Object] = list(generation["cause"])
    first: list[Object] = []
    for one in told:
        cause = _cause(one, noun, generation)
        rest = [_beside(before, cause, one) for before in own]
        own = [left for left in rest if left is not None]
        if cause not in first:
            first.append(cause)
    sure = not told[0].seen and any(cause["certainty"] == "certain" for cause in own)
    return {**generation, "cause": own + first if sure else first + own}


def with_all_reasons(generations: Sequence[Object], reasons: Collection[CoordinatorReason]) -> list[Object]:
    """One group's generations, the newest first, each with what the coordinator said of it."""
    by_number: dict[int, list[CoordinatorReason]] = {}
    for one in dict.fromkeys(reasons):
        by_number.setdefault(one.old_generation + 1, []).append(one)
    told, one_life = [], len({one["incarnation"] for one in generations}) == 1
    for place, generation in enumerate(generations):
        both = [one for one in generations[place : place + 2] if one["incarnation"] == generation["incarnation"]]
        after, before = (_ids(both[at : at + 1]) for at in (0, 1))
        again = len(both) > 1 and both[1]["generation"] == generation["generation"]
        reasons_of = by_number.get(generation["generation"], ()) if numbered(generation) and not again else ()
        said = [said_of(one, before=one.member_id in before, after=one.member_id in after) for one in reasons_of]
        told.append(with_reasons(generation, [one for one in said if one is not None and (one.seen or one_life)]))
    return told


def _ids(generations: Iterable[Object]) -> set[str]:
    return {member["member_id"] for one in generations for member in one["members"]}


def _cause(one: SaidOf, noun: str, generation: Object) -> Object:
    reason = one.reason
    kind = _KINDS[reason.kind].format(noun)
    if reason.kind in _AGAIN:
        kind = _BY_CLIENT.get(reason.client_reason or "", kind)
    nobody = reason.member_id is None or kind == _MAYBE
    subjects = [] if nobody else [{"type": noun, "id": _called(reason, generation)}]
    said = reason.text.rstrip(".")
    if reason.client_reason is not None and reason.client_reason not in reason.text:
        said = f"{said}{CLIENT_SAYS}{reason.client_reason}"
    return {
        "kind": kind,
        "subjects": subjects,
        "certainty": "certain" if one.seen and kind != _MAYBE else "likely",
        "evidence": [{"text": f"{SAYS}{said}"}],
    }


def _called(reason: CoordinatorReason, generation: Object) -> str:
    """What the member is called in this generation: its worker, its instance id, or its member id."""
    for member in generation["members"]:
        if member["member_id"] == reason.member_id:
            return str(member["worker"] or member["instance_id"] or member["member_id"])
    names = _names(reason)
    for cause in generation["cause"]:
        for subject in cause["subjects"]:
            if subject["id"] in names:
                return str(subject["id"])
    return str(reason.instance_id or reason.member_id)


def _names(reason: CoordinatorReason) -> set[str]:
    """A member id is made of the instance id or the client id; Connect's client id holds the worker's address."""
    if reason.member_id is None:
        return set()
    base = _UUID.sub("", reason.member_id)
    return {reason.member_id, reason.instance_id or reason.member_id, base, base.removeprefix("connect-")}


def _beside(own: Object, cause: Object, one: SaidOf) -> Object | None:
    """What is left of a cause that was found without the coordinator, beside what it says."""
    if own["kind"] == "unknown":
        return None if one.seen else own
    if not _same(own["kind"], cause["kind"]):
        return own
    subjects = [subject for subject in own["subjects"] if subject["id"] not in _names(one.reason)]
    if len(subjects) == len(own["subjects"]) and own["kind"] != cause["kind"]:
        return own
    if own["kind"] == cause["kind"] and one.reason.kind in _AGAIN:
        cause["subjects"] += [subject for subject in subjects if subject not in cause["subjects"]]
        return None
    return {**own, "subjects": subjects} if subjects else None


def _same(own: str, kind: str) -> bool:
    """Whether both say the same of a member: how it went is the coordinator's to say."""
    mine, theirs = own.rpartition("_"), kind.rpartition("_")
    return own == kind or (mine[0] == theirs[0] and mine[2] in _GONE and theirs[2] in _GONE)
