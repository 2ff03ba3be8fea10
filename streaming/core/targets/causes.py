"""Causes of a target: those of several group epochs together, and members that are gone."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from rebalance_monitor.streaming.core.fold import departures
from rebalance_monitor.streaming.core.model.results import Cause, Certainty, Evidence, Subject

MOST_SUBJECTS = 100
MOST_EVIDENCE = 10
LEFT = "member_left"
CANNOT_TELL = "it left or was removed: its session time-out may have passed since its last record, so nothing tells"


def merged(before: tuple[Cause, ...], after: tuple[Cause, ...]) -> tuple[Cause, ...]:
    """Causes of several epochs that share a target: each kind once, with all its subjects up to a bound."""
    found: dict[tuple[str, Certainty], Cause] = {}
    for cause in (*before, *after):
        known = found.get((cause.kind, cause.certainty))
        if known is None:
            found[cause.kind, cause.certainty] = cause
            continue
        subjects = tuple(dict.fromkeys((*known.subjects, *cause.subjects)))[:MOST_SUBJECTS]
        evidence = tuple(dict.fromkeys((*known.evidence, *cause.evidence)))[:MOST_EVIDENCE]
        found[cause.kind, cause.certainty] = replace(known, subjects=subjects, evidence=evidence)
    return tuple(found.values())


def unknown(evidence: tuple[Evidence, ...]) -> Cause:
    """Nothing in the records tells why."""
    return Cause(kind="unknown", certainty=Certainty.POSSIBLE, evidence=evidence)


@dataclass(frozen=True, slots=True)
class Departure:
    """Why a member is gone: the kind of cause, and what tells it."""

    kind: str
    certainty: Certainty
    text: str


def departure(wrote_ms: int | None, at_ms: int, session_ms: int, *, stated: bool = False) -> Departure:
    """A member whose last record, which it asked for itself, is too young for a session time-out left; of others
    nothing tells. `session_ms`: the shortest time after which the broker may have removed a silent member; `stated`: a
    record states it."""
    asked = departures.left(wrote_ms or 0, at_ms, session_ms)
    if asked is None:
        return Departure("member_gone", Certainty.CERTAIN, CANNOT_TELL)
    waited_ms = at_ms - (wrote_ms or 0)
    text = f"{waited_ms} ms after its last record: too soon for a session time-out of {session_ms} ms"
    return Departure(LEFT, asked if stated else Certainty.LIKELY, text)


def departed(gone: Iterable[tuple[str, Departure]], evidence: tuple[Evidence, ...]) -> Iterator[Cause]:
    """Departures of members, one cause for all that went alike."""
    alike: dict[Departure, list[str]] = {}
    for name, why in gone:
        alike.setdefault(why, []).append(name)
    for why, names in alike.items():
        said = (*evidence, Evidence(text=why.text))
        yield Cause(kind=why.kind, subjects=members(names), certainty=why.certainty, evidence=said)


def members(names: Iterable[str]) -> tuple[Subject, ...]:
    """Members as subjects of a cause, up to a bound."""
    return tuple(Subject("member", one) for one in sorted(names))[:MOST_SUBJECTS]
