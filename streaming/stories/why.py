"""Why a group rebalances: the causes of many rebalances as a ranking, each line with what it rests on.

    41 of 60: member consumer-7 on 10.0.3.4 was gone 41 times 300.2 to 303.1 s after the rebalance before; … (likely)
    12 of 60: members joined: consumer-9 on 10.0.3.5 3 times, consumer-1 on 10.0.3.6 and 5 more
     7 of 60: cannot tell; no record shows a cause

Each rebalance is counted once: under the first pattern of `why_patterns` that explains it, else under the first of its
own causes in the order of `KINDS`. A line is as certain as the least certain of its rebalances.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from rebalance_monitor.streaming.core.model.messages import counted, listed, utc
from rebalance_monitor.streaming.core.model.results import Certainty
from .cause_words import KINDS, STATIC_GONE
from .known import Published
from .rebalances import Explained, RecordOrder, SeenRebalance, seen, weakest
from .score import JudgedPrediction, judged, score_object
from .whatif.scored import MOST_HELD, scored
from .why_patterns import PATTERNS, contested_instances

MOST_REBALANCES, MOST_MEMBERS = 2_000, 30_000
"""So many generations at most are looked at, and so many members of them all together: the newest."""
EVIDENCE, MOST_NAMED = 3, 4
PATTERN_CODES = (
    "instance_id_used_twice", "poll_interval_exceeded", "session_timed_out", "rolling_restart",
    "worker_back_within_delay", "member_comes_and_goes", "partitions_added", "topic_added", "hand_over",
    "coordinator_moved",
)  # fmt: skip
CODES = (*PATTERN_CODES, *KINDS)


@dataclass(frozen=True, slots=True)
class RankedReason:
    """One line: how many rebalances, under which code, how sure, of whom, and in which generations (newest first)."""

    count: int
    code: str
    certainty: Certainty
    text: str
    names: tuple[str, ...]
    examples: tuple[SeenRebalance, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Why one group rebalanced, the most frequent first. `rebalances` = the sum of the counts + `cannot_tell`.

    `repeats`: records that repeat a generation, which are no rebalances. `first_ms`: of the oldest rebalance that was
    looked at; `all_of_them`: there was no older one in the time that was asked for. `sampled`: the group is polled.
    `predictions`: what was said with these generations, and what came of it."""

    reasons: tuple[RankedReason, ...] = ()
    rebalances: int = 0
    cannot_tell: int = 0
    repeats: int = 0
    first_ms: int | None = None
    last_ms: int | None = None
    all_of_them: bool = True
    sampled: bool = False
    predictions: tuple[JudgedPrediction, ...] = ()


def newest(documents: Iterable[Published]) -> tuple[list[Published], bool]:
    """Of documents, the newest first, those that are looked at; whether that is all of them."""
    found: list[Published] = []
    members = 0
    left = iter(documents)
    for one in islice(left, MOST_REBALANCES):
        found.append(one)
        members += len(one["members"])
        if members >= MOST_MEMBERS:
            break
    return found, next(left, None) is None


def ranking(
    documents: Iterable[Published],
    since_ms: int | None = None,
    *,
    violations: Iterable[Published] = (),
    all_of_them: bool = True,
    most_held: int = MOST_HELD,
) -> Ranking:
    """The ranking of one group's generations, in any order. Those before `since_ms` are only looked at. `violations`:
    its incidents, whose ends were predicted. `most_held`: as of `scored`."""
    documents = list(documents)
    records = seen(documents)
    known = [one for one in records if not one.again]
    counted = {place for place, one in enumerate(known) if since_ms is None or one.at_ms >= since_ms}
    explained = _explained(records)
    lines: dict[tuple[str, tuple[str, ...]], list[tuple[SeenRebalance, Explained | None]]] = {}
    unknown = 0
    for place in sorted(counted):
        one, by = known[place], explained.get(place)
        kind = _kind(one)
        if by is None and kind is None:
            unknown += 1
            continue
        key = (kind or "", ()) if by is None else (by.code, by.names)
        lines.setdefault(key, []).append((one, by))
    reasons = sorted((_line(*key, some) for key, some in lines.items()), key=_place)
    times = [known[place].at_ms for place in counted]
    return Ranking(
        reasons=tuple(reasons),
        rebalances=len(counted),
        cannot_tell=unknown,
        repeats=sum(1 for one in records if one.again and (since_ms is None or one.at_ms >= since_ms)),
        first_ms=min(times, default=None),
        last_ms=max(times, default=None),
        all_of_them=all_of_them,
        sampled=any(one.polled for one in records),
        predictions=tuple(
            one
            for one in (*judged(documents, violations), *scored(documents, since_ms, most_held))
            if since_ms is None or one.made_ms >= since_ms
        ),
    )


