"""Whether what the monitor said of the next rebalances came true: made of stored generations alone.

    delay_ends     "At 12:00:09 the delay ends, and a rebalance assigns them."    Connect
    probing_due    "The next probing rebalance is due at 12:10:00."               Streams, classic protocol
    moves_left     "2 moves left, so not before 12:20:00"                         Streams, classic protocol
    incident_ends  "ends at 12:00:09", said of each open incident whose rule ends with the delay

All but the third have an end: the join phase takes at most the longest rebalance time-out of the members. A prediction
is judged by the generations directly after it, by their numbers; where one is missing, it is not. An incident is to end
before the second of them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.catalogue import RULES
from rebalance_monitor.streaming.core.model.messages import counted
from .durations import duration
from .known import Published
from .rebalances import record_order

_FOLLOW_UPS = frozenset({"probing_rebalance", "revocation_follow_up"})
"""Causes by which a Streams application comes nearer to its target placement."""


class Foretold(StrEnum):
    """What was predicted."""

    DELAY_ENDS = "delay_ends"
    PROBING_DUE = "probing_due"
    MOVES_LEFT = "moves_left"
    INCIDENT_ENDS = "incident_ends"
    WHATIF_LEAVE = "whatif_leave"
    WHATIF_JOIN = "whatif_join"
    WHATIF_BOUNCE = "whatif_bounce"
    WHATIF_SCALE = "whatif_scale"


class Fate(StrEnum):
    """What came of a prediction: FATES."""

    HIT = "hit"
    EARLY = "early"
    LATE = "late"
    MISSED = "missed"
    OVERTAKEN = "overtaken"
    NOT_JUDGED = "not_judged"
    OPEN = "open"


FATES: Mapping[Fate, str] = {
    Fate.HIT: "It came as predicted.",
    Fate.EARLY: "It came before, though nothing else had happened.",
    Fate.LATE: "The next rebalance, or the end of the incident, came after the last moment of the prediction.",
    Fate.MISSED: "Of whatif: members gained or gave up something else than it says, or waited otherwise.",
    Fate.OVERTAKEN: "Something else made the group rebalance.",
    Fate.NOT_JUDGED: "A generation is missing, or the records say too little.",
    Fate.OPEN: "No record has decided it yet.",
}
NAMES: Mapping[str, str] = {
    Foretold.DELAY_ENDS: "end of a scheduled delay",
    Foretold.PROBING_DUE: "next probing rebalance",
    Foretold.MOVES_LEFT: "target placement not before",
    Foretold.INCIDENT_ENDS: "end of an incident",
    Foretold.WHATIF_LEAVE: "members leave (whatif)",
    Foretold.WHATIF_JOIN: "members join (whatif)",
    Foretold.WHATIF_BOUNCE: "a member bounces (whatif)",
    Foretold.WHATIF_SCALE: "a connector is scaled (whatif)",
}
_WITH_DELAY = frozenset(rule.code for rule in RULES if rule.ends_with_delay)
_CAUSES = {Foretold.DELAY_ENDS: "delay_expired", Foretold.PROBING_DUE: "probing_rebalance"}


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPrediction:
    """Made with a generation for between two moments (`until_ms` None: no end, or not known). `after_ms`: of a
    hit that has an end, how long after `from_ms` the record came, or the incident ended. `incident_id`: of the incident
    that was to end."""

    what: Foretold
    generation: int
    made_ms: int
    from_ms: int
    until_ms: int | None
    fate: Fate
    after_ms: int | None = None
    incident_id: str = ""


def judged(documents: Iterable[Published], violations: Iterable[Published] = ()) -> list[JudgedPrediction]:
    """The predictions of one group's generations, given in any order, in the order in which they were made.
    `violations`: its incidents as they stand."""
    last = {(one["incarnation"], one["generation"]): one for one in sorted(documents, key=record_order)}
    known = list(last.values())
    incidents = sorted(violations, key=lambda one: (one["opened_at_ms"], one["incident_id"]))
    found: list[JudgedPrediction] = []
    for place in range(len(known)):
        rest = known[place:]
        own = [_judged(what, from_ms, rest) for what, from_ms in _made(known[place])]
        found += own
        ends = next((one for one in own if one.what is Foretold.DELAY_ENDS), None)
        if ends is not None:
            found += [_ended(ends, one, rest) for one in incidents if _said_of(one, ends, rest)]
    return found


def _made(generation: Published) -> list[tuple[Foretold, int]]:
    """None by a polled group: its rebalances are not all seen."""
    wait = generation.get("wait") or {}
    progress = (generation.get("streams") or {}).get("progress") or {}
    delay_ms = wait.get("until_ms") if wait.get("ended_ms") is None else None
    told = (
        (Foretold.DELAY_ENDS, delay_ms),
        (Foretold.PROBING_DUE, progress.get("next_ms")),
        (Foretold.MOVES_LEFT, progress.get("not_before_ms")),
    )
    return [] if generation.get("sampled") else [(what, from_ms) for what, from_ms in told if from_ms is not None]


def _judged(what: Foretold, from_ms: int, known: Sequence[Published]) -> JudgedPrediction:
    """`known`: from the generation that it was made with on."""
    made = known[0]
    if what is Foretold.MOVES_LEFT:
        until_ms, fate = None, _placed(from_ms, known)
    else:
        until_ms = _latest_ms(from_ms, made)
        fate = _came(_CAUSES[what], from_ms, until_ms, known)
    return JudgedPrediction(
        what=what,
        generation=made["generation"],
        made_ms=made["at_ms"],
        from_ms=from_ms,
        until_ms=until_ms,
        fate=fate,
        after_ms=known[1]["at_ms"] - from_ms if fate is Fate.HIT and until_ms is not None else None,
    )


def _said_of(incident: Published, ends: JudgedPrediction, known: Sequence[Published]) -> bool:
    """Whether it ends with the delay, and is open between the generation that tells of this, and the next one or its
    end."""
    over_ms = min([ends.from_ms, *(one["at_ms"] for one in known[1:2])])
    resolved_ms = incident["resolved_at_ms"]
    open_then = incident["opened_at_ms"] < over_ms and (resolved_ms is None or resolved_ms > ends.made_ms)
    return bool(incident["code"] in _WITH_DELAY and open_then)


def _ended(ends: JudgedPrediction, incident: Published, known: Sequence[Published]) -> JudgedPrediction:
    """Where nothing else made the group rebalance, the incident itself decides: it ends before the rebalance after."""
    fate, after_ms, resolved_ms = ends.fate, None, incident["resolved_at_ms"]
    if fate in (Fate.HIT, Fate.EARLY, Fate.LATE) and ends.until_ms is not None:
        over_ms = min([ends.until_ms + 1, *(one["at_ms"] for one in known[2:3])])
        seen_ms = known[-1]["at_ms"] if resolved_ms is None else resolved_ms
        if seen_ms >= over_ms:
            fate = Fate.LATE
        elif resolved_ms is None:
            fate = Fate.OPEN
        else:
            fate = Fate.EARLY if resolved_ms < ends.from_ms else Fate.HIT
            after_ms = resolved_ms - ends.from_ms if fate is Fate.HIT else None
    return replace(
        ends,
        what=Foretold.INCIDENT_ENDS,
        made_ms=max(ends.made_ms, incident["opened_at_ms"]),
        fate=fate,
        after_ms=after_ms,
        incident_id=incident["incident_id"],
    )


def _latest_ms(from_ms: int, made: Published) -> int | None:
    """When the join phase that begins then is over at the latest."""
    waits = [one.get("rebalance_timeout_ms") for one in made["members"]]
    return None if not waits or None in waits else from_ms + max(waits)


def _came(cause: str, from_ms: int, until_ms: int | None, known: Sequence[Published]) -> Fate:
    """By the next rebalance, which has this cause alone if the prediction is true."""
    if len(known) < 2:
        return Fate.OPEN
    after, kinds = known[1], kinds_of(known[1])
    at_ms: int = after["at_ms"]
    if not follows(after, known[0]) or until_ms is None or kinds <= {"unknown"}:
        return Fate.NOT_JUDGED
    if at_ms > until_ms:
        return Fate.LATE
    if kinds - {"leader_changed"} != {cause}:
        return Fate.OVERTAKEN
    return Fate.HIT if at_ms >= from_ms else Fate.EARLY


def _placed(from_ms: int, known: Sequence[Published]) -> Fate:
    """It is true once a rebalance has come at or after that moment, and none before it had left no move."""
    for before, after in pairwise(known):
        progress = (after.get("streams") or {}).get("progress")
        if not follows(after, before):
            return Fate.NOT_JUDGED
        if after["at_ms"] >= from_ms:
            return Fate.HIT
        if kinds_of(after) <= {"unknown"} or progress is None:
            return Fate.NOT_JUDGED
        if not kinds_of(after) <= _FOLLOW_UPS:
            return Fate.OVERTAKEN
        if not progress["moves_left"]:
            return Fate.EARLY
    return Fate.OPEN


def follows(after: Published, before: Published) -> bool:
    """Whether it is the generation directly after this one, and the group was read."""
    same = after["incarnation"] == before["incarnation"] and not after.get("sampled")
    return bool(same and after["generation"] == before["generation"] + 1)


def kinds_of(generation: Published) -> set[str]:
    return {one["kind"] for one in generation["cause"]}


def score_object(predictions: Iterable[JudgedPrediction]) -> list[dict[str, Any]]:
    """The counts as the API answers them: one object for each thing that was predicted at least once."""
    made = list(predictions)
    found = []
    for what in Foretold:
        own = [one for one in made if one.what is what]
        counts = Counter(one.fate for one in own)
        after = [one.after_ms for one in own if one.after_ms is not None]
        if own:
            found.append(
                {
                    "what": what.value,
                    **{fate.value: counts[fate] for fate in Fate},
                    "longest_after_ms": max(after, default=None),
                }
            )
    return found


def score_lines(score: Iterable[Mapping[str, Any]]) -> list[str]:
    """The counts for people: a rate of those alone that came to a test."""
    return [_line(one) for one in score]


def _line(one: Mapping[str, Any]) -> str:
    tested = one["hit"] + one["early"] + one["late"] + one["missed"]
    missed = [f"{one[fate]} {fate}" for fate in (Fate.EARLY, Fate.LATE, Fate.MISSED) if one[fate]]
    beside = [
        f"{one[fate]} {fate.replace('_', ' ')}" for fate in (Fate.OVERTAKEN, Fate.NOT_JUDGED, Fate.OPEN) if one[fate]
    ]
    longest = "" if one["longest_after_ms"] is None else f", at most {duration(one['longest_after_ms'])} after"
    true = f"{one['hit']} of {counted(tested, 'prediction')} true{longest}" if tested else "none came to a test"
    return f"{NAMES[one['what']]}: {'; '.join([true, *missed, *beside])}"
