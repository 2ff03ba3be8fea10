"""Whether `whatif` was right: each change of a group that it can describe is predicted from the generations before it,
and compared with the records that followed.

    generation 7   w1 w2 w3
    generation 8   w1 w2      w3 is gone          from 7 is predicted: nobody gets anything, a delay runs; then …
    generation 9   w1 w2      the delay is over   … w1 and w2 get 3 tasks. So it came: a hit

A change is one event: members left, members joined, one went and was back in the next generation, or one connector got
another number of tasks. The ids of members that came are those of the records, for Kafka makes them up. What was
predicted counts as far as nothing else happened.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rebalance_monitor.streaming.core.costs import CONNECT
from rebalance_monitor.streaming.core.model.results import Grade
from rebalance_monitor.streaming.stories.holdings import held
from rebalance_monitor.streaming.stories.known import Published, names_of
from rebalance_monitor.streaming.stories.rebalances import record_order
from rebalance_monitor.streaming.stories.score import Fate, Foretold, JudgedPrediction, follows, kinds_of
from . import connect, consumer
from .change import CannotPredict, GroupChange, WrongChange
from .connect_past import configured
from .outcome import Course, Prediction

MOST_CHANGES, MOST_HELD = 20, 5_000
"""So many changes of a group at most, the newest, and no more once its members held so many connectors, tasks and
partitions before all of them together: each change costs milliseconds."""
_GOES_ON = frozenset({"delay_expired", "revocation_follow_up", "backoff_follow_up", "leader_changed", "unknown"})
"""Causes of rebalances that follow from the one before."""
_BACK = frozenset({"worker_joined", "member_joined"})
_NOT_ASKED = frozenset(
    {
        "zombie_returned", "connector_created", "connector_deleted", "connector_reconfigured", "config_mismatch",
        "configuration_changed", "subscription_changed", "topic_changed", "protocol_changed", "member_replaced",
    }
)  # fmt: skip
"""Causes that no change describes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _SeenChange:
    """What happened, as `whatif` is asked about it. `come` and `back`: ids of those that joined, or came back, with
    what they are called."""

    what: Foretold
    asked: GroupChange
    come: Mapping[str, str] = field(default_factory=dict)
    back: Mapping[str, str] = field(default_factory=dict)


def scored(
    documents: Iterable[Published], since_ms: int | None = None, most_held: int = MOST_HELD
) -> list[JudgedPrediction]:
    """Of one group's generations, given in any order; in the order in which the changes came. `since_ms`: of changes
    from then on; earlier generations are only looked at."""
    last = {(one["incarnation"], one["generation"]): one for one in sorted(documents, key=record_order)}
    known = list(last.values())
    found: list[JudgedPrediction] = []
    looked_at = 0
    for place in range(len(known) - 1, 0, -1):
        if since_ms is not None and known[place]["at_ms"] < since_ms:
            break
        for change in _changes(known, place):
            looked_at += _size(known[place - 1])
            if len(found) == MOST_CHANGES or looked_at > most_held:
                return found[::-1]
            found.append(
                JudgedPrediction(
                    what=change.what,
                    generation=known[place - 1]["generation"],
                    made_ms=known[place]["at_ms"],
                    from_ms=known[place]["at_ms"],
                    until_ms=None,
                    fate=_fate(change, known, place),
                )
            )
    return found[::-1]


def _changes(known: Sequence[Published], place: int) -> Iterator[_SeenChange]:
    """What happened before this generation, if it was one event."""
    before, after = known[place - 1], known[place]
    classic = after["lifecycle"] == "classic" and "streams" not in after
    if not classic or not follows(after, before) or kinds_of(after) & _NOT_ASKED:
        return
    had, has = _ids(before), _ids(after)
    gone, come, old, new = had - has, has - had, _configured(before), _configured(after)
    if not had or not has or before["protocol"] != after["protocol"]:
        return
    changed = {name: count for name, count in new.items() if old.get(name) != count}
    if len(changed) == 1 and old.keys() == new.keys() and had == has and after["protocol_type"] == CONNECT:
        yield _SeenChange(what=Foretold.WHATIF_SCALE, asked=GroupChange(scale=changed))
    if old != new or bool(gone) == bool(come):
        return
    if come:
        if _fresh(before, after, come):
            named = {one: f"new member {number}" for number, one in enumerate(sorted(come), start=1)}
            yield _SeenChange(what=Foretold.WHATIF_JOIN, asked=GroupChange(join=len(come)), come=named)
        return
    yield _SeenChange(what=Foretold.WHATIF_LEAVE, asked=GroupChange(leave=tuple(sorted(gone))))
    back = _back(known, place, gone)
    if back is not None:
        (left,) = gone
        away_ms = _state_ms(known[place + 1]) - _state_ms(after)
        asked = GroupChange(bounce=(left,), away_ms=max(0, away_ms))
        yield _SeenChange(what=Foretold.WHATIF_BOUNCE, asked=asked, back={back: names_of(before)[left]})


