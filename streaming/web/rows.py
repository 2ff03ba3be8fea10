"""What the database holds, as values: one class per kind of row that is read."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from rebalance_monitor.streaming.core.fold.expected import PATIENCE_MS
from rebalance_monitor.streaming.stories.story import GenerationRow as GenerationRow

Document = dict[str, Any]
GroupName = tuple[str, str]
"""(cluster, group)."""
NOBODY = ("Empty", "Dead")
"""States of a group without members: there is nobody to wait for."""


@dataclass(frozen=True, slots=True)
class ListPage:
    """Part of a list and where the next part begins: None on the last."""

    items: list[Any]
    next: list[Any] | None = None


class GapRow(NamedTuple):
    """Offsets [from, to) of a partition that were gone before they were read, and who took note of it.

    The last three are None while nobody has. `acknowledged_operator` is None as well where the command did not say it.
    """

    cluster: str
    topic: str
    partition: int
    from_offset: int
    to_offset: int
    reason: str
    found_ms: int
    acknowledged_ms: int | None
    acknowledged_by: str | None
    acknowledged_operator: str | None

    @property
    def acknowledged(self) -> bool:
        return self.acknowledged_ms is not None


class GenerationKey(NamedTuple):
    """By which a generation's row is found; `day` in days since 1970, UTC."""

    cluster: str
    topic_id: str
    partition: int
    offset: int
    day: int


class SummaryRow(NamedTuple):
    """One count of a day that was cut; `day` in days since 1970, UTC."""

    cluster: str
    group: str
    day: int
    kind: str
    name: str
    counted: int


class GroupRow(NamedTuple):
    """A group's latest generation, without its document. `version` changes with every write of that row;
    `status` is Stable, Empty, Dead, Unknown, of a KIP-848 or KIP-1071 group also Assigning or Reconciling, and of the
    latter NotReady, by its latest record ("" where it is not known). `generation`, `grade` and `at_ms` are None for a
    group with an incident of which no generation is known. `lag` until `trend`: by the sample that brokers answered at
    `sampled_ms`, None where they never did. `standing_ms`: the time of the record that `status` is by."""

    cluster: str
    group: str
    incarnation: int
    generation: int | None
    protocol_type: str
    protocol: str | None
    members: int
    unassigned: int
    delay_ms: int | None
    grade: str | None
    at_ms: int | None
    version: str
    status: str = ""
    lag: int | None = None
    lag_ms: int | None = None
    at_least: bool = False
    trend: str | None = None
    sampled_ms: int | None = None
    standing_ms: int | None = None
    lifecycle: str | None = None

    @property
    def key(self) -> GroupName:
        return self.cluster, self.group

    def sample_is_old(self, now_ms: int) -> bool:
        """Whether what brokers answered says nothing of now."""
        return self.sampled_ms is not None and now_ms - self.sampled_ms > PATIENCE_MS

    @property
    def delay_until_ms(self) -> int | None:
        """When the workers' delay ends, as the generation's record told it."""
        return self.at_ms + self.delay_ms if self.at_ms is not None and self.delay_ms else None


class IncidentRow(NamedTuple):
    """An incident's document and what stands beside it. `group` is the name as the database's columns hold it."""

    document: Document
    cluster: str
    group: str
    historic: bool
    judged_by: str
    version: str
    led_by: str | None = None

    @property
    def key(self) -> GroupName:
        return self.cluster, self.group

    @property
    def over(self) -> bool:
        """Resolved, and nobody is told any more."""
        return self.document["resolved_at_ms"] is not None and not self.document["firing"]


class DocumentRow(NamedTuple):
    """The document of a connector, of a task, or of a finding of an incident; `group` as the column holds it."""

    document: Document
    cluster: str
    group: str
