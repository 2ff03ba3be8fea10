"""The book of a group's incidents: findings come in, transitions go out; settling and damping happen here alone.

An incident is a fact from its first record to its last. People are notified when it has lasted `for_ms`, and of its end
`keep_firing_ms` after it; found again meanwhile, it is still the same incident. While a storm is notified, incidents of
the rules that it absorbs (imbalance, unassigned connectors and tasks) are suppressed; a duplicate never is.

    10:00:00  imbalance found               opened    (for 5 min)
    10:05:00  timer                         fired     notified
    10:07:00  not found any more            resolved  its end is notified (keep_firing 0)
    10:00:00  duplicate found               opened, fired

Each lane (`Lane`) has a time of its own: its incidents are damped by that time alone.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from streaming.core.incidents.catalogue import Catalogue
from streaming.core.incidents.damping import alert_severity, damping_of
from streaming.core.incidents.notice import Lane, Notice
from streaming.core.incidents.transitions import IncidentKey, key_of, resolved, settle
from streaming.core.model.results import Incident
from streaming.core.model.settings import ClusterSettings


@dataclass(frozen=True, slots=True)
class Page:
    """One lane as it is stored: incidents that are open, and those whose end is still to be notified."""

    open: Mapping[IncidentKey, Incident] = field(default_factory=dict)
    lingering: Mapping[IncidentKey, Incident] = field(default_factory=dict)

    def all(self) -> Iterator[Incident]:
        """Every incident of the lane."""
        yield from self.open.values()
        yield from self.lingering.values()


@dataclass(frozen=True, slots=True)
class Pages:
    """The book as it is stored."""

    records: Page = Page()
    events: Page = Page()

    def all(self) -> Iterator[Incident]:
        """Every incident of the group."""
        yield from self.records.all()
        yield from self.events.all()


class Book:
    """The incidents of one group during one fold. Every change is returned as the transitions to publish."""

    def __init__(self, catalogue: Catalogue, settings: ClusterSettings, pages: Pages) -> None:
        self._catalogue, self._settings = catalogue, settings
        self._open = {Lane.RECORDS: dict(pages.records.open), Lane.EVENTS: dict(pages.events.open)}
        self._lingering = {Lane.RECORDS: dict(pages.records.lingering), Lane.EVENTS: dict(pages.events.lingering)}

    def pages(self) -> Pages:
        """The book to be stored."""
        return Pages(*(Page(self._open[lane], dict(sorted(self._lingering[lane].items()))) for lane in Lane))

    def open(self, lane: Lane = Lane.RECORDS) -> Mapping[IncidentKey, Incident]:
        """The open incidents of a lane; not to be changed."""
        return self._open[lane]

    def note(self, notice: Notice) -> list[Incident]:
        """Open, change and end what the notice says."""
        open_now, moment = self._open[notice.lane], notice.moment
        still, changed = settle(open_now, notice.found, moment, notice.evaluated)
        changed += [resolved(still.pop(key), moment) for key in notice.over if key in still]
        for key in [key for key in notice.present if key in still]:
            one = still[key]
            opened_ms = max(one.opened_at_ms, moment.at_ms)
            still[key] = replace(one, historic=False, opened_at_ms=opened_ms, transition="updated")
            changed.append(still[key])
        self._open[notice.lane] = still
        return self.follow(changed, notice.lane)

    def follow(self, transitions: Iterable[Incident], lane: Lane = Lane.RECORDS) -> list[Incident]:
        """Transitions as they are published: a return within the time kept goes on with the incident before, an end may
        be notified later."""
        return [self._followed(one, lane) for one in transitions]

    def put(self, one: Incident, lane: Lane = Lane.RECORDS) -> None:
        """Set an open incident as it is now."""
        self._open[lane][key_of(one.code, one.subjects)] = one

    def attend(self, now_ms: int, lane: Lane = Lane.RECORDS) -> list[Incident]:
        """Notify what is due, change alert severities, suppress what a storm absorbs, end what was kept long enough."""
        return list(self._attend(self._open[lane], self._lingering[lane], now_ms))

    def attend_until(self, until_ms: int, lane: Lane) -> list[Incident]:
        """The same for everything due by then, each at its own time."""
        done: list[Incident] = []
        last_ms: int | None = None
        while (due_ms := self.due_ms(lane)) is not None and due_ms <= until_ms and due_ms != last_ms:
            last_ms = due_ms
            done += self.attend(due_ms, lane)
        return done

    def due_ms(self, lane: Lane = Lane.RECORDS) -> int | None:
        """When the next incident of the lane is to be notified, louder or not any more."""
        return min(self._times(self._open[lane], self._lingering[lane]), default=None)

    def _followed(self, one: Incident, lane: Lane) -> Incident:
        key = key_of(one.code, one.subjects)
        if one.transition == "opened":
            before = self._lingering[lane].pop(key, None)
            if before is not None:
                one = replace(
                    before, transition="updated", resolved_at_ms=None, message=one.message, severity=one.severity
                )
            else:
                one = replace(one, team=self._settings.team_of(one.group))
            self._open[lane][key] = one
            return one
        if one.transition == "resolved" and one.firing:
            if self._damping(one)[1] > 0:
                self._lingering[lane][key] = one
                return one
            return replace(one, firing=False)
        return one

    def _attend(
        self, open_now: dict[IncidentKey, Incident], lingering: dict[IncidentKey, Incident], now_ms: int
    ) -> Iterator[Incident]:
        storm = self._storm(open_now, lingering)
        for key, one in sorted(open_now.items(), key=lambda item: (not self._absorbs(item[1]), item[0])):
            changed = self._attended(one, now_ms, storm=storm)
            if changed is not None:
                storm = storm or (changed.firing and self._absorbs(changed))
                open_now[key] = changed
                yield changed
        for key, one in sorted(lingering.items()):
            if now_ms >= (one.resolved_at_ms or 0) + self._damping(one)[1]:
                del lingering[key]
                yield replace(one, transition="ended", firing=False)

    def _attended(self, one: Incident, now_ms: int, *, storm: bool) -> Incident | None:
        if one.historic:
            return None
        due = one.firing or now_ms >= self._due_ms(one)
        if not due or (storm and self._catalogue.rule(one.code).absorbed):
            return replace(one, transition="ended", firing=False) if one.firing else None
        alert = alert_severity(self._catalogue, self._settings, one, now_ms)
        if not one.firing:
            return replace(
                one, transition="fired", firing=True, fired_at_ms=now_ms, alert=alert, times_told=one.times_told + 1
            )
        return replace(one, transition="updated", alert=alert) if alert is not one.alert else None

    def _times(
        self, open_now: Mapping[IncidentKey, Incident], lingering: Mapping[IncidentKey, Incident]
    ) -> Iterator[int]:
        storm = self._storm(open_now, lingering)
        for one in open_now.values():
            rule = self._catalogue.rule(one.code)
            if one.historic:
                continue
            if not one.firing and not (storm and rule.absorbed):
                yield self._due_ms(one)
            elif rule.pages_after_ms is not None and one.firing:
                louder_ms = one.opened_at_ms + rule.pages_after_ms
                if alert_severity(self._catalogue, self._settings, one, louder_ms) is not one.alert:
                    yield louder_ms
        for one in lingering.values():
            yield (one.resolved_at_ms or 0) + self._damping(one)[1]

    def _storm(self, open_now: Mapping[IncidentKey, Incident], lingering: Mapping[IncidentKey, Incident]) -> bool:
        return any(one.firing and self._absorbs(one) for some in (open_now, lingering) for one in some.values())

    def _absorbs(self, one: Incident) -> bool:
        return self._catalogue.rule(one.code).absorbs

    def _damping(self, one: Incident) -> tuple[int, int]:
        return damping_of(self._catalogue, self._settings, one.group, one.code)

    def _due_ms(self, one: Incident) -> int:
        return one.opened_at_ms + self._damping(one)[0]
