"""What one kind of group with targets has of its own. `kinds` has the values; nothing else names a kind."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from rebalance_monitor.schemas.group_values import MemberState
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory
from rebalance_monitor.streaming.core.fold.capabilities import Holdings
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.model.details import StreamsDetail
from rebalance_monitor.streaming.core.model.results import Verdict
from . import laws, tasks
from .breaches import Breach, Terms
from .group import TargetGroup
from .law import Law
from .member import Parts
from .operation import Computed
from .tally import Tally
from .topics import NameOf, recorded, sampled, turns_ms


def lacking_partitions(view: GroupView, tally: Tally, at_ms: int) -> list[Breach]:
    """By what the coordinator wrote down of the topics (4.0), or the last sample until then."""
    group, history, names = tally.group, view.knowledge.topics, sorted(tally.names)
    told = recorded(group)

    def incomplete() -> list[Breach]:
        known = next(sampled(history, names, at_ms), {}) if told is None else told
        return list(laws.target_incomplete(tally, {name: (one.id, one.partitions) for name, one in known.items()}))

    return tally.coverage.lacking(at_ms, lambda: turns_ms(history, names) if told is None else (), incomplete)


def lacking_shared(view: GroupView, tally: Tally, at_ms: int) -> list[Breach]:
    """By the last sample until then; where none shows a topic, by its partitions that have share state (4.1)."""
    group, history, names = tally.group, view.knowledge.topics, sorted(tally.names)

    def incomplete() -> list[Breach]:
        counts: dict[str, tuple[bytes, int]] = {}
        if group.metadata_hash is not None and group.states is not None:
            counts = {one.name: (one.topic, len(one.numbers)) for one in group.states.initialized}
        counts |= {name: (one.id, one.partitions) for name, one in next(sampled(history, names, at_ms), {}).items()}
        return list(laws.target_incomplete(tally, counts))

    return tally.coverage.lacking(at_ms, lambda: turns_ms(history, names), incomplete)


def lacking_tasks(view: GroupView, tally: Tally, at_ms: int) -> list[Breach]:
    """By the last sample of the topology's topics until then."""
    group, history = tally.group, view.knowledge.topics
    return tally.coverage.lacking(
        at_ms,
        lambda: tasks.turns_ms(group, history),
        lambda: list(laws.tasks_incomplete(tally, tasks.shown(group, history, at_ms))),
    )


Judge: TypeAlias = Callable[[GroupView, Computed, int, NameOf], Verdict]
"""The verdict on a target of this time."""
UNSURE = frozenset({Law.STUCK_REVOKING, Law.LAGGING, Law.WAITING_LONG, Law.NO_TARGET, Law.EPOCH_DECREASED})
"""Laws about time rest on time-outs that no record shows, and an epoch that went back may be one of a group whose
tombstone was not read."""


@dataclass(frozen=True, slots=True)
class KindWords:
    """How people are told of a kind of group: what its members share out, the end of Kafka's words for a member that
    revokes or waits, and what a member or the group does that breaks a law, where it is not said in the usual words
    (`findings`)."""

    things: str = "partitions"
    state_end: str = "PARTITIONS"
    of_member: Mapping[Law, str] = field(default_factory=dict)
    of_group: Mapping[Law, str] = field(default_factory=dict)

    def state(self, state: MemberState | None) -> str:
        """The state of a member in Kafka's words."""
        match state:
            case None:
                return "UNKNOWN"
            case MemberState.STABLE:
                return "STABLE"
            case MemberState.UNREVOKED | MemberState.UNRELEASED:
                return f"{state.name}_{self.state_end}"


def _nobody_knows(_group: TargetGroup, _history: TopicHistory) -> Holdings | None:
    return None


def _no_detail(_group: TargetGroup, _history: TopicHistory, _at_ms: int) -> StreamsDetail | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of group that the coordinator computes targets for.

    `name`: of the kind, in Kafka's words; `parts`: what its records state, by their types; `rules`: the laws that hold
    of it, each with its rule; `unsure`: those of them whose breach is likely, not certain; `exclusive`: one member
    alone may hold a thing, so members hand over what they have before others get it; `waits_for_topics`: nobody is
    given anything until all topics are there; `first_target_ms`: how long the broker waits for more members of a group
    that was empty; `converts`: it may go on under the classic protocol, or have been a classic group.

    `judge`: the verdict on a target; `converted`: whether members of the classic protocol brought it; `lacking`: what
    no target holds; `holdings`: who may read what of a group of which every record was read; `detail`: what is
    published of its tasks.
    """

    name: str
    parts: Parts
    rules: Mapping[Law, Rule]
    judge: Judge
    unsure: frozenset[Law] = UNSURE
    words: KindWords = KindWords()
    exclusive: bool = True
    waits_for_topics: bool = False
    first_target_ms: int = 0
    converts: bool = False
    converted: Callable[[Computed], bool] = lambda computed: False
    lacking: Callable[[GroupView, Tally, int], list[Breach]] = lacking_partitions
    holdings: Callable[[TargetGroup, TopicHistory], Holdings | None] = _nobody_knows
    detail: Callable[[TargetGroup, TopicHistory, int], StreamsDetail | None] = _no_detail

    def terms(self, session_ms: int) -> Terms:
        """What its laws rest on, where the broker removes a silent member after this time."""
        return Terms(frozenset(self.rules), session_ms, self.first_target_ms)
