"""The rebalances that a change of a consumer group of the classic protocol brings, by Kafka's own client-side
assignors.

No document says what members subscribe to or how many partitions a topic has. It is presumed that every member
subscribes to every topic that the group has partitions of, and that all their partitions are assigned; then the
assignor must give the last assignment again. Where it does not, nothing is predicted. With the sticky assignors members
then claim what they have; with `cooperative-sticky` a partition that changes hands is given up in one rebalance and
given away in the next. Eras that do not give the last generations, each from the one before, are left out.

A static member that bounces is taken out when its session time-out is over; one that is back before has its place
again, without a rebalance.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from rebalance_monitor.assignors.consumer.model import Claim, ConsumerMember, TopicPartition, TopicRacks
from rebalance_monitor.assignors.consumer.sticky_eras import NoSuchEra
from rebalance_monitor.assignors.consumer.sticky_group import CannotAssign
from rebalance_monitor.schemas.sticky_user_data import COOPERATIVE_STICKY, STICKY
from rebalance_monitor.streaming.core.consumer.answer import RANGE
from rebalance_monitor.streaming.core.consumer.assignors import ASSIGNORS
from rebalance_monitor.streaming.core.model.messages import listed
from rebalance_monitor.streaming.core.model.reasons import ReasonKind
from rebalance_monitor.streaming.stories.durations import exact
from rebalance_monitor.streaming.stories.known import Published, transfers
from .change import BY_ID, TRIED, CannotPredict, Concerned, GroupChange, Ids, WrongChange, concerned, ids_to_come
from .outcome import Course, Prediction, ToCome, cases_of

FOREIGN = (ReasonKind.FOREIGN_CLIENT, ReasonKind.CLIENT_UNKNOWN, ReasonKind.CLIENT_PRESUMED)
"""A leader that is, or may be, no Java client."""
MOST_ROUNDS = 20
MOST_LOOKED_AT = 8
_PRESUMED = (
    "Every member, those to come too, is presumed to subscribe to every topic of which the group has partitions,"
    " and to state no rack."
)
Dealt = dict[str, tuple[TopicPartition, ...]]


@dataclass(frozen=True, slots=True)
class DealtMember:
    """One member between two rebalances; `generation` is -1 for one that has not been in any."""

    instance_id: str | None
    holds: tuple[TopicPartition, ...]
    generation: int
    gives_all: bool = False
    """Before it joins it gives up everything, whatever the assignor."""


@dataclass(frozen=True, slots=True)
class ClassicDeal:
    """One assignor as one era's leaders run it, with what it knows of the topics. `eager`: members give up everything
    before they join, as they do with `cooperative-sticky`, too, where one of their assignors is another kind.
    """

    name: str
    era: Any
    topics: TopicRacks
    eager: bool

    @property
    def given(self) -> str:
        gives_up = self.eager and self.name == COOPERATIVE_STICKY
        return f"leaders of Kafka {self.era.name}" + (", members that give up everything to join" if gives_up else "")

    def shares(self, members: Mapping[str, DealtMember]) -> Dealt | None:
        """None where Kafka's class fails, or has no such assignor."""
        try:
            result = ASSIGNORS[self.name].recompute(
                [self._joining(*one) for one in members.items()], self.topics, era=self.era
            )
        except (CannotAssign, NoSuchEra):
            return None
        return {name: tuple(share) for name, share in result.shares.items()}

    def _joining(self, member_id: str, one: DealtMember) -> ConsumerMember:
        """Its subscription: what a member of Kafka's own client says that it has."""
        fresh = one.generation < 0
        claim = Claim()
        if not fresh and self.name in (STICKY, COOPERATIVE_STICKY):
            claim = Claim(one.holds if self.name == STICKY else (), one.generation)
        return ConsumerMember(
            id=member_id,
            instance_id=one.instance_id,
            topics=tuple(self.topics),
            owned=() if self.eager or one.gives_all else tuple(sorted(one.holds)),
            generation=one.generation,
            claim=claim,
        )


def predict(change: GroupChange, generations: Sequence[Published], ids: Ids = ids_to_come) -> Prediction:
    """`generations`: the newest first. CannotPredict, WrongChange."""
    generation = generations[0]
    _check(change, generations)
    members = members_of(generation)
    who = concerned(change, generation)
    silent_ms = _silent_ms(change, who, generation)
    static = who.bouncing if silent_ms else ()
    if silent_ms > change.away_ms:
        who = Concerned(who.leaving, (), who.names)
    deals = [deal for deal in deals_of(generation) if fits(deal, members, generation)]
    deals = _shown(deals, generations)
    if not deals:
        raise CannotPredict(
            "the last assignment does not come from equal subscriptions, all partitions and Kafka's own assignor;"
            " what members subscribe to is not published"
        )
    courses = []
    for deal in reversed(deals):
        for joining, back in ids(change, who, generation):
            course = _course(deal, dict(members), change, who, (joining, back), silent_ms, generation["generation"])
            if course is not None:
                courses.append((deal.given, course))
    cases = cases_of(courses)
    unknown = []
    if any(len(case.courses) > 1 for case in cases):
        unknown.append(BY_ID)
    if change.join or who.bouncing:
        unknown.append(TRIED)
    if generation["leader"] in (*who.leaving, *who.bouncing):
        unknown.append("Who leads next is in no record; its client is presumed to be one like the last leader's.")
    presumed = [_PRESUMED]
    if change.join and all(one.instance_id is not None for one in members.values()):
        presumed.append("Members to come are presumed to be static members, because all are.")
    if static:
        presumed.append(
            "A static member sends no LeaveGroup request as it goes: the session time-out of"
            f" {listed([who.names[one] for one in static])}, {exact(silent_ms)}, begins then."
        )
    return Prediction(
        cases=cases, eager=all(deal.eager for deal in deals), presumed=tuple(presumed), unknown=tuple(unknown)
    )


