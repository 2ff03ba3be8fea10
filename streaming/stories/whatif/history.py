"""A consumer group's history under another assignor: who was there in each rebalance is kept, the answers are not.

    recorded, range                        computed, cooperative-sticky
    generation 7   a b c                   starts with what the record gives
    generation 8   a b      c went         a b keep what they have, and get what c had
    generation 9   a b d    d came         one gives up to d, in two rebalances

A rebalance is computed only if the group's own assignor gives the recorded assignment from the one before, for then
equal subscriptions and all partitions may be presumed. Computing begins anew after each one where it does not. With
another number of members, it begins once everything is given out among them.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any, Protocol

from rebalance_monitor.assignors.consumer.model import TopicRacks
from rebalance_monitor.assignors.consumer.sticky_eras import NoSuchEra
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.schemas.sticky_user_data import COOPERATIVE_STICKY
from rebalance_monitor.streaming.core.consumer.assignors import ASSIGNORS
from rebalance_monitor.streaming.stories.known import Published
from .change import CannotPredict, WrongChange, check_release
from .consumer import (
    MOST_ROUNDS,
    ClassicDeal,
    Dealt,
    DealtMember,
    deals_of,
    given_up,
    members_of,
    of_kafkas_assignor,
    share_sets,
    without,
)
from .consumer_targets import target_ways
from .other_members import EARLIER_LIFE, OtherMembers, last_life, with_number

NOT_NEXT = "the generation before is not known, or was of another assignor"
OF_ONES_OWN = f"the group's own assignor is none of {', '.join(ASSIGNORS)}"
NO_MATCH = "its assignment is not known to be Kafka's own assignor's, or its leader may be no Java client"
UNREADABLE = "members could not be read"
NO_FIT = "its assignor does not give this to members with the same topics: they may have others, or topics changed"
FAILED = "the other assignor gives no answer, or the release does not have it"
OF_ANOTHER = "it was of another assignor than the group has now"
NOT_SETTLED = "after what could not be computed, members had other partitions than the assignor gives them"


@dataclass(frozen=True, slots=True)
class HistoryFigures:
    """`moved`: partitions that members gained, or connectors and tasks that workers gained. `stopped`: what members
    that stayed had to give up, for a moment or for good: all that they had with an eager assignor. `most_held`: the
    most partitions that one member had, or the most tasks that one worker had while nobody waited; and `least_held`:
    the least that one has at the end. None: there was no member. Of Connect also `imbalanced`: rebalances after which
    nobody waited and the tasks of two workers differed by more than one; and `idle_ms`: how long connectors and tasks
    had no worker, all together. Of Streams `restored`: tasks with state that began in a process without any;
    `copied`: copies that processes began; and `bare_ms`: how long tasks with state had no copy, all together."""

    rebalances: int = 0
    moved: int = 0
    stopped: int = 0
    imbalanced: int = 0
    idle_ms: int = 0
    most_held: int | None = None
    least_held: int | None = None
    restored: int = 0
    copied: int = 0
    bare_ms: int = 0

    def __add__(self, other: "HistoryFigures") -> "HistoryFigures":
        return HistoryFigures(
            self.rebalances + other.rebalances,
            self.moved + other.moved,
            self.stopped + other.stopped,
            self.imbalanced + other.imbalanced,
            self.idle_ms + other.idle_ms,
            max((one for one in (self.most_held, other.most_held) if one is not None), default=None),
            self.least_held if other.least_held is None else other.least_held,
            self.restored + other.restored,
            self.copied + other.copied,
            self.bare_ms + other.bare_ms,
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
    """A rebalance that can be computed. `had`: the members of the record before; `before`: those of this one, before
    it. `begins`: computing begins with what the record before gives."""

    had: dict[str, DealtMember]
    before: dict[str, DealtMember]
    now: dict[str, DealtMember]
    own: ClassicDeal
    begins: bool
    follow_up: bool


class _Deal(Protocol):
    """An assignor with what it knows of the topics. `eager`: members give up everything before they join."""

    @property
    def eager(self) -> bool: ...

    def shares(self, members: Mapping[str, DealtMember]) -> Dealt | None:
        """None where Kafka's class fails."""


class _By(Protocol):
    """By what a history is computed."""

    @property
    def at_once(self) -> bool: ...

    @property
    def others(self) -> OtherMembers | None: ...

    def deal(self, topics: TopicRacks) -> _Deal: ...


