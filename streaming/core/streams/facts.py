"""What the laws about Streams groups look at: one generation, the one before, and what is known of the application.

A law answers *ok*, *violated* or *undetermined*: undetermined where what it needs is not known, so that it neither
opens nor ends an incident.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from rebalance_monitor.assignors.streams.application import RackStrategy
from rebalance_monitor.assignors.streams.built_in import BuiltIn, built_in_of
from rebalance_monitor.assignors.streams.eras import Era, era_of
from rebalance_monitor.assignors.streams.tasks import ProcessId, Release, TaskId, TopicPartition, sorted_tasks
from rebalance_monitor.streaming.core.cluster.changelogs import CHANGELOG_SUFFIX, ChangelogEnds
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.model import messages
from rebalance_monitor.streaming.core.model.results import Certainty, Evidence, Severity, Subject
from rebalance_monitor.streaming.core.model.settings import StreamsSettings
from .bugs import Bug
from .caught_up import sums_of
from .deadlines import WrongDeadline
from .described import store_names, stores_by_part
from .grading import Judged
from .hypotheses import releases
from .members import StreamsThread
from .observed import ObservedRecord
from .topology import Key, Leftovers, key_of

NAMED = 5
"""Tasks that a message names before it only counts them."""
FIRST_WITH_NEXT = 7


@dataclass(frozen=True, kw_only=True)
class Facts:
    """One generation. `remembered` are the tasks that records before showed; `counts` the partitions of topics by the
    last sample, empty where nobody asks brokers; `ends`: where its changelogs end by the last sample until `at_ms`, the
    record's time, where somebody asks how far the group has come; `sampled`: the same by samples of topics. `held`: the
    most that the changelogs of a task held until the record was written, where samples tell. `left`: reports of
    directories that may be left of another topology. `misfit`: why the configured topology is not this application's.
    `joined_ms`: when the join phase ended, by the coordinator's clock. `deadline`: what is wrong with the time of the
    probing rebalance."""

    record: ObservedRecord
    judged: Judged
    settings: StreamsSettings
    here: Evidence
    at_ms: int = 0
    joined_ms: int = 0
    deadline: WrongDeadline | None = None
    misfit: str | None = None
    remembered: Mapping[TaskId, tuple[TopicPartition, ...]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    ends: ChangelogEnds | None = None
    sampled: ChangelogEnds | None = None
    held: Mapping[TaskId, int] = field(default_factory=dict)
    left: Leftovers = field(default_factory=dict)

    @cached_property
    def processes(self) -> dict[ProcessId, list[StreamsThread]]:
        return self.record.processes()

    @cached_property
    def active(self) -> dict[ProcessId, frozenset[TaskId]]:
        return {one: frozenset(t for thread in its for t in thread.active) for one, its in self.processes.items()}

    @cached_property
    def standby(self) -> dict[ProcessId, frozenset[TaskId]]:
        """Copies of each process, transient ones included."""
        return {one: frozenset(t for thread in its for t in thread.standby) for one, its in self.processes.items()}

    @cached_property
    def runs(self) -> dict[TaskId, ProcessId]:
        return {task: process for process, tasks in self.active.items() for task in tasks}

    @cached_property
    def copies(self) -> dict[TaskId, frozenset[ProcessId]]:
        """Who has a copy of each task that somebody runs: of a withheld task the record may show transient ones."""
        return {task: frozenset(one for one, held in self.standby.items() if task in held) for task in self.runs}

    @cached_property
    def withheld(self) -> list[TaskId]:
        """Tasks that nobody runs in this generation and somebody still owns."""
        return self.record.withheld()

    @cached_property
    def sums(self) -> dict[TaskId, dict[ProcessId, int]]:
        return sums_of(self.record)

    @property
    def warm_ups(self) -> list[tuple[TaskId, ProcessId]]:
        """The copies that are warm-ups; none where they are not known."""
        roles = self.judged.roles
        warm = {} if roles is None else roles.warm_ups
        return [(task, thread.process_id) for thread in self.record.threads for task in warm.get(thread.id, ())]

    @property
    def failed(self) -> bool:
        """Whether the leader handed out an error instead of tasks."""
        return any(thread.told.error for thread in self.record.threads)

    @property
    def version(self) -> int:
        return min((thread.told.version for thread in self.record.threads), default=0)

    @property
    def times(self) -> list[int]:
        """When threads are to join again: 0 at once."""
        found = (thread.next_rebalance_ms for thread in self.record.threads)
        return [time for time in found if time is not None]

    @cached_property
    def built_in(self) -> bool:
        """Whether one of Kafka's own assignors surely runs."""
        known = self.settings.assignor
        if self.settings.plug_in is not None:
            return False
        if known is not None:
            return built_in_of(known) is not None
        return self.judged.hypothesis is not None

    @cached_property
    def high_availability(self) -> bool:
        """Whether the assignor is the default one since 2.6, with end offsets, and every member reports sums."""
        found = self.judged.hypothesis
        if self.settings.plug_in is not None:
            return False
        if found is not None and (found.assignor is not BuiltIn.HIGH_AVAILABILITY or found.blind):
            return False
        known = self.settings.assignor
        named = built_in_of(known) is BuiltIn.HIGH_AVAILABILITY if known is not None else found is not None
        return named and self.version >= FIRST_WITH_NEXT and all(era.high_availability for era in self.eras)

    @cached_property
    def eras(self) -> list[Era]:
        """The eras that the leader can be of; empty where it is older than all known ones."""
        return [era_of(release) for release in self._releases]

    def may_have(self, bug: Bug) -> bool:
        """Whether the leader can be of a release with this bug."""
        return bug.may_be_in(self._releases)

    @cached_property
    def _releases(self) -> tuple[Release, ...]:
        """Those that the leader can be of, and the one whose answer the record has."""
        known, found = releases(self.settings, self.record), self.judged.hypothesis
        return known if found is None or not known or found.release in known else (*known, found.release)

    @property
    def stable(self) -> bool:
        """Whether nothing changes hands and no further rebalance is due by the leader's word."""
        return not (self.failed or self.withheld or self.times)

    @property
    def placed_freely(self) -> bool:
        """Whether neither tags nor racks restrict where tasks go."""
        tags = self.settings.rack_tags
        tagged = any(thread.said.client_tags for thread in self.record.threads) if tags is None else bool(tags)
        racks = all(thread.wanted.rack for thread in self.record.threads)
        return not tagged and (not racks or self.settings.rack_strategy == RackStrategy.NONE.value)

    @property
    def wanted_copies(self) -> int | None:
        """How many copies each task with state has at least; None where nobody says."""
        known = self.settings.standbys
        return None if known is None else min(known, len(self.processes) - 1)

    @property
    def equal_capacities(self) -> bool:
        """Whether all processes have the same number of threads."""
        return len({len(threads) for threads in self.processes.values()}) == 1

    @cached_property
    def misplaced(self) -> list[TaskId] | None:
        """Tasks with state that, or whose copies, the leader's target has elsewhere than they are once nothing lags;
        None where that is not known."""
        ideal, target = self.judged.ideal, self.judged.target()
        if ideal is None or target is None:
            return None
        return [task for task, place in ideal.items() if target.get(task) != place]

    def with_state(self, task: TaskId) -> bool:
        return key_of(task) in self._stateful

    @cached_property
    def _stateful(self) -> frozenset[tuple[int, str]]:
        return frozenset(part.key for part in self.record.seen if part.stateful)

    @property
    def state_known(self) -> bool:
        """Whether it is known of every sub-topology whether it has state."""
        text = self.settings.topology
        stores = {} if text is None else stores_by_part(text)
        return all(part.state_known is not None or not stores.get(part.key, True) for part in self.record.seen)

    def changelog_end(self, task: TaskId) -> int | None:
        """The sum of the end offsets of the task's changelogs; None where nobody said, or which they are is unknown."""
        return self._end(self.ends, task)

    def last_end(self, task: TaskId) -> int | None:
        """The same by samples of topics, too, which there are of every application: with the topology's text they tell
        which changelogs are the task's."""
        end = self._end(self.ends, task)
        return self._end(self.sampled, task) if end is None and self.settings.topology is not None else end

    def _end(self, told: ChangelogEnds | None, task: TaskId) -> int | None:
        topics = None if told is None else self._changelogs(told, key_of(task))
        if told is None or topics is None:
            return None
        ends = (told.ends.get(f"{topic}-{task.partition}") for topic in topics)
        known = [end for end in ends if end is not None]
        return sum(known) if known else None

    def _changelogs(self, told: ChangelogEnds, key: Key) -> frozenset[str] | None:
        """Topics in the sample; without the topology's text all are those of the only sub-topology that has state."""
        stores = {} if self.settings.topology is None else store_names(self.settings.topology)
        if stores:
            return frozenset(f"{self.record.group}-{store}{CHANGELOG_SUFFIX}" for store in stores.get(key, ()))
        if not self.state_known or self._stateful != {key}:
            return None
        return frozenset(partition.rpartition("-")[0] for partition in told.ends)