def _check(change: GroupChange, generations: Sequence[Published]) -> None:
    """Whether anything can be predicted. CannotPredict, WrongChange."""
    generation = generations[0]
    name = generation["protocol"]
    if name not in ASSIGNORS:
        raise CannotPredict(f"the assignor {name} is none that whatif computes ({', '.join(ASSIGNORS)})")
    if change.scale:
        raise WrongChange("--scale is for connectors of a Kafka Connect group")
    if any(one["verdict"]["reason_kind"] in FOREIGN for one in generations):
        raise CannotPredict("leaders of this group are known or may be no Java clients, and choose their own way")
    if not of_kafkas_assignor(generation):
        said = generation["verdict"]["reason"] or "it does not match"
        raise CannotPredict(f"the last assignment is not known to be Kafka's own assignor's: {said}")


def of_kafkas_assignor(generation: Published) -> bool:
    """Whether its assignment may be Kafka's own assignor's, by a Java client. Partition counts that only a later sample
    shows, as in a capture, are no obstacle: who computes starts with giving the recorded answer again."""
    kind = generation["verdict"]["reason_kind"]
    return kind == ReasonKind.COUNTS_INFERRED or (generation["verdict"]["grade"] == "match" and kind not in FOREIGN)


def _silent_ms(change: GroupChange, who: Concerned, generation: Published) -> int:
    """After how long the coordinator takes out the static members that bounce: their session time-out; 0 without any.
    CannotPredict, WrongChange."""
    by_id = {one["member_id"]: one for one in generation["members"]}
    static = [one for one in who.bouncing if by_id[one]["instance_id"] is not None]
    if not static:
        return 0
    told = listed([who.names[one] for one in static])
    # A polled group has none, and neither have generations that were published before it was.
    sessions = {by_id[one].get("session_timeout_ms") for one in static}
    if None in sessions:
        raise CannotPredict(f"the session time-out of {told}, static, is not known, which says when it is taken out")
    if change.leave or change.join or len(static) < len(who.bouncing) or len(sessions) > 1:
        raise WrongChange(
            f"a rebalance waits for {told}, static, while it is away; ask about its bounce and about the rest apart"
        )
    return int(sessions.pop())


def members_of(generation: Published) -> dict[str, DealtMember]:
    found = {}
    for one in generation["members"]:
        if one["assigned"] is None:
            raise CannotPredict("not all of the last record's members could be read")
        holds = tuple((topic, number) for topic, number in one["assigned"]["partitions"])
        found[one["member_id"]] = DealtMember(one["instance_id"], holds, generation["generation"])
    return found


def deals_of(generation: Published) -> Iterator[ClassicDeal]:
    """The assignor in each era, with the topics as the document shows them."""
    name = generation["protocol"]
    counts = partition_counts(generation, with_owned=name == COOPERATIVE_STICKY)
    topics = {topic: (frozenset[str](),) * count for topic, count in sorted(counts.items())}
    for era in ASSIGNORS[name].eras:
        yield ClassicDeal(name, era, topics, eager=True)
        if name == COOPERATIVE_STICKY:
            yield ClassicDeal(name, era, topics, eager=False)


def most_with_partitions(generation: Published, name: str) -> int:
    """How many members with equal subscriptions can have a partition: `range` gives those of each topic to the members
    that sort first."""
    counts = partition_counts(generation, with_owned=True).values()
    return max(counts, default=0) if name == RANGE else sum(counts)


def partition_counts(generation: Published, *, with_owned: bool) -> dict[str, int]:
    """Of each topic, as the document shows them."""
    counts: dict[str, int] = {}
    for one in generation["members"]:
        for share in (one["assigned"], one["owned"] if with_owned else None):
            for topic, number in (share or {}).get("partitions", ()):
                counts[topic] = max(counts.get(topic, 0), number + 1)
    return counts