def by_patterns(documents: Iterable[Published]) -> dict[RecordOrder, Explained]:
    """What patterns say of one group's rebalances, by the place of their records."""
    records = seen(documents)
    known = [one for one in records if not one.again]
    return {known[place].place: one for place, one in _explained(records).items()}


def _explained(records: Sequence[SeenRebalance]) -> Mapping[int, Explained]:
    """What patterns say of rebalances, by their place among those. Only processes with one instance id also show in
    records that repeat a generation."""
    places = [at for at, one in enumerate(records) if not one.again]
    contested = contested_instances(records)
    found = {place: contested[at] for place, at in enumerate(places) if at in contested}
    known = [records[at] for at in places]
    for pattern in PATTERNS:
        found = {**pattern(known), **found}
    return found


def _kind(one: SeenRebalance) -> str | None:
    """The cause that a rebalance is counted under; None where nothing tells."""
    kinds = one.kinds
    if "member_gone" in kinds and one.classic and one.went and all(member.static for member in one.went):
        kinds |= {STATIC_GONE}
    return next((kind for kind in KINDS if kind in kinds), None)


def _line(code: str, names: tuple[str, ...], some: Sequence[tuple[SeenRebalance, Explained | None]]) -> RankedReason:
    first = some[0][1]
    newest_first = sorted((one for one, _ in some), key=lambda one: one.place, reverse=True)
    if first is not None:
        certainty, text = weakest([first.certainty]), first.text
    else:
        kind = "member_gone" if code == STATIC_GONE else code
        own = [[cause for cause in one.causes if cause.kind == kind] for one in newest_first]
        sure = [cause.certainty for causes in own for cause in causes]
        # An administrator, or a client that is told to, may remove a static member, too.
        certainty = weakest([*sure, Certainty.LIKELY] if code == STATIC_GONE else sure)
        counts = Counter(name for causes in own for cause in causes for name in dict.fromkeys(cause.names))
        names = tuple(name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])))
        told = [f"{name} {counts[name]} times" if counts[name] > 1 else name for name in names]
        text = f"{KINDS[code]}{': ' if told else ''}{listed(told, MOST_NAMED)}"
    return RankedReason(len(some), code, certainty, text, names[:MOST_NAMED], tuple(newest_first[:EVIDENCE]))


def _place(line: RankedReason) -> tuple[int, int, tuple[str, ...]]:
    return -line.count, CODES.index(line.code), line.names


def ranking_object(cluster: str, group: str, since_ms: int | None, told: Ranking) -> dict[str, Any]:
    """The ranking as the API answers it."""
    return {
        "kind": "why",
        "cluster": cluster,
        "group": group,
        "since_ms": since_ms,
        "rebalances": told.rebalances,
        "cannot_tell": told.cannot_tell,
        "repeats": told.repeats,
        "first_ms": told.first_ms,
        "last_ms": told.last_ms,
        "all": told.all_of_them,
        "sampled": told.sampled,
        "reasons": [
            {
                "code": one.code,
                "count": one.count,
                "certainty": one.certainty.value,
                "text": one.text,
                "names": list(one.names),
                "evidence": [
                    {"generation": each.number, "at_ms": each.at_ms, "source": dict(each.source)}
                    for each in one.examples
                ],
            }
            for one in told.reasons
        ],
        "predictions": score_object(told.predictions),
    }


def told_in_lines(told: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The API's object for people: each line, and the generations that it rests on."""
    total = told["rebalances"]
    lines = [(_sentence(one, total), _generations(one["evidence"])) for one in told["reasons"]]
    if told["cannot_tell"]:
        lines.append((f"{told['cannot_tell']} of {total}: cannot tell; no record shows a cause", ""))
    return lines


def notes_on(told: Mapping[str, Any]) -> list[str]:
    """What is to be known of the ranking as a whole."""
    notes = []
    if not told["all"]:
        notes.append(f"There were more: only the newest {told['rebalances']} were looked at.")
    if told["sampled"]:
        notes.append("The group is polled, not read: rebalances between two samples are missing.")
    if told["repeats"]:
        notes.append(f"Beside them {counted(told['repeats'], 'record')} repeated a generation without a rebalance.")
    return notes


def _sentence(reason: Mapping[str, Any], total: int) -> str:
    sure = "" if reason["certainty"] == Certainty.CERTAIN.value else f" ({reason['certainty']})"
    return f"{reason['count']} of {total}: {reason['text']}{sure}"


def _generations(evidence: Sequence[Mapping[str, Any]]) -> str:
    return listed(f"generation {one['generation']} at {utc(one['at_ms'])}" for one in evidence)