def _back(known: Sequence[Published], place: int, gone: set[str]) -> str | None:
    """Under which id a new process of the one member that is gone came in the next generation."""
    if len(gone) != 1 or place + 1 == len(known):
        return None
    before, after, later = known[place - 1 : place + 2]
    come = _ids(later) - _ids(after)
    if len(come) != 1 or _ids(after) - _ids(later) or not follows(later, after) or not _fresh(before, later, come):
        return None
    (left,), (back,) = (
        [one for one in each["members"] if one["member_id"] in ids] for each, ids in ((before, gone), (later, come))
    )
    same = (left["worker"], left["client_id"]) == (back["worker"], back["client_id"]) and left["instance_id"] is None
    return str(back["member_id"]) if same and _configured(after) == _configured(later) else None


def _fresh(before: Published, after: Published, come: set[str]) -> bool:
    """Whether those that came are new processes, static members only if all are."""
    static = all(one["instance_id"] for one in before["members"])
    new = [one for one in after["members"] if one["member_id"] in come]
    holding = any(any(one["owned"].values()) for one in new if one["owned"])
    return not holding and all(bool(one["instance_id"]) == static for one in new)


def _configured(generation: Published) -> Mapping[str, int]:
    """Tasks by connector, or partitions by topic: how many there are, as the document shows them."""
    if generation["protocol_type"] == CONNECT:
        return configured(generation)
    return consumer.partition_counts(generation, with_owned=True)


def _fate(change: _SeenChange, known: Sequence[Published], place: int) -> Fate:
    after = known[place]
    if after["verdict"]["grade"] in (Grade.UNEXPLAINED, Grade.NOT_JUDGED):
        return Fate.NOT_JUDGED
    life = [one for one in known[:place] if one["incarnation"] == after["incarnation"]][::-1]
    try:
        told = _predicted(change, life, after)
    except (CannotPredict, WrongChange):
        return Fate.NOT_JUDGED
    fates = {_came(one, change, known, place) for one in told.courses}
    return next((one for one in (Fate.HIT, Fate.OPEN) if one in fates), Fate.MISSED)


def _size(generation: Published) -> int:
    return sum(len(held(dict(one))) for one in generation["members"])


def _predicted(change: _SeenChange, life: Sequence[Published], after: Published) -> Prediction:
    """CannotPredict, WrongChange."""
    given = dict(change.come), {one: new for new in change.back for one in change.asked.bounce}
    if after["protocol_type"] == CONNECT:
        return connect.predict(change.asked, life, _state_ms(after), lambda *_: [given])
    return consumer.predict(change.asked, life, lambda *_: [given])


def _came(course: Course, change: _SeenChange, known: Sequence[Published], place: int) -> Fate:
    """Whether the records show its rebalances, until something else happened."""
    names = {**names_of(known[place - 1]), **change.come, **change.back}
    now = _holds(known[place - 1], names)
    for step, one in enumerate(course.to_come, start=place):
        if step == len(known):
            return Fate.OPEN
        record = known[step]
        if step > place and not _goes_on(record, known[step - 1], change):
            return Fate.HIT
        real = _holds(record, names)
        now = {
            name: (now.get(name, set()) - {*one.gives_up.get(name, ())}) | {*one.gets.get(name, ())} for name in real
        }
        if now != real or bool(one.delay_ms) != bool(record["delay_ms"]):
            return Fate.MISSED
    return Fate.HIT


def _goes_on(record: Published, before: Published, change: _SeenChange) -> bool:
    """Whether nothing happened between the two that the change does not say."""
    come = _ids(record) - _ids(before)
    expected = _GOES_ON | (_BACK if come else frozenset())
    same = _ids(before) <= _ids(record) and come <= change.back.keys()
    return same and follows(record, before) and kinds_of(record) <= expected


def _holds(generation: Published, names: Mapping[str, str]) -> dict[str, set[str]]:
    return {names[one["member_id"]]: held(dict(one)) for one in generation["members"]}


def _ids(generation: Published) -> set[str]:
    return {one["member_id"] for one in generation["members"]}


def _state_ms(generation: Published) -> int:
    """The leader's clock, as near as a record tells it."""
    return int(generation["state_ms"] or generation["at_ms"])
