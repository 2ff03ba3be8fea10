"""The book of a group's incidents: findings come in, incidents and their parts go out; settling and damping happen here
alone.

A finding that lasts is a part of an incident (`grouping`). A part is damped by itself: it counts for people when it has
lasted `for_ms`, and until `keep_firing_ms` after its end; found again meanwhile, it is still the same part. People are
notified of an incident when the first of its parts has lasted so long, once, and of its end after the last. In between
its parts come and go, which updates it. While a storm is notified, incidents of the rules that it absorbs (imbalance,
unassigned connectors and tasks) are suppressed; a duplicate never is.

    10:00:00  imbalance of w1 found            opened    (for 5 min)
    10:01:00  imbalance of w2 found            updated   it has two parts
    10:05:00  timer                            fired     notified
    10:07:00  w1 is not found any more         updated   w2 is left
    10:08:00  w2 is not found any more         resolved  its end is notified (keep_firing 0)

Each lane (`Lane`) has a time of its own: its incidents are damped by that time alone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.model.results import Incident, Part, Subject
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from . import grouping
from .catalogue import Catalogue
from .damping import alert_severity, damping_of
from .finding import Finding
from .notice import Lane, Notice
from .transitions import (
    Moment,
    PartKey,
    ended_because,
    found_again,
    incident_id,
    incident_of,
    key_of,
    message_of,
    part_of,
)

Changes = list[Incident | Part]
"""What is published: each changed incident, followed by those of its parts that changed."""
Identities = dict[tuple[str, tuple[Subject, ...]], str]
"""Incident ids by rule and cause."""


@dataclass(frozen=True, slots=True)
class Page:
    """One lane as it is stored: parts that are open, those whose end still counts, and the incidents of both by id."""

    open: Mapping[PartKey, Part] = field(default_factory=dict)
    lingering: Mapping[PartKey, Part] = field(default_factory=dict)
    incidents: Mapping[str, Incident] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pages:
    """The book as it is stored."""

    records: Page = Page()
    events: Page = Page()

    def all(self) -> Iterator[Incident]:
        """Every incident of the group: open ones, and those whose end is still to be notified."""
        yield from self.records.incidents.values()
        yield from self.events.incidents.values()


class _Ledger:
    """One lane during one fold."""

    def __init__(self, page: Page) -> None:
        self.open, self.lingering, self.incidents = dict(page.open), dict(page.lingering), dict(page.incidents)
        self.keys = {name: set(parts) for name, parts in grouping.by_incident(page.open).items()}
        self.kept = {name: set(parts) for name, parts in grouping.by_incident(page.lingering).items()}
        self.begun = set[str]()

    def page(self) -> Page:
        return Page(self.open, dict(sorted(self.lingering.items())), dict(sorted(self.incidents.items())))

    def put(self, key: PartKey, part: Part) -> None:
        """An open part as it is now. Of a large incident only the first parts keep their texts."""
        keys = self.keys.setdefault(part.incident_id, set())
        if key not in keys and len(keys) >= grouping.DETAILED_PARTS:
            part = replace(part, message="", evidence=(), next_step="")
        keys.add(key)
        self.open[key] = part

    def take(self, key: PartKey) -> Part:
        part = self.open.pop(key)
        self.keys[part.incident_id].discard(key)
        return part

    def linger(self, key: PartKey, part: Part) -> None:
        self.lingering[key] = part
        self.kept.setdefault(part.incident_id, set()).add(key)

    def drop(self, key: PartKey) -> Part:
        part = self.lingering.pop(key)
        self.kept[part.incident_id].discard(key)
        return part

    def parts(self, name: str) -> list[Part]:
        return [self.open[key] for key in self.keys.get(name, ())]

    def ends(self, name: str) -> list[Part]:
        return [self.lingering[key] for key in self.kept.get(name, ())]

    def forget(self, name: str) -> None:
        del self.incidents[name]
        self.keys.pop(name, None)
        self.kept.pop(name, None)


class Book:
    """The incidents of one group during one fold. Every change is returned as what is to be published."""

    def __init__(self, catalogue: Catalogue, settings: ClusterSettings, group: str, pages: Pages) -> None:
        self._catalogue, self._settings, self._group = catalogue, settings, group
        self._ledgers = {Lane.RECORDS: _Ledger(pages.records), Lane.EVENTS: _Ledger(pages.events)}

    def pages(self) -> Pages:
        return Pages(*(self._ledgers[lane].page() for lane in Lane))

    def open(self, lane: Lane = Lane.RECORDS) -> Mapping[PartKey, Part]:
        """The open parts of a lane; not to be changed."""
        return self._ledgers[lane].open

    def note(self, notice: Notice) -> Changes:
        ledger, moment = self._ledgers[notice.lane], notice.moment
        found: dict[PartKey, Finding] = {}
        for finding in notice.found:
            found.setdefault(key_of(finding.rule.code, finding.subjects), finding)
        over = [key for key, one in ledger.open.items() if one.code in notice.evaluated and key not in found]
        over += [key for key in notice.over if key in ledger.open and key not in over]
        identities = self._identities(ledger, found, moment)
        changed = [
            part for key, finding in found.items() if (part := self._found(ledger, key, finding, moment, identities))
        ]
        changed += [self._ended(ledger, key, moment, notice.why) for key in over]
        for key in [key for key in notice.present if key in ledger.open]:
            before = ledger.open[key]
            part = replace(before, historic=False, live_ms=max(before.opened_at_ms, moment.at_ms))
            ledger.put(key, part)
            changed.append(part)
        return list(_published(ledger, changed, moment, notice.why))

    def put(self, incident: Incident) -> None:
        """Carry an open incident on from a book that is lost, with what it names as its one part."""
        ledger = self._ledgers[Lane.RECORDS]
        ledger.incidents[incident.incident_id] = incident
        ledger.put(key_of(incident.code, incident.subjects), whole(incident))

    def end(self, incidents: Iterable[Incident], moment: Moment, why: str) -> Changes:
        """End incidents that a lost book left open; their end may be notified later."""
        ledger, ended = self._ledgers[Lane.RECORDS], Changes()
        for incident in ended_because(incidents, moment, why):
            firing = incident.transition == "resolved" and incident.firing and self._damping(incident.code)[1] > 0
            ended.append(replace(incident, firing=firing))
            if firing:
                ledger.incidents[incident.incident_id] = replace(incident, firing=True)
                ledger.linger(key_of(incident.code, incident.subjects), whole(incident))
        return ended

    def attend(self, now_ms: int, lane: Lane = Lane.RECORDS) -> Changes:
        """Notify what is due, change alert severities, suppress what a storm absorbs, end what was kept long enough."""
        return list(self._attend(self._ledgers[lane], now_ms))

    def attend_until(self, until_ms: int, lane: Lane) -> Changes:
        """The same for everything due by then, each at its own time."""
        done = Changes()
        last_ms: int | None = None
        while (due_ms := self.due_ms(lane)) is not None and due_ms <= until_ms and due_ms != last_ms:
            last_ms = due_ms
            done += self.attend(due_ms, lane)
        return done

    def due_ms(self, lane: Lane = Lane.RECORDS) -> int | None:
        return min(self._times(self._ledgers[lane]), default=None)

    # -- findings --------------------------------------------------------------------------------------------------

    def _identities(self, ledger: _Ledger, found: Mapping[PartKey, Finding], moment: Moment) -> Identities:
        """The incident that new findings of each rule and cause are parts of, whatever the order they come in."""
        identities: Identities = {}
        for key, finding in sorted(found.items()):
            kind = (finding.rule.code, finding.cause)
            if key in ledger.open or key in ledger.lingering or kind in identities:
                continue
            known = grouping.joined(ledger.incidents.values(), finding, moment)
            identities[kind] = incident_id(moment, key) if known is None else known.incident_id
            if known is None:
                team = self._settings.team_of(moment.group)
                ledger.incidents[identities[kind]] = incident_of(finding, moment, identities[kind], team)
                ledger.begun.add(identities[kind])
        return identities

    def _found(
        self, ledger: _Ledger, key: PartKey, finding: Finding, moment: Moment, identities: Identities
    ) -> Part | None:
        """The part that a finding opens, brings back or changes; None if it changes nothing."""
        before = ledger.open.get(key)
        if before is not None:
            part = found_again(before, finding)
            if part is before:
                return None
        elif key in ledger.lingering:
            part = replace(
                ledger.drop(key), resolved_at_ms=None, message=message_of(finding), severity=finding.severity
            )
        else:
            part = part_of(finding, moment, identities[finding.rule.code, finding.cause])
        ledger.put(key, part)
        return part

    def _ended(self, ledger: _Ledger, key: PartKey, moment: Moment, why: str) -> Part:
        part = ledger.take(key)
        severity, certainty = part.worst or (part.severity, part.certainty)
        part = replace(part, resolved_at_ms=moment.at_ms, severity=severity, certainty=certainty, worst=None)
        if why and part.message:
            part = replace(part, message=f"{part.message}; {why}")
        if part.firing and self._damping(part.code)[1] > 0:
            ledger.linger(key, part)
        return part

    # -- time ------------------------------------------------------------------------------------------------------

    def _attend(self, ledger: _Ledger, now_ms: int) -> Iterator[Incident | Part]:
        storm = self._storm(ledger)
        touched: dict[str, None] = {}
        for key, part in sorted(ledger.open.items(), key=lambda item: (not self._absorbs(item[1]), item[0])):
            changed = self._attended(part, now_ms, storm=storm)
            if changed is not None:
                storm = storm or (changed.firing and self._absorbs(changed))
                ledger.open[key] = changed
                touched[part.incident_id] = None
        for key, part in sorted(ledger.lingering.items()):
            if now_ms >= (part.resolved_at_ms or 0) + self._damping(part.code)[1]:
                ledger.drop(key)
                touched[part.incident_id] = None
        if storm:
            touched.update((one.incident_id, None) for one in ledger.incidents.values() if one.firing)
        for name in touched:
            suppressed = storm and self._catalogue.rule(ledger.incidents[name].code).absorbed
            yield from _noticed(ledger, name, now_ms, suppressed=suppressed)

    def _attended(self, part: Part, now_ms: int, *, storm: bool) -> Part | None:
        """The part if time changes whether it counts for people, and how loudly."""
        if part.historic:
            return None
        due = part.firing or now_ms >= self._due_ms(part)
        if not due or (storm and self._catalogue.rule(part.code).absorbed):
            return replace(part, firing=False) if part.firing else None
        alert = alert_severity(self._catalogue, self._settings, self._group, part, now_ms)
        return replace(part, firing=True, alert=alert) if (part.firing, part.alert) != (True, alert) else None

    def _times(self, ledger: _Ledger) -> Iterator[int]:
        storm = self._storm(ledger)
        for part in ledger.open.values():
            rule = self._catalogue.rule(part.code)
            if part.historic:
                continue
            if not part.firing and not (storm and rule.absorbed):
                yield self._due_ms(part)
            elif rule.pages_after_ms is not None and part.firing:
                louder_ms = part.since_ms + rule.pages_after_ms
                if alert_severity(self._catalogue, self._settings, self._group, part, louder_ms) is not part.alert:
                    yield louder_ms
        for part in ledger.lingering.values():
            yield (part.resolved_at_ms or 0) + self._damping(part.code)[1]

    def _storm(self, ledger: _Ledger) -> bool:
        return any(
            one.firing and self._absorbs(one) for some in (ledger.open, ledger.lingering) for one in some.values()
        )

    def _absorbs(self, part: Part) -> bool:
        return self._catalogue.rule(part.code).absorbs

    def _damping(self, code: str) -> tuple[int, int]:
        return damping_of(self._catalogue, self._settings, self._group, code)

    def _due_ms(self, part: Part) -> int:
        return part.since_ms + self._damping(part.code)[0]


def _published(ledger: _Ledger, changed: Sequence[Part], moment: Moment, why: str) -> Iterator[Incident | Part]:
    """Each incident of which parts were found, changed or ended, as it is now, and these parts."""
    by_incident: dict[str, list[Part]] = {}
    for part in changed:
        by_incident.setdefault(part.incident_id, []).append(part)
    for name, parts in by_incident.items():
        before = ledger.incidents[name]
        now = _now(before, ledger, moment, why)
        if name in ledger.begun:
            ledger.begun.remove(name)
            yield now
        elif replace(now, transition=before.transition) != before:
            yield now
        if ledger.parts(name) or ledger.ends(name):
            ledger.incidents[name] = now
        else:
            ledger.forget(name)
        yield from parts


def _now(before: Incident, ledger: _Ledger, moment: Moment, why: str) -> Incident:
    """The incident after findings of this moment; `why` it ended, if it did."""
    name, parts = before.incident_id, ledger.parts(before.incident_id)
    if not parts:
        return replace(
            before,
            message=f"{before.message}; {why}" if why else before.message,
            transition="resolved",
            resolved_at_ms=moment.at_ms,
            firing=before.firing and bool(ledger.ends(name)),
        )
    now = grouping.summed(before, parts)
    if before.historic and not now.historic:
        now = replace(now, opened_at_ms=max(before.opened_at_ms, moment.at_ms))
    return replace(now, transition="opened" if name in ledger.begun else "updated", resolved_at_ms=None)


def _noticed(ledger: _Ledger, name: str, now_ms: int, *, suppressed: bool) -> Iterator[Incident]:
    """The incident, if people notice what time has changed in its parts.

    Notified once, it stays so until its last part ends, even while those left have not lasted long enough.
    """
    before, parts, ends = ledger.incidents[name], ledger.parts(name), ledger.ends(name)
    counting = [one for one in (*parts, *ends) if one.firing]
    firing = bool(counting) or (before.firing and bool(parts) and not suppressed)
    now = replace(before, firing=firing, alert=grouping.loudest(counting) or before.alert)
    if firing and not before.firing:
        now = replace(now, transition="fired", fired_at_ms=now_ms, times_told=before.times_told + 1)
    elif before.firing:
        now = replace(now, transition="updated" if firing else "ended")
    if parts or ends:
        ledger.incidents[name] = now
    else:
        ledger.forget(name)
    if (now.firing, now.alert) != (before.firing, before.alert):
        yield now


def whole(incident: Incident) -> Part:
    """An incident of a lost book as its one part."""
    return Part(
        incident_id=incident.incident_id,
        code=incident.code,
        subjects=incident.subjects,
        severity=incident.severity,
        certainty=incident.certainty,
        opened_generation=incident.opened_generation,
        opened_at_ms=incident.opened_at_ms,
        resolved_at_ms=incident.resolved_at_ms,
        message=incident.message,
        evidence=incident.evidence,
        next_step=incident.next_step,
        historic=incident.historic,
        alert=incident.alert,
        firing=incident.firing,
    )
