"""A consumer group's history with static members: a process that is back within its session time-out costs nothing.

    12:00:00  generation 8   a went                      of client orders-1, session time-out 45 s
    12:00:20  generation 9   d came, of client orders-1  back after 20 s: neither of both would have come

A dynamic member that comes back has a new member id, so a record shows one that went and one that came. Which of
several with the same client id came back is in no record. Two courses are computed: who went first comes back first,
however long ago that was; and who comes is one of those whose session time-out is not over, if there is one. One that
was removed had been silent for its session time-out by then, and was away for so much longer. Each course is computed
twice: those of whom no record tells it left by a request, or were removed.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from rebalance_monitor.streaming.stories.known import Published
from rebalance_monitor.streaming.stories.rebalances import NamedMember, SeenRebalance, record_order, seen
from .change import CannotPredict
from .history import NOT_NEXT, HistoryAnswer, HistoryFigures

WentAway = tuple[int, NamedMember]
"""Place of the rebalance, and who went."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticAnswer:
    """`for_good`: how many went and did not come back in time, by course: each is noticed only when its session
    time-out is over. `session_ms`: the longest of these time-outs."""

    answer: HistoryAnswer
    for_good: tuple[int, ...]
    session_ms: int


def under_static_members(generations: Sequence[Published], session_ms: int | None = None) -> StaticAnswer:
    """`generations`: in any order; the oldest is only looked at. `session_ms`: instead of the time-outs of the records.
    CannotPredict."""
    if not generations:
        raise CannotPredict("no generation of the group is known in that time")
    if any(one["lifecycle"] != "classic" or one["protocol_type"] != "consumer" for one in generations):
        raise CannotPredict("only consumer groups of the classic protocol are computed with static members")
    known = [one for one in seen(generations) if not one.again]
    if any(one.polled for one in known):
        raise CannotPredict("the group is polled: rebalances between two samples are not known")
    if all(member.static for one in known for member in one.members.values()):
        raise CannotPredict("the group's members are static already")
    moved = {record_order(one): _gained(one) for one in generations}
    counted = [place for place, one in enumerate(known) if one.after]
    if not counted:
        raise CannotPredict("no generation directly after another one is known in that time")
    courses, for_good, longest_ms = [], [], 0
    for silent, oldest_first in product((False, True), (True, False)):
        back, left = _back_in_time(known, session_ms, silent=silent, oldest_first=oldest_first)
        avoided = {place for place in counted if _avoided(place, known, back)}
        figures = HistoryFigures(
            rebalances=len(counted) - len(avoided),
            moved=sum(moved[known[place].place] for place in counted if place not in avoided),
        )
        if figures not in courses:
            courses.append(figures)
        for_good.append(len(left))
        longest_ms = max([longest_ms, *(_session_ms(member, session_ms) for _, member in left)])
    recorded = HistoryFigures(rebalances=len(counted), moved=sum(moved[known[place].place] for place in counted))
    left_out = Counter({NOT_NEXT: len(known) - 1 - len(counted)})
    answer = HistoryAnswer(recorded=recorded, courses=tuple(courses), left_out=+left_out)
    return StaticAnswer(answer=answer, for_good=tuple(for_good), session_ms=longest_ms)


def _session_ms(member: NamedMember, instead: int | None) -> int:
    return (member.session_ms or 0) if instead is None else instead


def _silent_ms(one: SeenRebalance, member: NamedMember, *, unknown: bool) -> int:
    """How long it had been silent when it went. `unknown`: whether those had of whom no record tells."""
    left = one.left(member)
    return (member.session_ms or 0) if left is False or (left is None and unknown) else 0


def _back_in_time(
    known: Sequence[SeenRebalance], session_ms: int | None, *, silent: bool, oldest_first: bool
) -> tuple[set[tuple[int, str]], list[WentAway]]:
    """Who went or came, by place and member id, and was away no longer than the session time-out; and who went and was
    not back by then. A history that ends before that says nothing of who went last. `silent`: those of whom no record
    tells were removed."""
    waiting: dict[str, list[WentAway]] = {}
    back = set[tuple[int, str]]()
    late: list[WentAway] = []

    def away_ms(each: WentAway, until_ms: int) -> int:
        place, member = each
        return until_ms - known[place].at_ms + _silent_ms(known[place], member, unknown=silent)

    for place, one in enumerate(known):
        for member in (each for each in one.went if not each.static):
            waiting.setdefault(member.client, []).append((place, member))
        for member in (each for each in one.came if not each.static):
            gone = waiting.get(member.client, [])
            fits = [each for each in gone if away_ms(each, one.at_ms) < _session_ms(each[1], session_ms)]
            chosen = next(iter(gone if oldest_first else fits or gone), None)
            if chosen is None:
                continue
            gone.remove(chosen)
            if chosen in fits:
                back |= {(chosen[0], chosen[1].member_id), (place, member.member_id)}
            else:
                late.append(chosen)
    end_ms = known[-1].at_ms
    rest = [each for gone in waiting.values() for each in gone]
    late += [each for each in rest if away_ms(each, end_ms) >= _session_ms(each[1], session_ms)]
    return back, late


def _avoided(place: int, known: Sequence[SeenRebalance], back: set[tuple[int, str]]) -> bool:
    """Whether nobody asked for it but members that were back in time; or it hands out what was given up in such a
    one."""
    while known[place].hands_out and place > 0:
        place -= 1
    one = known[place]
    return (
        one.after
        and bool(one.movers)
        and one.only_moves
        and all((place, member.member_id) in back for member in (*one.came, *one.went))
    )


def _gained(generation: Published) -> int:
    """Partitions that members gained, against the generation before."""
    changes: Mapping[str, Published] = generation["diff"]
    return sum(len(one["gained"]) for one in changes.values())
