"""What patterns over many rebalances look at: each published generation against the one before it, by names that stay.

A member that is restarted joins under another member id. What stays is its worker, its `group.instance.id`, or its
client id and host; two processes that have all of these alike cannot be told apart.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

from rebalance_monitor.streaming.core.coordinator_log.causes import CLIENT_SAYS, SAYS
from rebalance_monitor.streaming.core.model.results import Certainty
from rebalance_monitor.streaming.core.targets.causes import MOST_EVIDENCE
from .known import Published

RecordOrder = tuple[int, int, int]
"""Life of the group id, number of the generation, offset of the record: the order in which a group's records came."""
FOLLOW_UPS = frozenset({"unknown", "revocation_follow_up", "leader_changed"})
"""Causes that a rebalance may have beside members that came and went, and that do not ask for another explanation."""
MOVES = frozenset(
    f"{what}_{how}"
    for what in ("member", "worker")
    for how in ("joined", "left", "lost", "gone", "replaced", "bounced")
)  # fmt: skip
DEPARTURES = frozenset({"member_left", "member_lost", "member_gone"})
"""How members of a group with targets go."""
ORDER = (Certainty.CERTAIN, Certainty.LIKELY, Certainty.POSSIBLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedMember:
    """A member under the name that stays. Time-outs are None where no record has them."""

    member_id: str
    name: str
    host: str
    client: str
    static: bool
    session_ms: int | None
    rebalance_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedCause:
    """A cause of one generation, its subjects by names that stay. `client_reason`: what a coordinator's log has of it;
    empty where there is none."""

    kind: str
    certainty: Certainty
    names: tuple[str, ...]
    client_reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenRebalance:
    """One generation. `came` and `went`: members against the record before it, both empty where none is known; of a
    group with targets nobody went where all were gone long before, and the group stood empty. `after`:
    that record is of the generation directly before; `waited_ms`: between the ends of the two join phases, then.
    `sole`: names that one member alone had in both. `handed_over`: a member of the record before did not keep what it
    had. `topics`: partitions that members were given, by topic; None where not everybody's could be read. `delay_ms`:
    the scheduled delay that it announces. `again`: it repeats the generation before, without a rebalance.
    `elected_anew`: its partition has a higher leader epoch than at the record before, so the group has had its
    coordinator since then by a later election.
    `polled`: its group is not read, and rebalances may be missing before it; `sampled_ms`: it came at most so long
    before `at_ms` then, 0 where the group is read, None where nothing tells."""

    place: RecordOrder
    number: int
    at_ms: int
    source: Published
    causes: tuple[NamedCause, ...]
    members: Mapping[str, NamedMember]
    came: tuple[NamedMember, ...] = ()
    went: tuple[NamedMember, ...] = ()
    after: bool = False
    waited_ms: int | None = None
    sole: frozenset[str] = frozenset()
    handed_over: bool = False
    topics: Mapping[str, frozenset[int]] | None = None
    delay_ms: int = 0
    classic: bool = True
    consumer: bool = True
    again: bool = False
    elected_anew: bool = False
    polled: bool = False
    sampled_ms: int | None = 0

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset(one.kind for one in self.causes)

    @property
    def movers(self) -> frozenset[str]:
        return frozenset(one.name for one in (*self.came, *self.went))

    @property
    def hands_out(self) -> bool:
        """Whether it only hands out what members gave up in the one before it."""
        return not self.movers and self.after and self.kinds <= FOLLOW_UPS and self.handed_over

    @property
    def only_moves(self) -> bool:
        """Whether nothing but members that came or went asked for the rebalance."""
        return self.kinds <= MOVES | FOLLOW_UPS

    def left(self, member: NamedMember) -> bool | None:
        """Whether one who went left by a request (True), or was removed when it had been silent for its session
        time-out; None where no record tells."""
        kinds = {one.kind for one in self.causes if one.kind in DEPARTURES and member.name in one.names}
        return None if len(kinds) != 1 or "member_gone" in kinds else "member_left" in kinds

    def proven(self, name: str) -> list[NamedCause]:
        """What is certain of one who came or went."""
        return [one for one in self.causes if one.certainty is Certainty.CERTAIN and name in one.names]

    @property
    def certainty(self) -> Certainty:
        """That of its least certain cause."""
        return weakest(one.certainty for one in self.causes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """What a pattern says of one rebalance. `code`: of the pattern; `names`: whom it is about; `text`: the sentence,
    the same for all rebalances of these names."""

    code: str
    names: tuple[str, ...]
    text: str
    certainty: Certainty = Certainty.LIKELY


def weakest(some: Iterable[Certainty]) -> Certainty:
    """The least certain; possible of none."""
    return max(some, key=ORDER.index, default=Certainty.POSSIBLE)


def seen(documents: Iterable[Published]) -> list[SeenRebalance]:
    """The generations of one group in the order of its records, whatever the order that they are given in."""
    ordered = sorted(documents, key=record_order)
    found = []
    before: Published | None = None
    for document in ordered:
        same_life = before is not None and before["incarnation"] == document["incarnation"]
        found.append(_seen(document, before if same_life else None))
        before = document
    return found


def record_order(document: Published) -> RecordOrder:
    """Where the generation stands among the records of its group."""
    return document["incarnation"], document["generation"], document["source"]["offset"]


def _seen(document: Published, before: Published | None) -> SeenRebalance:
    here = {one["member_id"]: _member(one) for one in document["members"]}
    there = {} if before is None else {one["member_id"]: _member(one) for one in before["members"]}
    known = before is not None
    after = before is not None and document["generation"] == before["generation"] + 1 and not _polled(document, before)
    names = _ids(document) | ({} if before is None else _ids(before))
    called = {one.member_id: one.name for one in (*there.values(), *here.values())} | names
    emptied = _emptied(document, here.keys() & there.keys())
    return SeenRebalance(
        place=record_order(document),
        number=document["generation"],
        at_ms=document["at_ms"],
        source=document["source"],
        causes=tuple(
            NamedCause(
                kind=one["kind"],
                certainty=Certainty(one["certainty"]),
                names=tuple(called.get(subject["id"], subject["id"]) for subject in one["subjects"]),
                client_reason=_client_reason(one["evidence"]),
            )
            for one in document["cause"]
            if not (emptied and one["kind"] in DEPARTURES)
        ),
        members=here,
        came=tuple(one for name, one in here.items() if known and name not in there),
        went=() if emptied else tuple(one for name, one in there.items() if name not in here),
        after=after,
        waited_ms=_waited_ms(document, before) if after else None,
        sole=_sole(there.values(), here.values()),
        handed_over=after and before is not None and any(map(_gave_up, before["members"])),
        topics=_topics(document["members"]),
        delay_ms=document.get("delay_ms") or 0,
        classic=document["lifecycle"] == "classic",
        consumer=document["protocol_type"] == "consumer",
        polled=_polled(document),
        sampled_ms=_sampled_ms(document),
        elected_anew=before is not None and _elected_anew(document, before),
        again=before is not None and document["generation"] == before["generation"],
    )


def _client_reason(evidence: Iterable[Published]) -> str:
    said = next((text for one in evidence if (text := str(one.get("text") or "")).startswith(SAYS)), "")
    return said.rpartition(CLIENT_SAYS)[2] if CLIENT_SAYS in said else ""


def _emptied(document: Published, stayed: Collection[str]) -> bool:
    """Whether a group with targets had no members before it: all were gone before the first one joined. A group without
    members has no target, so its next one has the causes of all epochs since."""
    went = [cause for cause in document["cause"] if cause["kind"] in DEPARTURES]
    came = [cause for cause in document["cause"] if cause["kind"] == "member_joined"]
    if stayed or not went or not came or len(went) + len(came) < len(document["cause"]):
        return False
    left, joined = (
        [one["offset"] for cause in some for one in cause["evidence"] if "offset" in one] for some in (went, came)
    )
    whole = all(len(cause["evidence"]) < MOST_EVIDENCE for cause in went)
    return whole and bool(left) and bool(joined) and max(left) < min(joined)


def _member(member: Published) -> NamedMember:
    host, client = str(member["client_host"]).lstrip("/"), member["client_id"]
    name = member["worker"] or member["instance_id"] or f"{client} on {host}"
    return NamedMember(
        member_id=member["member_id"],
        name=name,
        host=host,
        client=client,
        static=member["instance_id"] is not None,
        session_ms=member.get("session_timeout_ms"),
        rebalance_ms=member.get("rebalance_timeout_ms"),
    )


def _ids(document: Published) -> dict[str, str]:
    """Instance ids, which subjects of causes may be."""
    return {one["instance_id"]: one["instance_id"] for one in document["members"] if one["instance_id"]}


def _polled(*documents: Published) -> bool:
    """Whether one of them was polled: its number counts the assignments that were seen."""
    return any(one.get("sampled") is not None for one in documents)


def _sampled_ms(document: Published) -> int | None:
    sampled = document.get("sampled")
    if sampled is None:
        return 0
    return None if sampled["after_ms"] is None else document["at_ms"] - sampled["after_ms"]


def _waited_ms(document: Published, before: Published | None) -> int | None:
    if before is None or before["state_ms"] is None or document["state_ms"] is None:
        return None
    waited_ms: int = document["state_ms"] - before["state_ms"]
    return waited_ms


def _elected_anew(document: Published, before: Published) -> bool:
    now, then = document.get("partition_leader_epoch"), before.get("partition_leader_epoch")
    same = all(document["source"][part] == before["source"][part] for part in ("topic", "partition"))
    return same and now is not None and then is not None and now > then


def _sole(*several: Collection[NamedMember]) -> frozenset[str]:
    """Names that no two members of the same record have."""
    counts = [Counter(one.name for one in members) for members in several]
    return frozenset(name for one in counts for name in one if all(other[name] < 2 for other in counts))


def _gave_up(member: Published) -> bool:
    """Whether it said that it had partitions which it was not given again."""
    owned, assigned = (_partitions(member[share]) for share in ("owned", "assigned"))
    return owned is not None and assigned is not None and not set(owned) <= set(assigned)


def _partitions(share: Published | None) -> list[tuple[str, int]] | None:
    return None if share is None or "partitions" not in share else [(one[0], one[1]) for one in share["partitions"]]


def _topics(members: Sequence[Published]) -> Mapping[str, frozenset[int]] | None:
    found: dict[str, set[int]] = {}
    for member in members:
        given = _partitions(member["assigned"])
        if given is None:
            return None
        for topic, number in sorted(given, key=itemgetter(0)):
            found.setdefault(topic, set()).add(number)
    return {topic: frozenset(numbers) for topic, numbers in found.items()}