@dataclass(frozen=True, slots=True)
class _DealtBy:
    """By what a history is computed. `at_once`: what was given up is handed out before the next member comes or goes;
    if not, in that rebalance."""

    name: str
    era: Any
    eager: bool
    at_once: bool = True
    others: OtherMembers | None = None

    def deal(self, topics: TopicRacks) -> ClassicDeal:
        return ClassicDeal(self.name, self.era, topics, self.eager)


def under_assignor(generations: Sequence[Published], name: str, release: str | None = None) -> HistoryAnswer:
    """`generations`: the newest first; the oldest is only looked at. CannotPredict, WrongChange."""
    ways = _ways(name, release)
    _check(generations)
    left_out: Counter[str] = Counter()
    return _answered(list(_steps(generations, left_out)), ways, left_out)


def under_targets(generations: Sequence[Published], name: str, release: str | None = None) -> HistoryAnswer:
    """As `under_assignor`, with the targets of a coordinator by one of its assignors. CannotPredict, WrongChange."""
    ways = target_ways(name, release)
    _check(generations)
    left_out: Counter[str] = Counter()
    return _answered(list(_steps(generations, left_out)), ways, left_out)


def under_number(
    generations: Sequence[Published], asked: int, until_ms: int, name: str | None = None, release: str | None = None
) -> HistoryAnswer:
    """With so many members, by the group's own assignor or another one. `generations`: the newest first; those of its
    last life are computed. `until_ms`: so long the newest one lasted. CannotPredict, WrongChange."""
    _check(generations)
    life, own = last_life(generations), generations[0]["protocol"]
    if name is None and own not in ASSIGNORS:
        raise CannotPredict(OF_ONES_OWN)
    ways = _ways(name or own, release)
    others = list(with_number(life, asked, until_ms, "members"))
    left_out: Counter[str] = Counter({EARLIER_LIFE: len(generations) - len(life)})
    steps = list(_calm_steps(life[::-1], None if name else own, left_out))
    if name is None and release is None:
        ways = _as_recorded(steps, ways)
    answer = _answered(steps, [replace(way, others=one) for way, one in product(ways, others)], +left_out)
    if name not in (None, own):
        return answer
    first = (_change_now(generations[0], replace(way, others=one)) for way, one in product(ways, others))
    return replace(answer, first=tuple(dict.fromkeys(one for one in first if one is not None)))


def _ways(name: str, release: str | None) -> list[_DealtBy]:
    """WrongChange."""
    if name not in ASSIGNORS:
        raise WrongChange(f"{name!r} is no assignor of consumers; take one of {', '.join(ASSIGNORS)}")
    if release is not None:
        check_release(release)
    try:
        eras = ASSIGNORS[name].eras if release is None else (ASSIGNORS[name].era_of(release),)
    except NoSuchEra as why:
        raise WrongChange(f"{why}; write one such as 3.9") from None
    eager = name != COOPERATIVE_STICKY
    return [_DealtBy(name, era, eager, at_once) for era in eras for at_once in ((True,) if eager else (True, False))]


def _answered(steps: Sequence[_Step], ways: Sequence[_By], left_out: Counter[str]) -> HistoryAnswer:
    """CannotPredict."""
    if not steps:
        told = "; ".join(f"{count} times: {why}" for why, count in left_out.items())
        raise CannotPredict(f"no rebalance can be computed ({told or 'there was none'})")
    courses = dict.fromkeys(found for way in ways if (found := _course(steps, way)) is not None)
    if not courses:
        raise CannotPredict(FAILED)
    recorded = sum((_figures(one.own, one.before, share_sets(_holds(one.now))) for one in steps), HistoryFigures())
    return HistoryAnswer(recorded=recorded, courses=tuple(courses), left_out=left_out)


def _check(generations: Sequence[Published]) -> None:
    if not generations:
        raise CannotPredict("no generation of the group is known in that time")
    if any(one["lifecycle"] != "classic" or one["protocol_type"] != "consumer" for one in generations):
        raise CannotPredict(
            "only consumer groups of the classic protocol are computed under this setting; of Connect those are another"
            " delay, release, protocol and number of workers"
        )
    if any("streams" in one for one in generations):
        raise CannotPredict(
            "Kafka Streams has assignors of its own; only other standbys, warm-ups and acceptable lags are computed"
        )
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
    return _Step(had, joined, has, own, begins, had.keys() == has.keys() and given_up(before))


def _calm_steps(generations: Sequence[Published], only: str | None, left_out: Counter[str]) -> Iterator[_Step]:
    """Those of one assignor, or of each; computing begins where members have what the assignor gives them."""
    fits = True
    for step in _steps(generations, left_out):
        fits = fits and not step.begins
        if only is not None and step.own.name != only:
            left_out[OF_ANOTHER] += 1
        elif not fits and share_sets(step.own.shares(step.had)) != share_sets(_holds(step.had)):
            left_out[NOT_SETTLED] += 1
        else:
            yield replace(step, begins=not fits)
            fits = True


