"""Whether people are notified of an incident, and if not, why and until when. Pure: no clock."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rebalance_monitor.streaming.core.catalogue import RULES
from rebalance_monitor.streaming.core.incidents.maintenance import Maintenance, muting
from rebalance_monitor.streaming.core.runbooks import next_step
from .incident_lag import incident_lag
from .rows import GroupName, IncidentRow

Object = dict[str, Any]
LastsMs = Callable[[str, str, str], int]
"""(cluster, group, code of a rule) -> how long its incidents last before people are notified, ms."""

_ABSORBING = frozenset(rule.title for rule in RULES if rule.absorbs)
_ABSORBED = frozenset(rule.title for rule in RULES if rule.absorbed)


def by_the_catalogue(cluster: str, group: str, code: str) -> int:
    """What the rules declare, where no configuration is known."""
    return next((rule.for_ms for rule in RULES if rule.code == code), 0)


@dataclass(frozen=True, slots=True)
class ShownIncident:
    """An incident with whether people are notified of it: notified, muted, suppressed or over; `why` they are not, and
    until when that is so (ms; None: it does not end by itself, or nobody knows when). `lag`: what it leaves unread."""

    row: IncidentRow
    attention: str
    why: str = ""
    until_ms: int | None = None
    lag: Object | None = None

    @property
    def document(self) -> Object:
        return self.row.document

    @property
    def next_step(self) -> str:
        """What to do first: what was worked out for this group, else the first step of the runbook."""
        return str(self.document["next_step"] or next_step(self.document["rule"], self.document["code"]))


@dataclass(frozen=True, slots=True)
class Attention:
    """What decides at `now_ms` whether people hear of an incident. `storms`: groups with a notified rebalance storm.
    `progress`: of groups whose offsets are polled."""

    windows: Sequence[Maintenance]
    now_ms: int
    storms: Collection[GroupName] = ()
    lasts_ms: LastsMs = by_the_catalogue
    progress: Mapping[GroupName, Object] = field(default_factory=dict)

    def of(self, row: IncidentRow) -> ShownIncident:
        """Whether people hear of this incident now."""
        shown = self._shown(row)
        known = self.progress.get(row.key)
        return shown if known is None or row.over else replace(shown, lag=incident_lag(row.document, known))

    def _shown(self, row: IncidentRow) -> ShownIncident:
        document = row.document
        if row.over:
            return ShownIncident(row, "over")
        window = muting(self.windows, row.cluster, row.group, self.now_ms)
        if window is not None:
            return ShownIncident(row, "muted", f"maintenance by {window.owner}: {window.reason}", window.until_ms)
        if document["firing"] and document["alert"] != "info":
            return ShownIncident(row, "notified", f"in the notification of {row.led_by}" if row.led_by else "")
        return ShownIncident(row, "suppressed", *self._suppressed(row))

    def _suppressed(self, row: IncidentRow) -> tuple[str, int | None]:
        document = row.document
        if row.historic:
            return "found in records from before the monitor's start", None
        if document["firing"]:
            return "for reports only", None
        if row.key in self.storms and document["rule"] in _ABSORBED:
            return "a rebalance storm of the group absorbs it until the storm is over", None
        if document["fired_at_ms"] is not None:
            return "people were notified of its end", None
        due_ms = document["opened_at_ms"] + self.lasts_ms(row.cluster, row.group, document["code"])
        return "it has not lasted long enough", due_ms


def storms(incidents: Iterable[IncidentRow]) -> frozenset[GroupName]:
    """The groups of these incidents that have a notified rebalance storm."""
    return frozenset(row.key for row in incidents if row.document["firing"] and row.document["rule"] in _ABSORBING)


def incident_object(shown: ShownIncident) -> Object:
    """An incident as the API shows it: the published object, and whether people hear of it."""
    return {
        "violation": {**shown.document, "next_step": shown.next_step},
        "attention": shown.attention,
        "why": shown.why,
        "until_ms": shown.until_ms,
        "lag": shown.lag,
        "historic": shown.row.historic,
        "judged_by": shown.row.judged_by,
    }
