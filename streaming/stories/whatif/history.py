"""A consumer group's history under another assignor: who was there in each rebalance is kept, the answers are not.

    recorded, range                        computed, cooperative-sticky
    generation 7   a b c                   starts with what the record gives
    generation 8   a b      c went         a b keep what they have, and get what c had
    generation 9   a b d    d came         one gives up to d, in two rebalances

A rebalance is computed only if the group's own assignor gives the recorded assignment from the one before, for then
equal subscriptions and all partitions may be presumed. Computing begins anew after each one where it does not.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rebalance_monitor.assignors.consumer.sticky_eras import NoSuchEra
from rebalance_monitor.schemas.sticky_user_data import COOPERATIVE_STICKY
from rebalance_monitor.streaming.core.consumer.assignors import ASSIGNORS
from rebalance_monitor.streaming.stories.known import Published
from .change import CannotPredict, WrongChange, check_release
from .consumer import (
    MOST_ROUNDS,
    ClassicDeal,
    DealtMember,
    deals_of,
    given_up,
    members_of,
    of_kafkas_assignor,
    share_sets,
    without,
)

NOT_NEXT = "the generation before is not known, or was of another assignor"
OF_ONES_OWN = f"the group's own assignor is none of {', '.join(ASSIGNORS)}"
NO_MATCH = "its assignment is not known to be Kafka's own assignor's, or its leader may be no Java client"
UNREADABLE = "members could not be read"
NO_FIT = "it does not come from equal subscriptions, all partitions and the assignment before"
FAILED = "the other assignor gives no answer, or the release does not have it"


@dataclass(frozen=True, slots=True)
class HistoryFigures:
    """`moved`: partitions that members gained, or connectors and tasks that workers gained. `stopped`: what members
    that stayed had to give up, for a moment or for good: all that they had with an eager assignor. Of Connect also
    `imbalanced`: rebalances after which nobody waited and the tasks of two workers differed by more than one;
    `idle_ms`: how long connectors and tasks had no worker, all together; `most_tasks`: the most that one worker had
    while nobody waited; and `least_tasks`: the least that one has at the end. None: there was no worker."""

    rebalances: int = 0
    moved: int = 0
    stopped: int = 0
    imbalanced: int = 0
    idle_ms: int = 0
    most_tasks: int | None = None
    least_tasks: int | None = None

    def __add__(self, other: "HistoryFigures") -> "HistoryFigures":
        return HistoryFigures(
            self.rebalances + other.rebalances,
            self.moved + other.moved,
            self.stopped + other.stopped,
            self.imbalanced + other.imbalanced,
            self.idle_ms + other.idle_ms,
            max((one for one in (self.most_tasks, other.most_tasks) if one is not None), default=None),
            self.least_tasks if other.least_tasks is None else other.least_tasks,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryAnswer:
    """`courses`: the sums of each possible course. `left_out`: rebalances that were not computed, by why. `first`: the
    rebalance that comes once the setting is another one, by course; empty where it is not known."""

    recorded: HistoryFigures
    courses: tuple[HistoryFigures, ...]
    left_out: Mapping[str, int]
    first: tuple[HistoryFigures, ...] = ()

    def range_of(self, figure: str) -> tuple[int, int]:
        """The least and the most of a figure among the courses."""
        return least_and_most(self.courses, figure)


def least_and_most(courses: Sequence[HistoryFigures], figure: str) -> tuple[int, int]:
    """Of a figure, among these."""
    amounts = [getattr(one, figure) or 0 for one in courses]
    return min(amounts), max(amounts)


@dataclass(frozen=True, slots=True)
class _Step:
    """A rebalance that can be computed. `begins`: computing begins with what the record before gives."""

    before: dict[str, DealtMember]
    now: dict[str, DealtMember]
    own: ClassicDeal
    begins: bool
    follow_up: bool


def under_assignor(generations: Sequence[Published], name: str, release: str | None = None) -> HistoryAnswer:
    """`generations`: the newest first; the oldest is only looked at. CannotPredict, WrongChange."""
    if name not in ASSIGNORS:
        raise WrongChange(f"{name!r} is no assignor of consumers; take one of {', '.join(ASSIGNORS)}")
    if release is not None:
        check_release(release)
    try:
        eras = ASSIGNORS[name].eras if release is None else (ASSIGNORS[name].era_of(release),)
    except NoSuchEra as why:
        raise WrongChange(f"{why}; write one such as 3.9") from None
    _check(generations)
    left_out: Counter[str] = Counter()
    steps = list(_steps(generations, left_out))
    eager = name != COOPERATIVE_STICKY
    courses = []
    for era in eras:
        for at_once in (True,) if eager else (True, False):
            found = _course(steps, name, era, eager=eager, at_once=at_once)
            if found is not None and found not in courses:
                courses.append(found)
    if not steps:
        told = "; ".join(f"{count} times: {why}" for why, count in left_out.items())
        raise CannotPredict(f"no rebalance can be computed ({told or 'there was none'})")
    if not courses:
        raise CannotPredict(FAILED)
    recorded = sum((_figures(one.own, one.before, share_sets(_holds(one.now))) for one in steps), HistoryFigures())
    return HistoryAnswer(recorded=recorded, courses=tuple(courses), left_out=left_out)


def _check(generations: Sequence[Published]) -> None:
    if not generations:
        raise CannotPredict("no generation of the group is known in that time")
    if any(one["lifecycle"] != "classic" or one["protocol_type"] != "consumer" for one in generations):
        raise CannotPredict("only consumer groups of the classic protocol are computed under another assignor")
    if any("streams" in one for one in generations):
        raise CannotPredict("Kafka Streams has assignors of its own, and none of them is computed for past rebalances")
    if any("sampled" in one for one in generations):
        raise CannotPredict("the group is polled: rebalances between two samples are not known")


def _steps(generations: Sequence[Published], left_out: Counter[str]) -> Iterator[_Step]:
    begins = True
    for before, now in pairwise(reversed(generations)):
        if now.get("repeats"):
            continue
        found = _step(before, now, begins)
        if isinstance(found, str):
            left_out[found] += 1
            begins = True
        else:
            yield found
            begins = False


def _step(before: Published, now: Published, begins: bool) -> _Step | str:
    """Why it cannot be computed, if it cannot."""
    same = all(before[key] == now[key] for key in ("incarnation", "protocol"))
    if not same or now["generation"] != before["generation"] + 1:
        return NOT_NEXT
    if now["protocol"] not in ASSIGNORS:
        return OF_ONES_OWN
    if not of_kafkas_assignor(now):
        return NO_MATCH
    try:
        had, has = members_of(before), members_of(now)
    except CannotPredict:
        return UNREADABLE
    joined = {one: had.get(one, DealtMember(own.instance_id, (), -1)) for one, own in has.items()}
    shares = share_sets(_holds(has))
    own = next((deal for deal in deals_of(now) if share_sets(deal.shares(joined)) == shares), None)
    if own is None:
        return NO_FIT
    return _Step(joined, has, own, begins, had.keys() == has.keys() and given_up(before))


def _course(steps: Sequence[_Step], name: str, era: object, *, eager: bool, at_once: bool) -> HistoryFigures | None:
    """`at_once`: what was given up is handed out before the next member comes or goes; if not, in that rebalance.
    None where Kafka's class fails."""
    total, number = HistoryFigures(), 0
    held: dict[str, DealtMember] = {}
    for step in steps:
        if step.begins:
            held = step.before
            number = max(number, *(one.generation for one in held.values()))
        if step.follow_up and not step.begins:
            continue
        members = {one: _held(one, own, step, held) for one, own in step.now.items()}
        deal = ClassicDeal(name, era, step.own.topics, eager)
        for _ in range(MOST_ROUNDS):
            shares = deal.shares(members)
            if shares is None:
                return None
            number += 1
            total += _figures(deal, members, share_sets(shares))
            gives_up = any(without(one.holds, shares[key]) for key, one in members.items())
            members = {key: DealtMember(one.instance_id, shares[key], number) for key, one in members.items()}
            if eager or not gives_up or not at_once:
                break
        held = members
    return total


def _held(one: str, own: DealtMember, step: _Step, held: Mapping[str, DealtMember]) -> DealtMember:
    """A static member that took its place back has another id, and what it had before."""
    if one in held:
        return held[one]
    again = own.instance_id is not None and step.before[one].generation >= 0
    before = [member for member in held.values() if again and member.instance_id == own.instance_id]
    return before[0] if before else DealtMember(own.instance_id, (), -1)


def _holds(members: Mapping[str, DealtMember]) -> dict[str, tuple[tuple[str, int], ...]]:
    return {key: one.holds for key, one in members.items()}


def _figures(
    deal: ClassicDeal, members: Mapping[str, DealtMember], shares: Mapping[str, set[tuple[str, int]]]
) -> HistoryFigures:
    moved = sum(len(shares[key] - set(one.holds)) for key, one in members.items())
    stopped = sum(len(one.holds if deal.eager else set(one.holds) - shares[key]) for key, one in members.items())
    return HistoryFigures(1, moved, stopped)