def fits(deal: ClassicDeal, members: Mapping[str, DealtMember], generation: Published) -> bool:
    """Whether it gives the last assignment again; while partitions change hands, nobody can tell."""
    again = deal.shares(members)
    if again is None:
        return False
    if transfers(generation) or given_up(generation):
        return all(set(members[name].holds) <= set(share) for name, share in again.items())
    return {name: set(share) for name, share in again.items()} == {
        name: set(one.holds) for name, one in members.items()
    }


def _shown(deals: list[ClassicDeal], generations: Sequence[Published]) -> list[ClassicDeal]:
    """Those that give the last generations, too, each from the one before; rebalances that none of them gives, such as
    one after topics changed, tell nothing."""
    for now, before in list(pairwise(generations))[:MOST_LOOKED_AT]:
        if len(deals) < 2 or now["protocol"] != before["protocol"] or now["generation"] != before["generation"] + 1:
            break
        try:
            had, has = members_of(before), members_of(now)
        except CannotPredict:
            break
        joined = {name: had.get(name, DealtMember(one.instance_id, (), -1)) for name, one in has.items()}
        shares = {name: set(one.holds) for name, one in has.items()}
        deals = [deal for deal in deals if share_sets(deal.shares(joined)) == shares] or deals
    return deals


def share_sets(shares: Dealt | None) -> dict[str, set[TopicPartition]]:
    return {name: set(share) for name, share in (shares or {}).items()}


def given_up(generation: Published) -> bool:
    """Whether somebody had a partition that nobody is given."""
    given = {tuple(place) for one in generation["members"] for place in one["assigned"]["partitions"]}
    return any(
        tuple(place) not in given
        for one in generation["members"]
        for place in (one["owned"] or {}).get("partitions", ())
    )


def _course(
    deal: ClassicDeal,
    members: dict[str, DealtMember],
    change: GroupChange,
    who: Concerned,
    ids: tuple[Mapping[str, str], Mapping[str, str]],
    silent_ms: int,
    number: int,
) -> Course | None:
    """`silent_ms`: how long those that bounce are away before they are taken out; 0: they leave. None where Kafka's
    class fails."""
    joining, back = ids
    names = {**who.names, **joining, **{new: who.names[old] for old, new in back.items()}}
    called: Callable[[str], str] = lambda one: names[one]  # noqa: E731
    all_static = all(one.instance_id is not None for one in members.values())
    to_come: list[ToCome] = []

    def rebalance(why: str, after_ms: int) -> bool:
        """One, and those that follow; whether Kafka's class gives an answer."""
        nonlocal number
        for _ in range(MOST_ROUNDS if members else 0):
            shares = deal.shares(members)
            if shares is None:
                return False
            number += 1
            gives_up = {one: without(own.holds, shares[one]) for one, own in members.items()}
            to_come.append(
                ToCome(
                    generation=number,
                    why=why,
                    after_ms=after_ms,
                    gets=_named({one: without(share, members[one].holds) for one, share in shares.items()}, called),
                    gives_up=_named(gives_up, called),
                    idle=_idle(deal, shares),
                )
            )
            for one, share in shares.items():
                members[one] = DealtMember(members[one].instance_id, share, number)
            if deal.eager or not any(gives_up.values()):
                return True
            why = "partitions that were given up go to others"
        return True

    for gone in who.leaving:
        del members[gone]
    away = {new: members.pop(old).instance_id for old, new in back.items()}
    for one in joining:
        members[one] = DealtMember(one if all_static and members else None, (), -1)
    fine = True
    if who.leaving or back or joining:
        first = GroupChange(leave=(*change.leave, *(who.names[one] for one in back)), join=change.join).text()
        over = f"the session time-out of {listed([who.names[one] for one in back])} is over"
        fine = rebalance(over if silent_ms else first, silent_ms)
    if back:
        members.update({new: DealtMember(instance_id, (), -1) for new, instance_id in away.items()})
        fine = fine and rebalance(f"{listed([who.names[one] for one in back])} is back", change.away_ms)
    if not fine:
        return None
    return Course(
        to_come=tuple(to_come),
        holds=_named({one: own.holds for one, own in members.items()}, called, empty=True),
    )


def without(some: tuple[TopicPartition, ...], others: tuple[TopicPartition, ...]) -> tuple[TopicPartition, ...]:
    left = frozenset(others)
    return tuple(one for one in some if one not in left)


def _named(shares: Dealt, called: Callable[[str], str], *, empty: bool = False) -> dict[str, tuple[str, ...]]:
    named = sorted((called(one), share) for one, share in shares.items())
    return {name: _names(share) for name, share in named if share or empty}


def _idle(deal: ClassicDeal, shares: Dealt) -> tuple[str, ...]:
    given = {tp for share in shares.values() for tp in share}
    return _names(
        [
            tp
            for topic, racks in deal.topics.items()
            for number in range(len(racks))
            if (tp := (topic, number)) not in given
        ]
    )


def _names(partitions: Sequence[TopicPartition]) -> tuple[str, ...]:
    return tuple(f"{topic}-{number}" for topic, number in sorted(partitions))
