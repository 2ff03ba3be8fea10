"""A Connect group's history with more or fewer workers: which of the recorded ones are there, and who is there beside
them.

    recorded    w1 w2 w3     w1 w2     w1 w2 w3    three most of the time
    two         w1    w3     w1        w1    w3    w2 is never there: one of three courses
    four        w1 w2 w3 +   w1 w2 +   w1 w2 w3 +  one more is always there

A worker that comes back has another member id. It is known by its address; one with a new address takes the place of
the one that went first.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb

from rebalance_monitor.streaming.stories.known import Published
from .change import CannotPredict, GroupChange, WrongChange, concerned, ids_to_come
from .connect import MOST_WORKERS

TRIED_CHOICES, TRIED_MORE = 16, 4


@dataclass(frozen=True, slots=True)
class OtherWorkers:
    """`never`: member ids of recorded workers that are not there. `always`: ids of workers that are there all the
    time."""

    never: frozenset[str] = frozenset()
    always: tuple[str, ...] = ()

    def of(self, members: frozenset[str]) -> frozenset[str]:
        """Who is there in place of these."""
        return members - self.never | frozenset(self.always) if members else members


def usual_number(life: Sequence[Published], until_ms: int) -> int:
    """How many workers were there for most of the time. `life`: the oldest first."""
    lasted: Counter[int] = Counter()
    ends = [*(one["at_ms"] for one in life[1:]), max(until_ms, life[-1]["at_ms"])]
    for one, end_ms in zip(life, ends, strict=True):
        if one["members"]:
            lasted[len(one["members"])] += end_ms - one["at_ms"]
    return max(lasted, key=lambda number: (lasted[number], number), default=0)


def with_number(life: Sequence[Published], asked: int, until_ms: int) -> Iterator[OtherWorkers]:
    """Each course that is tried. CannotPredict, WrongChange."""
    usual = usual_number(life, until_ms)
    if not 1 <= asked <= MOST_WORKERS:
        raise WrongChange(f"{asked} is no number of workers that is computed; take one from 1 to {MOST_WORKERS}")
    if asked == usual:
        raise CannotPredict(f"the group has {asked} workers for most of the time already")
    if asked > usual:
        change = GroupChange(join=asked - usual)
        ids = ids_to_come(change, concerned(change, life[-1]), life[-1])
        yield from (OtherWorkers(always=tuple(joining)) for joining, _ in islice(ids, TRIED_MORE))
        return
    places = _places(life)[:usual]
    for some in _choices(len(places), usual - asked):
        yield OtherWorkers(never=frozenset(one for place in some for one in places[place]))


def choices_left_out(usual: int, asked: int) -> int:
    """How many choices of workers that are not there are not tried."""
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
    address: list[str] = []
    rounds: list[int] = []
    there: dict[str, int] = {}
    free: list[int] = []
    for one in life:
        ids = {member["member_id"] for member in one["members"]}
        free += [there.pop(gone) for gone in sorted(there.keys() - ids)]
        for member in one["members"]:
            own, worker = member["member_id"], member["worker"] or member["client_id"]
            if own not in there:
                place = next((each for each in free if address[each] == worker), free[0] if free else len(had))
                if place == len(had):
                    had.append(set())
                    address.append(worker)
                    rounds.append(0)
                else:
                    free.remove(place)
                had[place].add(own)
                address[place], there[own] = worker, place
            rounds[there[own]] += 1
    return [had[place] for place in sorted(range(len(had)), key=lambda place: -rounds[place])]
