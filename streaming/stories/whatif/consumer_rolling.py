"""The two rolling restarts that bring consumers to another assignor: what each step moves, as the group is now.

    old old old     both old old     both both       new both both     new new new
                    old              new, eagerly    mixed             new

A member joins only if it has an assignor that all others have, too. As soon as all that are there have both, which is
when the last one leaves that has the old one alone, the new one assigns. As long as a member has the old assignor, too,
and this is an eager one, it gives up everything before it joins.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from rebalance_monitor.assignors.consumer.sticky_eras import NoSuchEra
from rebalance_monitor.schemas.sticky_user_data import COOPERATIVE_STICKY
from rebalance_monitor.streaming.core.consumer.assignors import ASSIGNORS
from rebalance_monitor.streaming.stories.known import Published, names_of
from .change import CannotPredict, Concerned, GroupChange, WrongChange, ids_to_come
from .consumer import (
    MOST_ROUNDS,
    ClassicDeal,
    DealtMember,
    deals_of,
    fits,
    members_of,
    of_kafkas_assignor,
    without,
)
from .consumer_targets import TargetDeal
from .history import HistoryFigures
from .rolling import RollingRestart, steps_of

TRIED_IDS = 2
MOST_DEALT = 10_000
"""Members times partitions: how long computing takes goes with this."""
Restarted = tuple[str, str]
"""The member ids of one process before and after."""


def rolling_restarts(generations: Sequence[Published], name: str, release: str | None = None) -> list[RollingRestart]:
    """`generations`: the newest first. CannotPredict, WrongChange."""
    last = generations[0]
    if name == last["protocol"]:
        raise CannotPredict(f"the group has {name} already")
    if last["protocol"] == COOPERATIVE_STICKY:
        raise CannotPredict("no restarts are computed from cooperative-sticky back to an eager assignor")
    members = restarting_members(last)
    deals = [one for one in deals_of(last) if one.eager and fits(one, members, last)]
    if not deals:
        raise CannotPredict("the last assignment does not come from equal subscriptions and all partitions")
    try:
        eras = ASSIGNORS[name].eras if release is None else (ASSIGNORS[name].era_of(release),)
    except NoSuchEra as why:
        raise WrongChange(f"{why}; write one such as 3.9") from None
    names = names_of(last)
    order = sorted(names, key=lambda one: names[one])
    courses: tuple[list[Sequence[HistoryFigures]], list[Sequence[HistoryFigures]]] = ([], [])
    for ids in islice(_ids(last, order, names), TRIED_IDS):
        for old in deals:
            for era in eras:
                first, second = zip(order, ids[0], strict=True), zip(*ids, strict=True)
                found = restarts(members, old, ClassicDeal(name, era, old.topics, eager=True), [*first], [*second])
                if found is not None:
                    for some, figures in zip(courses, found, strict=True):
                        some.append(figures)
    if not courses[0]:
        raise CannotPredict("the other assignor gives no answer, or the release does not have it")
    both, alone = ([last["protocol"]] * (len(order) - 1) + [name], [name] * len(order))
    called = [names[one] for one in order]
    presumed = (
        "nobody else comes or goes, each member leaves as it ends, subscriptions are equal, and there are no racks"
    )
    return [
        RollingRestart(title=title, steps=steps_of(called, then, some), presumed=presumed, away_ms=0)
        for title, then, some in (
            ("first rolling restart, with both assignors", both, courses[0]),
            ("second rolling restart, with the new one alone", alone, courses[1]),
        )
    ]


def restarting_members(last: Published) -> Mapping[str, DealtMember]:
    """Those of a group whose restarts are computed. CannotPredict."""
    if last["lifecycle"] != "classic" or last["protocol"] not in ASSIGNORS or "streams" in last:
        raise CannotPredict(f"of groups with {last['protocol']} no restarts are computed")
    if not of_kafkas_assignor(last) or not last["members"]:
        raise CannotPredict("nobody is in the group, or its last assignment is not known to be Kafka's own assignor's")
    members = members_of(last)
    if any(one.instance_id is not None for one in members.values()):
        raise CannotPredict("members are static: that one is back before its session time-out causes no rebalance")
    if len(members) * sum(len(one.holds) for one in members.values()) > MOST_DEALT:
        raise CannotPredict(f"the group is too large: its members times its partitions are more than {MOST_DEALT:,}")
    return members


def _ids(last: Published, order: Sequence[str], names: Mapping[str, str]) -> Iterator[tuple[list[str], list[str]]]:
    """What members may be called after the first restart, and after the second one."""
    turns = ids_to_come(GroupChange(), Concerned((), tuple(order), names), last)
    for _, back in turns:
        first = [back[one] for one in order]
        yield first, [f"{one[:-1]}{'1' if one.endswith('0') else '0'}" for one in first]


def restarts(
    members: Mapping[str, DealtMember],
    old: ClassicDeal,
    new: ClassicDeal,
    first: Sequence[Restarted],
    second: Sequence[Restarted],
) -> tuple[list[HistoryFigures], list[HistoryFigures]] | None:
    """The figures of each step of both. `first`: those that have the old assignor alone; others have both already.
    None where Kafka's class fails."""
    there = {name: DealtMember(None, one.holds, one.generation, gives_all=True) for name, one in members.items()}
    found: tuple[list[HistoryFigures], list[HistoryFigures]] = ([], [])
    alone = ClassicDeal(new.name, new.era, new.topics, eager=new.name != COOPERATIVE_STICKY)
    for steps, order in zip(found, (first, second), strict=True):
        for place, (before, after) in enumerate(order, 1):
            del there[before]
            deal = alone if steps is found[1] or place == len(order) else old
            left = dealt(there, deal)
            if left is None:
                return None
            there = {**left[0], after: DealtMember(None, (), -1, gives_all=steps is found[0] or alone.eager)}
            back = dealt(there, deal)
            if back is None:
                return None
            there = back[0]
            steps.append(left[1] + back[1])
    return found


def dealt(
    there: Mapping[str, DealtMember], deal: ClassicDeal | TargetDeal
) -> tuple[dict[str, DealtMember], HistoryFigures] | None:
    """Who has what after the rebalances that follow at once, and what these moved. A target needs no second one. None
    where Kafka's class fails."""
    now, total = dict(there), HistoryFigures()
    first = max((one.generation for one in there.values()), default=0) + 1
    for number in range(first, first + MOST_ROUNDS) if there else ():
        shares = deal.shares(now)
        if shares is None:
            return None
        total += _figures(now, shares)
        again = any(without(one.holds, shares[name]) for name, one in now.items() if not one.gives_all)
        now = {name: DealtMember(None, shares[name], number, one.gives_all) for name, one in now.items()}
        if not again or isinstance(deal, TargetDeal):
            break
    return now, total


def _figures(members: Mapping[str, DealtMember], shares: Mapping[str, tuple[tuple[str, int], ...]]) -> HistoryFigures:
    """What one rebalance moves and stops. `members`: with what they had before it."""
    moved = sum(len(without(shares[name], one.holds)) for name, one in members.items())
    stopped = sum(
        len(one.holds if one.gives_all else without(one.holds, shares[name])) for name, one in members.items()
    )
    return HistoryFigures(1, moved, stopped)
