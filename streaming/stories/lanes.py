"""A group's history as lanes: which member was given what, from when until when, by its generations. Pure.

              10:00     10:05          10:20        10:30
w1:8083       ├ 3: a-0 a-1 a-2 ┼ 2: a-0 a-1 ────────┤
w2:8083       ├ 1: a-3 ┤                              it left at 10:05
nobody                 ├ 1: a-3 ───────┤              and a-3 waited until w1 was given it

A bar is what a record says, until the next record. Where a record between the two is missing (its number is skipped,
or the group was polled), the bar lasts until a moment that is not known, at the latest until the next record: it is
not `sure`. A bar ends earlier where the generation behind it says since when the group had no members. What nobody
holds is told only of what was held before and is held again, or of what a record calls unassigned: else it may have
been deleted.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from .holdings import CONNECTOR, held
from .known import client_and_host

Object = dict[str, Any]
Names = frozenset[str]
_NUMBERED = re.compile(r"-\d+$")


@dataclass(frozen=True, slots=True)
class LaneBar:
    """What one member was given from `from_ms` until just before `until_ms`. `names`: None where its bytes could not be
    read. `twice`: those of them that another member was given, too."""

    from_ms: int
    until_ms: int
    names: Names | None
    twice: Names = frozenset()
    sure: bool = True

    @property
    def what(self) -> tuple[Names | None, Names, bool]:
        """All but when."""
        return self.names, self.twice, self.sure


@dataclass(frozen=True, slots=True)
class MemberLane:
    """One worker or member, by its whole name. `called`: the client and its host, where the name does not say them."""

    name: str
    bars: tuple[LaneBar, ...]
    called: str = ""


@dataclass(frozen=True, slots=True)
class LaneMark:
    """One generation: when, why (kinds of causes), and the grade of its verdict."""

    at_ms: int
    generation: int
    causes: tuple[str, ...]
    grade: str


@dataclass(frozen=True, slots=True)
class GroupLanes:
    """Lanes by name, that of nobody apart; marks in the order of the records. `targets`: the bars are targets of a
    coordinator, which members come to by themselves. `shared`: several members may have one partition."""

    from_ms: int
    until_ms: int
    lanes: tuple[MemberLane, ...] = ()
    nobody: tuple[LaneBar, ...] = ()
    marks: tuple[LaneMark, ...] = ()
    targets: bool = False
    shared: bool = False

    def within(self, from_ms: int, until_ms: int) -> "GroupLanes":
        """The same between two moments; lanes without a bar there are gone."""
        lanes = (replace(one, bars=_within(one.bars, from_ms, until_ms)) for one in self.lanes)
        return replace(
            self,
            from_ms=from_ms,
            until_ms=until_ms,
            lanes=tuple(one for one in lanes if one.bars),
            nobody=_within(self.nobody, from_ms, until_ms),
            marks=tuple(one for one in self.marks if from_ms <= one.at_ms < until_ms),
        )


class _Step(NamedTuple):
    """All that is known to be so from one moment until another."""

    from_ms: int
    until_ms: int
    sure: bool
    held: Mapping[str, Names | None]
    unassigned: Names
    shared: bool = False


def group_lanes(generations: Iterable[Object], until_ms: int, ended_ms: int | None = None) -> GroupLanes:
    """From documents of generations of one group, in any order, up to `until_ms`. The first one after `until_ms` must
    be among them, if there is one. `ended_ms`: since when nobody is in the group any more; None: the members of the
    last generation are."""
    some = sorted(generations, key=lambda one: (one["incarnation"], one["source"]["offset"]))
    if not some:
        return GroupLanes(until_ms, until_ms)
    moments = _moments(some)
    steps = [*_steps(some, moments, max(until_ms, moments[-1]), ended_ms)]
    bars: dict[str, list[LaneBar]] = defaultdict(list)
    nobody: list[LaneBar] = []
    waiting = _waiting(steps)
    for step, names in zip(steps, waiting, strict=True):
        twice = _twice(step)
        for lane, holds in step.held.items():
            both = frozenset() if holds is None else holds & twice
            _append(bars[lane], LaneBar(step.from_ms, step.until_ms, holds, both, step.sure))
        if names:
            _append(nobody, LaneBar(step.from_ms, step.until_ms, names, sure=step.sure))
    called = {name: text for one in some for name, text in _called(one).items()}
    return GroupLanes(
        moments[0],
        max(until_ms, moments[-1]),
        tuple(MemberLane(name, tuple(bars[name]), called.get(name, "")) for name in sorted(bars)),
        tuple(nobody),
        tuple(_mark(one, at_ms) for one, at_ms in zip(some, moments, strict=True)),
        some[-1]["lifecycle"] != "classic",
        some[-1]["lifecycle"] == "share",
    )


def _moments(some: Sequence[Object]) -> list[int]:
    """The order of records is real, their times may go back."""
    moments: list[int] = []
    for one in some:
        moments.append(max(one["at_ms"], moments[-1] if moments else 0))
    return moments


def _steps(some: Sequence[Object], moments: Sequence[int], until_ms: int, ended_ms: int | None) -> Iterator[_Step]:
    last_ms = until_ms if ended_ms is None else min(max(ended_ms, moments[-1]), until_ms)
    shares = [{name: _names(member) for name, member in _by_lane(one).items()} for one in some]
    everything = _all(names for one in shares for names in one.values())
    for at, one in enumerate(some):
        from_ms, next_ms = moments[at], moments[at + 1] if at + 1 < len(some) else last_ms
        sure_ms = emptied_ms = next_ms
        if at + 1 < len(some):
            emptied_ms = _emptied_ms(some[at + 1], from_ms, next_ms)
            sure_ms = _known_until(one, some[at + 1], from_ms, emptied_ms)
        given = _unassigned(one, everything)
        for begins, ends_ms, sure in ((from_ms, sure_ms, True), (sure_ms, emptied_ms, False)):
            if begins < ends_ms:
                yield _Step(begins, ends_ms, sure, shares[at], given, one["lifecycle"] == "share")
        if emptied_ms < next_ms:
            yield _Step(emptied_ms, next_ms, sure_ms == emptied_ms, {}, frozenset())
    if last_ms < until_ms:
        yield _Step(last_ms, until_ms, True, {}, _all(shares[-1].values()) | _unassigned(some[-1], everything))


def _known_until(one: Object, following: Object, from_ms: int, next_ms: int) -> int:
    """Until when nothing was between two records of which one is known to follow the other, or between them only the
    one that says that the group had no members."""
    between = following.get("sampled")
    if between is not None:
        after_ms = from_ms if between["after_ms"] is None else between["after_ms"]
        return min(max(after_ms, from_ms), next_ms)
    latest = one["generation"] + (2 if _since_ms(following) is not None else 1)
    adjoining = following["incarnation"] == one["incarnation"] and following["generation"] <= latest
    return next_ms if adjoining else from_ms


def _emptied_ms(following: Object, from_ms: int, next_ms: int) -> int:
    """Since when nobody had anything before this generation; `next_ms` where that is not known."""
    since_ms = _since_ms(following)
    return next_ms if since_ms is None else min(max(since_ms, from_ms), next_ms)


def _since_ms(following: Object) -> int | None:
    """When the group had no members any more, by the record that says so; of a polled one there is none."""
    since_ms: int | None = None if "sampled" in following else following.get("emptied", {}).get("since_ms")
    return since_ms


def _by_lane(generation: Object) -> dict[str, Object]:
    """Members by what stays the same when one comes back: its worker or instance, else its id."""
    stable = [member["worker"] or member["instance_id"] or member["member_id"] for member in generation["members"]]
    often = Counter(stable)
    return {
        name if often[name] == 1 else member["member_id"]: member
        for name, member in zip(stable, generation["members"], strict=True)
    }


def _called(generation: Object) -> dict[str, str]:
    found = {}
    for name, member in _by_lane(generation).items():
        if not (member["worker"] or member["instance_id"] or name.startswith(member["client_id"])):
            found[name] = client_and_host(member)
    return found


def _names(member: Object) -> Names | None:
    return None if member["assigned"] is None else frozenset(held(member))


def _unassigned(generation: Object, everything: Names) -> Names:
    """What a record calls unassigned, by the names that it has where somebody holds it: a task ends with a number."""
    return frozenset(
        name
        if name in everything or (_NUMBERED.search(name) and name + CONNECTOR not in everything)
        else name + CONNECTOR
        for name in generation.get("unassigned") or ()
    )


def _all(shares: Iterable[Names | None]) -> Names:
    return frozenset(name for names in shares for name in names or ())


def _twice(step: _Step) -> Names:
    if step.shared:
        return frozenset()
    counts = Counter(name for names in step.held.values() for name in names or ())
    return frozenset(name for name, often in counts.items() if often > 1)


def _waiting(steps: Sequence[_Step]) -> list[Names]:
    """What nobody holds in each step. Where bytes could not be read, nobody knows."""
    held_then = [_all(step.held.values()) for step in steps]
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for at, step in enumerate(steps):
        for name in held_then[at] | step.unassigned:
            first.setdefault(name, at)
            last[name] = at
    waiting = []
    for at, step in enumerate(steps):
        if None in step.held.values():
            waiting.append(frozenset[str]())
        else:
            lasting = (name for name in first if first[name] <= at <= last[name])
            waiting.append(frozenset(lasting) - held_then[at])
    return waiting


def _append(bars: list[LaneBar], bar: LaneBar) -> None:
    """What goes on as it was is one bar."""
    if bars and bars[-1].until_ms == bar.from_ms and bars[-1].what == bar.what:
        bar = replace(bar, from_ms=bars.pop().from_ms)
    bars.append(bar)


def _mark(generation: Object, at_ms: int) -> LaneMark:
    causes = tuple(dict.fromkeys(cause["kind"] for cause in generation["cause"]))
    return LaneMark(at_ms, generation["generation"], causes, generation["verdict"]["grade"])


def _within(bars: Iterable[LaneBar], from_ms: int, until_ms: int) -> tuple[LaneBar, ...]:
    cut = (replace(one, from_ms=max(one.from_ms, from_ms), until_ms=min(one.until_ms, until_ms)) for one in bars)
    return tuple(one for one in cut if one.from_ms < one.until_ms)
