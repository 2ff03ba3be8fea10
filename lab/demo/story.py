"""Tells what the monitor found, as it finds it: reads its rows in PostgreSQL and prints one line per event."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import psycopg

from lab.process import Progress
from rebalance_monitor.assignors.connect.eras import ERAS
from rebalance_monitor.streaming.core.connect.advice.words import releases

_ROWS = """
    select topic, partition, "offset", "group", generation, protocol_type, member_count, delay_ms, grade, reason,
           at_ms, document
      from rebalance_monitor.generations order by at_ms, partition, "offset"
"""
_INCIDENTS = """
    select incident_id, rule, code, severity, "group", message, resolved_at_ms
      from rebalance_monitor.incidents order by opened_at_ms, incident_id
"""
PENDING = "pending"
INDENT = " " * 13


@dataclass(frozen=True, slots=True)
class Seen:
    """One generation as last read."""

    group: str
    generation: int
    members: int
    delay_ms: int
    grade: str
    reason: str
    held: frozenset[str]
    missing: tuple[str, ...]
    causes: tuple[str, ...]
    leader: str | None

    @property
    def settled(self) -> bool:
        """The verdict will not change any more."""
        return not self.reason.startswith(PENDING)


@dataclass(slots=True)
class Story:
    """What has been told so far. `tell` reads and prints what is new."""

    dsn: str
    progress: Progress
    generations: dict[tuple[str, int, int], Seen] = field(default_factory=dict)
    incidents: dict[str, tuple[str, str, bool]] = field(default_factory=dict)
    _known: dict[str, set[str]] = field(default_factory=dict)

    def latest(self, group: str) -> Seen | None:
        """The group's newest generation."""
        of_group = [one for one in self.generations.values() if one.group == group]
        return of_group[-1] if of_group else None

    def of(self, group: str) -> list[Seen]:
        return [one for one in self.generations.values() if one.group == group]

    def tell(self) -> None:
        """Print every generation, verdict and incident that is new since the last call."""
        try:
            with psycopg.connect(self.dsn, autocommit=True) as database:
                rows = database.execute(_ROWS).fetchall()
                incidents = database.execute(_INCIDENTS).fetchall()
        except psycopg.errors.UndefinedTable:
            return  # the job has not made its tables yet
        for row in rows:
            self._generation(*row)
        for row in incidents:
            self._incident(*row)

    def _generation(
        self, topic: str, partition: int, offset: int, group: str, generation: int, protocol_type: str,
        members: int, delay_ms: int | None, grade: str, reason: str | None, at_ms: int,
        document: dict[str, Any],
    ) -> None:  # fmt: skip
        key = (topic, partition, offset)
        before = self.generations.get(key)
        held = _held(document)
        known = self._known.setdefault(group, set())
        known |= held
        missing = before.missing if before else tuple(sorted(known - held))
        seen = Seen(
            group, generation, members, delay_ms or 0, grade, reason or "", held, missing, tuple(_causes(document)),
            _leader(document),
        )  # fmt: skip
        self.generations[key] = seen
        if before is None:
            self._new_generation(seen, protocol_type, at_ms, document)
        elif not before.settled and seen.settled:
            self.progress.say(f"{group} generation {generation}: verdict now {_verdict(seen, document)}")

    def _new_generation(self, seen: Seen, protocol_type: str, at_ms: int, document: dict[str, Any]) -> None:
        verdict = _verdict(seen, document)
        if protocol_type != "connect":
            self.progress.say(
                f"{seen.group} generation {seen.generation} ({protocol_type}, {seen.members} members): {verdict}"
            )
            return
        cause = "; ".join(seen.causes) or "no cause found"
        self.progress.say(f"{seen.group} generation {seen.generation}, {seen.members} workers: {cause}")
        if seen.missing:
            until = f"; the delay runs until {_clock(at_ms + seen.delay_ms)}" if seen.delay_ms else ""
            print(f"{INDENT}unassigned now: {', '.join(seen.missing)}{until}")
        observed = {member["member_id"]: (member["assigned"], member["revoked"]) for member in document["members"]}
        names = {member["member_id"]: member["worker"] or member["member_id"] for member in document["members"]}
        expected = document["verdict"]["expected"]
        print(f"{INDENT}observed: {_shares(observed, names)}")
        if expected is not None:
            wanted = {member_id: (share["assigned"], share["revoked"]) for member_id, share in expected.items()}
            same = seen.grade == "match"
            print(f"{INDENT}expected: {'the same' if same else _shares(wanted, names)}")
        print(f"{INDENT}verdict:  {verdict}", flush=True)

    def _incident(
        self, incident_id: str, rule: str, code: str, severity: str, group: str, message: str, resolved_ms: int | None
    ) -> None:
        before = self.incidents.get(incident_id)
        now = (rule, group, resolved_ms is not None)
        self.incidents[incident_id] = now
        if before is None:
            word = "note" if severity == "info" else "VIOLATION"
            self.progress.say(f"{word}: {rule} ({code}, {severity}) in {group}: {message}")
        if now[2] and (before is None or not before[2]):
            self.progress.say(f"resolved: {rule} ({code}) in {group}")


def _causes(document: Mapping[str, Any]) -> Iterable[str]:
    for cause in document["cause"]:
        subjects = ", ".join(subject["id"] for subject in cause["subjects"])
        certainty = "" if cause["certainty"] == "certain" else f" ({cause['certainty']})"
        yield f"{cause['kind']} {subjects}".strip() + certainty


def _verdict(seen: Seen, document: Mapping[str, Any]) -> str:
    eras = " or ".join(f"Kafka {releases(ERAS[era])}" if era in ERAS else era for era in document["verdict"]["eras"])
    details = ", ".join(part for part in (eras, seen.reason) if part)
    return f"{seen.grade}{f' ({details})' if details else ''}"


def _leader(document: Mapping[str, Any]) -> str | None:
    """The worker that led the generation."""
    return next((one["worker"] for one in document["members"] if one["member_id"] == document["leader"]), None)


def _held(document: Mapping[str, Any]) -> frozenset[str]:
    """Names of all that is in somebody's hands after the round: reported, minus revoked, plus assigned."""
    held: set[str] = set()
    for member in document["members"]:
        own = _names(member["owned"]) - _names(member["revoked"])
        held |= own | _names(member["assigned"])
    return frozenset(held)


def _names(share: Mapping[str, Any] | None) -> set[str]:
    if share is None:
        return set()
    tasks = {f"{name}-{number}" for name, number in share.get("tasks", ())}
    return (
        tasks | set(share.get("connectors", ())) | {f"{name}-{number}" for name, number in share.get("partitions", ())}
    )


def _shares(shares: Mapping[str, tuple[Any, Any]], names: Mapping[str, str]) -> str:
    told = []
    for member_id in sorted(shares, key=lambda one: names.get(one, one)):
        assigned, revoked = (_names(share) for share in shares[member_id])
        given = [f"+{name}" for name in sorted(assigned)] + [f"-{name}" for name in sorted(revoked)]
        told.append(f"{names.get(member_id, member_id)} {' '.join(given) or 'no change'}")
    return " | ".join(told)


def _clock(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%H:%M:%S UTC")