Violations: TypeAlias = tuple[Finding, ...] | None
"""What a law finds; nothing for *ok*, None for *undetermined*."""
OK: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class StreamsLaw:
    """A rule, and what looks for it in a generation."""

    rule: Rule
    broken: Callable[[Facts], Violations]


def found(
    rule: Rule,
    facts: Facts,
    message: str,
    *,
    severity: Severity | None = None,
    certainty: Certainty = Certainty.CERTAIN,
    member: str | None = None,
    evidence: tuple[Evidence, ...] = (),
    looks_like: tuple[Bug, ...] = (),
) -> tuple[Finding, ...]:
    """One finding about the group, or about one of its members. `looks_like`: bugs with the same traces; those that the
    leader's release cannot have are left out."""
    bugs = ", ".join(bug.issue for bug in looks_like if facts.may_have(bug))
    message = f"{message} (looks like {bugs})" if bugs else message
    subject = Subject("group", facts.record.group) if member is None else Subject("member", member)
    return (
        Finding(
            rule=rule,
            severity=severity or rule.severity,
            certainty=certainty,
            subjects=(subject,),
            message=message,
            evidence=(*evidence, facts.here),
        ),
    )


def listed(tasks: Iterable[TaskId]) -> str:
    """Tasks for a message, the many after the first ones as a number."""
    return messages.listed(map(str, sorted_tasks(set(tasks))), NAMED)