def _as_recorded(steps: Sequence[_Step], ways: Sequence[_DealtBy]) -> list[_DealtBy]:
    """Those by which the most of the recorded answers come."""

    def given(way: _DealtBy) -> int:
        return sum(
            share_sets(way.deal(one.own.topics).shares(one.before)) == share_sets(_holds(one.now)) for one in steps
        )

    counts = [given(way) for way in ways]
    return [way for way, count in zip(ways, counts, strict=True) if count == max(counts)]


def _course(steps: Sequence[_Step], way: _By) -> HistoryFigures | None:
    """None where Kafka's class fails."""
    total, number = HistoryFigures(), 0
    held: dict[str, DealtMember] = {}
    for step in steps:
        deal, there = way.deal(step.own.topics), [*step.now]
        if step.begins:
            held = step.before
            number = max(number, *(one.generation for one in held.values()))
            if way.others is not None:
                begun = _rounds(deal, _with(way.others, step.had), number)
                if begun is None:
                    return None
                _, held, number = begun
        if way.others is not None:
            there = way.others.of(there)
            nobody_asks = set(there) == held.keys() and step.now.keys() != step.had.keys()
            if nobody_asks or not there:
                continue
        if step.follow_up and not step.begins:
            continue
        members = {one: _held(one, step, held) for one in there}
        found = _rounds(deal, members, number, at_once=way.at_once)
        if found is None:
            return None
        figures, held, number = found
        total += figures
    return total


def _rounds(
    deal: _Deal, members: Mapping[str, DealtMember], number: int, *, at_once: bool = True
) -> tuple[HistoryFigures, dict[str, DealtMember], int] | None:
    """One rebalance after generation `number`, and those that hand out what was given up: their figures, what members
    have then, and the last generation. None where Kafka's class fails."""
    total, held = HistoryFigures(), dict(members)
    for _ in range(MOST_ROUNDS if held else 0):
        shares = deal.shares(held)
        if shares is None:
            return None
        number += 1
        total += _figures(deal, held, share_sets(shares))
        gives_up = any(without(one.holds, shares[key]) for key, one in held.items())
        held = {key: DealtMember(one.instance_id, shares[key], number) for key, one in held.items()}
        if deal.eager or not gives_up or not at_once:
            break
    return total, held, number


def _with(others: OtherMembers, members: Mapping[str, DealtMember]) -> dict[str, DealtMember]:
    """These and those that are always there, who have nothing yet; without those that never are."""
    return {one: members.get(one) or _new(one, members) for one in others.of([*members])}


def _new(member_id: str, others: Mapping[str, DealtMember]) -> DealtMember:
    """One that comes is static if all others are."""
    static = all(one.instance_id is not None for one in others.values())
    return DealtMember(member_id if static else None, (), -1)


def _change_now(last: Published, way: _DealtBy) -> HistoryFigures | None:
    """The change itself, until everything is given out among the members. None where that is not known."""
    if not last["members"] or not of_kafkas_assignor(last) or given_up(last):
        return None
    try:
        members = members_of(last)
    except CannotPredict:
        return None
    deal = next(iter(deals_of(last)))
    found = way.others and _rounds(way.deal(deal.topics), _with(way.others, members), last["generation"])
    return found[0] if found else None


def _held(one: str, step: _Step, held: Mapping[str, DealtMember]) -> DealtMember:
    """A static member that took its place back has another id, and what it had before."""
    if one in held:
        return held[one]
    own = step.now.get(one)
    if own is None:
        return _new(one, step.now)
    again = own.instance_id is not None and step.before[one].generation >= 0
    before = [member for member in held.values() if again and member.instance_id == own.instance_id]
    return before[0] if before else DealtMember(own.instance_id, (), -1)


def _holds(members: Mapping[str, DealtMember]) -> dict[str, tuple[tuple[str, int], ...]]:
    return {key: one.holds for key, one in members.items()}


def _figures(
    deal: _Deal, members: Mapping[str, DealtMember], shares: Mapping[str, set[tuple[str, int]]]
) -> HistoryFigures:
    moved = sum(len(shares[key] - set(one.holds)) for key, one in members.items())
    stopped = sum(len(one.holds if deal.eager else set(one.holds) - shares[key]) for key, one in members.items())
    loads = [len(share) for share in shares.values()]
    return HistoryFigures(1, moved, stopped, most_held=max(loads, default=None), least_held=min(loads, default=None))
