"""What is told of one generation: verdict, why it happened, what changed hands, what is waited for. Pure."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from rebalance_monitor.streaming.core.model.messages import listed
from rebalance_monitor.streaming.core.streams.words import summary
from .cause_words import cause_text
from .durations import duration
from .holdings import held, jobs_text
from .lag_text import held_up_text

Object = dict[str, Any]
MOST_NAMES = 12
MOST_WORKERS = 12
"""Workers of one generation that are told of one by one; the others are counted."""

GRADES = {
    "match": "exactly what its inputs give",
    "explainable": "what another setting or an unseen part of history gives",
    "unexplained": "nothing known gives it",
    "not_judged": "the evidence is missing",
}


class GenerationRow(NamedTuple):
    """A generation's document; `cluster` and `group` as the database's columns hold them."""

    document: Object
    cluster: str
    group: str
    judged_by: str


@dataclass(frozen=True, slots=True)
class Hands:
    """What one worker gained and lost, as text."""

    worker: str
    gained: str = ""
    lost: str = ""


@dataclass(frozen=True, slots=True)
class Story:
    """One generation for people; texts without markup."""

    cluster: str
    group: str
    generation: int
    at_ms: int
    grade: str
    meaning: str
    reason: str
    assignor: str
    leader: str
    members: int
    causes: tuple[str, ...]
    hands: tuple[Hands, ...]
    more_hands: int
    expected: tuple[str, ...]
    moved: str
    moves: int
    wait: str
    wait_until_ms: int | None
    progress: str
    downtime: tuple[str, ...]
    burst: str
    anchor: str
    source: Object
    judged_by: str = ""
    target: str = ""
    sampled: str = ""
    held_up: str = ""


def story(row: GenerationRow) -> Story:
    """All that is told of the generation in this row."""
    document = row.document
    verdict, source = document["verdict"], document["source"]
    workers: dict[str, str] = {
        m["member_id"]: m["worker"] or m["instance_id"] or m["member_id"] for m in document["members"]
    }
    moves = document.get("moves") or []
    wait_text, wait_until_ms = _wait(document.get("wait"))
    return Story(
        cluster=row.cluster,
        group=row.group,
        generation=document["generation"],
        at_ms=document["at_ms"],
        grade=verdict["grade"],
        meaning=GRADES[verdict["grade"]],
        reason=verdict["reason"] or "",
        assignor=_assignor(verdict),
        leader=_named(workers, document["leader"]),
        members=len(document["members"]),
        causes=tuple(_cause(cause) for cause in document["cause"]),
        hands=tuple(
            Hands(worker, listed(change["gained"], MOST_NAMES), listed(change["lost"], MOST_NAMES))
            for worker, change in islice(document["diff"].items(), MOST_WORKERS)
        ),
        more_hands=max(0, len(document["diff"]) - MOST_WORKERS),
        expected=() if verdict["grade"] == "match" else _shortened(list(_expected(document, workers))),
        moved=_moved(moves, document.get("stayed")),
        moves=len(moves) or sum(len(change["gained"]) + len(change["lost"]) for change in document["diff"].values()),
        wait=wait_text,
        wait_until_ms=wait_until_ms,
        progress=summary(document.get("streams")),
        downtime=tuple(_downtime(sums) for sums in document.get("downtime") or ()),
        burst=_burst(document.get("burst")),
        anchor=f"g-{source['partition']}-{source['offset']}",
        source=source,
        judged_by=row.judged_by,
        target=_target(document.get("epoch")),
        sampled=_sampled(document.get("sampled")),
        held_up=held_up_text(document.get("held_up")),
    )


def _sampled(between: Object | None) -> str:
    """When an assignment came about that was polled; "" for one that was read."""
    if between is None:
        return ""
    if between["after_ms"] is None:
        return "polled, not read: how long it had been so is not known"
    return f"polled, not read: it came about within the {duration(between['at_ms'] - between['after_ms'])} before"


def _target(epoch: Object | None) -> str:
    """How far the members of a KIP-848 group came to the target."""
    if epoch is None:
        return ""
    since_ms = epoch["computed_ms"] if epoch["needed_ms"] is None else epoch["needed_ms"]
    if epoch["reached_ms"] is not None:
        return f"every member held its target {duration(epoch['reached_ms'] - since_ms)} after a new one was needed"
    if epoch["overtaken_by"] is not None:
        return f"epoch {epoch['overtaken_by']} came before every member held its target"
    late = [one["member_id"] for one in epoch["progress"] if one["state"] != "STABLE"]
    return f"not every member holds its target yet: {listed(late, 4)}" if late else "not every member was asked yet"


def words(kind: str) -> str:
    return kind.replace("_", " ")


def _assignor(verdict: Object) -> str:
    """The assignor and the families of releases that can have given the answer."""
    eras = verdict["eras"] or [verdict["era"]]
    families = " or ".join(one for one in eras if one and one != verdict["assignor"])
    return " ".join(part for part in (verdict["assignor"], families) if part)


def _named(workers: dict[str, str], member_id: str | None) -> str:
    return "" if member_id is None else workers.get(member_id, member_id)


def _cause(cause: Object) -> str:
    said = [one["text"] for one in cause["evidence"] if "text" in one]
    return f"{cause_text(cause)}{f'; {said[0]}' if said else ''}"


def _expected(document: Object, workers: dict[str, str]) -> Iterable[str]:
    """Where the recomputed assignment differs from what was seen."""
    observed = {member["member_id"]: member for member in document["members"]}
    for member_id, share in (document["verdict"]["expected"] or {}).items():
        member = observed.get(member_id)
        has, should = held(member) if member else set(), held({**(member or {}), **share})
        missing, extra = sorted(should - has), sorted(has - should)
        if missing or extra:
            parts = [f"lacks {listed(missing, MOST_NAMES)}"] if missing else []
            parts += [f"has {listed(extra, MOST_NAMES)} beyond it"] if extra else []
            yield f"{workers.get(member_id, member_id)} {', '.join(parts)}"


def _shortened(lines: list[str]) -> tuple[str, ...]:
    more = len(lines) - MOST_WORKERS
    return (*lines[:MOST_WORKERS], f"and {more} more workers") if more > 0 else tuple(lines)


def _moved(moves: list[Object], stayed: int | None) -> str:
    counts = Counter(move["kind"] for move in moves)
    parts = [f"{count} {words(kind)}" for kind, count in counts.most_common()]
    if stayed is not None:
        parts.append(f"{stayed} stayed")
    return ", ".join(parts)


def _wait(wait: Object | None) -> tuple[str, int | None]:
    if wait is None:
        return "", None
    waiting = listed([one["id"] for one in wait["subjects"]], 6) or "connectors and tasks"
    because = f" because {listed(wait['because'], 4)} went away" if wait["because"] else ""
    back = "".join(f"; {one['worker']} came back (by {one['by']})" for one in wait["returned"])
    if wait["ended_ms"] is not None:
        return f"{waiting} waited {duration(wait['ended_ms'] - wait['since_ms'])}{because}{back}", None
    return f"{waiting} held back{because}{back}", wait["until_ms"]


def _downtime(sums: Object) -> str:
    if sums["kind"] == "not_known":
        return f"how long {jobs_text(sums['count'])} stood still is not known: what was written came late"
    total, longest = duration(sums["total_ms"]), duration(sums["longest_ms"])
    what = f"{jobs_text(sums['count'])} stood still ({words(sums['kind'])})"
    return f"{what}, {total} in sum, {longest} the longest"


def _burst(burst: Object | None) -> str:
    if burst is None:
        return ""
    span = duration(burst["last_at_ms"] - burst["first_at_ms"])
    return f"one of {burst['count']} generations within {span} ({words(burst['kind'])})"
