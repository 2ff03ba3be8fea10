"""A group's history with more or fewer members (of Connect: workers): which of the recorded ones are there, and who is
there beside them.

    recorded    w1 w2 w3     w1 w2     w1 w2 w3    three most of the time
    two         w1    w3     w1        w1    w3    w2 is never there: one of three courses
    four        w1 w2 w3 +   w1 w2 +   w1 w2 w3 +  one more is always there

A member that comes back has another member id. It is known by its worker's address, its instance id or its client id;
one that is not known takes the place of the one that went first.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb

from rebalance_monitor.streaming.stories.known import Published
from .change import GroupChange, WrongChange, concerned, ids_to_come

TRIED_CHOICES, TRIED_MORE = 16, 4
MOST_MEMBERS = 500
EARLIER_LIFE = "it came before the group was deleted or began anew"


@dataclass(frozen=True, slots=True)
class OtherMembers:
    """`never`: ids of recorded members that are not there. `always`: ids of members that are there all the time."""

    never: frozenset[str] = frozenset()
    always: tuple[str, ...] = ()

    def of(self, members: Iterable[str]) -> list[str]:
        """Who is there in place of these."""
        there = [*members]
        return [*(one for one in there if one not in self.never), *self.always] if there else there


def last_life(generations: Sequence[Published]) -> list[Published]:
    """The generations since the group was made, the oldest first. `generations`: the newest first."""
    return [one for one in generations if one["incarnation"] == generations[0]["incarnation"]][::-1]


def last_with_members(generations: Sequence[Published]) -> Published:
    """`generations`: the newest first; the newest if nobody was in any."""
    return next((one for one in generations if one["members"]), generations[0])


def usual_number(life: Sequence[Published], until_ms: int) -> int:
    """How many members were there for most of the time. `life`: the oldest first."""
    lasted: Counter[int] = Counter()
    ends = [*(one["at_ms"] for one in life[1:]), max(until_ms, life[-1]["at_ms"])]
    for one, end_ms in zip(life, ends, strict=True):
        if one["members"]:
            lasted[len(one["members"])] += end_ms - one["at_ms"]
    return max(lasted, key=lambda number: (lasted[number], number), default=0)


def with_number(life: Sequence[Published], asked: int, until_ms: int, called: str) -> Iterator[OtherMembers]:
    """Each course that is tried; with the usual number the recorded one. `called`: what members of such a group are
    called. WrongChange."""
    usual = usual_number(life, until_ms)
    if not 1 <= asked <= MOST_MEMBERS:
        raise WrongChange(f"{asked} is no number of {called} that is computed; take one from 1 to {MOST_MEMBERS}")
    if asked == usual:
        yield OtherMembers()
        return
    if asked > usual:
        change = GroupChange(join=asked - usual)
        ids = ids_to_come(change, concerned(change, life[-1]), life[-1])
        yield from (OtherMembers(always=tuple(joining)) for joining, _ in islice(ids, TRIED_MORE))
        return
    places = _places(life)[:usual]
    for some in _choices(len(places), usual - asked):
        yield OtherMembers(never=frozenset(one for place in some for one in places[place]))


def choices_left_out(usual: int, asked: int) -> int:
    """How many choices of members that are not there are not tried."""
    return max(0, comb(usual, usual - asked) - TRIED_CHOICES) if asked < usual else 0


def _choices(places: int, leave_out: int) -> Iterator[tuple[int, ...]]:
    """Which places stay empty: every choice, or some in which each place is."""
    if comb(places, leave_out) <= TRIED_CHOICES:
        yield from combinations(range(places), leave_out)
        return
    for turn in range(TRIED_CHOICES):
        first = turn * places // TRIED_CHOICES
        yield tuple((first + number) % places for number in range(leave_out))


def _places(life: Sequence[Published]) -> list[set[str]]:
    """The member ids that had each place, one after the other; what was taken the longest stands first."""
    had: list[set[str]] = []
    names: list[str] = []
    rounds: list[int] = []
    there: dict[str, int] = {}
    free: list[int] = []
    for one in life:
        ids = {member["member_id"] for member in one["members"]}
        free += [there.pop(gone) for gone in sorted(there.keys() - ids)]
        for member in one["members"]:
            own, called = member["member_id"], _called(member)
            if own not in there:
                place = next((each for each in free if names[each] == called), free[0] if free else len(had))
                if place == len(had):
                    had.append(set())
                    names.append(called)
                    rounds.append(0)
                else:
                    free.remove(place)
                had[place].add(own)
                names[place], there[own] = called, place
            rounds[there[own]] += 1
    return [had[place] for place in sorted(range(len(had)), key=lambda place: -rounds[place])]


def _called(member: Published) -> str:
    """What a member and the one that comes back in its place have in common."""
    return str(member["worker"] or member["instance_id"] or member["client_id"])
