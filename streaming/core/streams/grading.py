"""What a verdict on a Streams group is made of: what was found, none and why, settings that are not known, shares."""

from collections.abc import Mapping
from dataclasses import dataclass

from rebalance_monitor.assignors.streams.leader import LeaderAnswer
from rebalance_monitor.assignors.streams.tasks import TaskId
from rebalance_monitor.schemas.streams_tasks import PROTOCOL
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.results import ConsumerShare, ExpectedShare, Grade, Verdict
from rebalance_monitor.streaming.core.model.settings import StreamsSettings
from .differences import Place, places_of
from .observed import ObservedRecord, Roles
from .plug_ins import PlugInRun
from .rounds import Hypothesis

NOT_KNOWN = {
    "standbys": "num.standby.replicas",
    "warm_ups": "max.warmup.replicas",
    "acceptable_lag": "acceptable.recovery.lag",
}
"""Fields of StreamsSettings that may be unknown, with Kafka's names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The verdict; where a hypothesis gives the record's answer, also that hypothesis, the answer, the
    roles, and under the high-availability assignor where each task with state is once nothing lags. `plugged`: the
    plug-in that was run, with what went wrong. `certain`: the verdict is the same whatever members report of state."""

    verdict: Verdict
    hypothesis: Hypothesis | None = None
    answer: LeaderAnswer | None = None
    roles: Roles | None = None
    ideal: Mapping[TaskId, Place] | None = None
    plugged: PlugInRun | None = None
    certain: bool = False

    def target(self) -> Mapping[TaskId, Place] | None:
        """Where the leader's target has the tasks with state; None where no answer is known."""
        if self.answer is None or self.hypothesis is None:
            return None
        return places_of(self.answer, self.hypothesis.stateful)


def not_judged(kind: ReasonKind, text: str) -> Verdict:
    return Verdict(grade=Grade.NOT_JUDGED, assignor=PROTOCOL, reason=Reason(kind, text))


def unknown_settings(settings: StreamsSettings, record: ObservedRecord) -> dict[str, None]:
    """Kafka's names of the settings that matter here and are not known."""
    if len(record.processes()) == 1:
        return {}
    return {name: None for field, name in NOT_KNOWN.items() if getattr(settings, field) is None}


def expected_of(answer: LeaderAnswer) -> dict[str, ExpectedShare]:
    return {
        member: ExpectedShare(assigned=ConsumerShare(told.partitions)) for member, told in answer.assignments.items()
    }
