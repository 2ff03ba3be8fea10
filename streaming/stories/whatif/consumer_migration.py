"""The rolling restart that brings consumers of the classic protocol to that of KIP-848: what each step moves.

    old old old     new old old     new new old     new new new
    classic         consumer, with classic members  consumer

The group is converted as the first member of the new protocol joins, with the assignment that it has. From then on the
coordinator computes a target whenever a member goes or comes, one for both where these are near each other, and members
that are still classic join again for each. With an eager assignor these give up everything before they do.
"""

from collections.abc import Mapping, Sequence
from itertools import product

from rebalance_monitor.streaming.stories.known import Published, names_of
from .change import CannotPredict, WrongChange
from .consumer import ClassicDeal, DealtMember, deals_of, fits
from .consumer_rolling import Restarted, dealt, restarting_members
from .consumer_targets import TargetDeal, target_ways
from .history import HistoryFigures
from .rolling import RollingRestart, steps_of

FIRST_RELEASE = (4, 0)
"""Brokers before convert no group unless they are told to (`group.consumer.migration.policy`)."""


def migration(generations: Sequence[Published], name: str, release: str | None = None) -> RollingRestart:
    """`generations`: the newest first; `name`: the assignor of the broker. CannotPredict, WrongChange."""
    last, ways = generations[0], target_ways(name, release)
    if any(one.release < FIRST_RELEASE for one in ways):
        raise WrongChange("Kafka before 4.0 converts no group by default; take 4.0 or a later release")
    members = restarting_members(last)
    deals = [one for one in deals_of(last) if fits(one, members, last)]
    if not deals:
        raise CannotPredict("the last assignment does not come from equal subscriptions and all partitions")
    names = names_of(last)
    order = sorted(names, key=lambda one: names[one])
    steps = [(one, f"{one} again") for one in order]
    found = [
        some
        for old, way, together in product(deals, ways, (False, True))
        if (some := migrated(_classic(members, old), old, way.deal(old.topics), steps, together=together)) is not None
    ]
    if not found:
        raise CannotPredict("the assignor gives no answer, or the release does not have it")
    return RollingRestart(
        title="rolling restart, with group.protocol=consumer",
        steps=steps_of([names[one] for one in order], [name] * len(order), found),
        presumed="nobody else comes or goes, each member leaves as it ends, subscriptions are equal, and there are no"
        " racks; brokers have group.consumer.migration.policy upgrade or bidirectional, as by default since 4.0; from"
        " and to are of the ids that members and topics may have, and of whether one target follows when a member has"
        " left and is back, or two",
        away_ms=0,
    )


def migrated(
    members: Mapping[str, DealtMember],
    old: ClassicDeal,
    new: TargetDeal,
    order: Sequence[Restarted],
    *,
    together: bool,
    converted: bool = False,
) -> list[HistoryFigures] | None:
    """The figures of each step. `together`: one target is computed for who leaves and is back; `converted`: the group
    has been before the first step. None where Kafka's class fails."""
    there = dict(members)
    found: list[HistoryFigures] = []
    for before, after in order:
        del there[before]
        total = HistoryFigures()
        if not together:
            left = dealt(there, new if converted else old)
            if left is None:
                return None
            there, total = left
        there[after] = DealtMember(None, (), -1, gives_all=False)
        converted = True
        back = dealt(there, new)
        if back is None:
            return None
        there = back[0]
        found.append(total + back[1])
    return found


def _classic(members: Mapping[str, DealtMember], old: ClassicDeal) -> dict[str, DealtMember]:
    return {name: DealtMember(None, one.holds, one.generation, old.eager) for name, one in members.items()}
