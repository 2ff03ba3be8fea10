"""What a lifecycle says of incidents: findings, what it looked for, and how far its time has come.

A lifecycle never opens or ends an incident. It returns notices among its results, in order; the fold alone settles them
in the book of the group (`streaming.core.incidents.book`).
"""

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from rebalance_monitor.streaming.core.model.results import Result
from .finding import Finding
from .transitions import Moment, PartKey


class Lane(Enum):
    """By whose time an incident lasts: that of the group's records, or of a sequence of other events (statuses) that a
    lifecycle tells some time behind the records, so that it is complete (`ClusterSettings.status_lag_ms`)."""

    RECORDS = "records"
    EVENTS = "events"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Findings of one moment. Open incidents of the `evaluated` rules that were not found are over, and so are those of
    the keys in `over`; `why` says what ended them, "" where nothing more is known. `present`: keys of incidents of
    history that go on, and are of the present from now on."""

    moment: Moment
    lane: Lane = Lane.RECORDS
    found: tuple[Finding, ...] = ()
    evaluated: frozenset[str] = frozenset()
    over: tuple[PartKey, ...] = ()
    why: str = ""
    present: tuple[PartKey, ...] = ()


@dataclass(frozen=True, slots=True)
class Passed:
    """Events are told up to this time (ms): what is due by then is notified at the time it is due."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class ReachedTime:
    """The event or timer of this time (ms) is told: what is due is notified now."""

    at_ms: int


Output: TypeAlias = Result | Notice | Passed | ReachedTime
"""What a lifecycle returns, in the order in which it is published."""
