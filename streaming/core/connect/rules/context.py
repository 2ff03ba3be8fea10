"""What a law may look at, what it says, and when it may speak at all."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from rebalance_monitor.streaming.core.connect.intent import Intent
from rebalance_monitor.streaming.core.connect.observed import ConnectorOrTask, Observed
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.model.derived import Derives, derived
from rebalance_monitor.streaming.core.model.records import BadBlob, GroupGeneration
from rebalance_monitor.streaming.core.model.results import Evidence, Grade, Subject
from rebalance_monitor.streaming.core.model.settings import ConnectSettings
from .memory import RuleMemory

AnsweredAs = Callable[[str, Mapping[str, frozenset[ConnectorOrTask]]], bool]


def _cannot_tell(protocol: str, lists: Mapping[str, frozenset[ConnectorOrTask]]) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene(Derives):
    """One Connect generation with members, and what came before it.

    `last` is the record before it in this life of the group (None: not seen, or it was empty), `gap` the generations
    without a record between the two. `configured` and `configured_before` are the jobs that existed at the config
    offsets of the two records, None where the config topic does not tell; `config_changes` counts the records between
    that make workers rebalance. `hidden_before` are jobs of now that may have existed at the record before, by records
    that compaction took away. `unsure` are jobs of which nobody can tell whether the leader knew them as configured.
    `eras` are the families of releases that can have given the answer, or the one it was expected of. `memory` is what
    the laws across records kept after the record before. `intent` says what is meant to run where,
    `declared` what workers declared when last seen under `static`, `why` what differs from the expected answer, and
    `answered_as(protocol, lists)` whether the record's bytes, but for the version, are those of a leader of that
    protocol to whom the members (by id) declare these jobs. `foreign`: the leader reads another config topic.
    """

    group: str
    body: GroupGeneration
    observed: Observed
    last: Observed | None
    gap: int
    configured: frozenset[ConnectorOrTask] | None
    configured_before: frozenset[ConnectorOrTask] | None
    hidden_before: frozenset[ConnectorOrTask] = frozenset()
    grade: Grade
    eras: tuple[str, ...]
    settings: ConnectSettings
    memory: RuleMemory = field(default_factory=RuleMemory)
    config_changes: int = 0
    unsure: frozenset[ConnectorOrTask] = frozenset()
    intent: Intent | None = None
    declared: Mapping[str, frozenset[ConnectorOrTask]] = field(default_factory=dict)
    answered_as: AnsweredAs = _cannot_tell
    why: str = ""
    foreign: bool = False

    @property
    def max_delay_ms(self) -> int | None:
        """What the configuration says of the leader's maximum delay; None where it says nothing."""
        view = self.observed.views.get(self.observed.leader or "")
        return self.settings.max_delay_of(view.worker if view is not None else None)

    @property
    @derived
    def surely(self) -> frozenset[ConnectorOrTask]:
        """Jobs that exist for every leader."""
        return (self.configured or frozenset()) - self.unsure

    @property
    @derived
    def possibly(self) -> frozenset[ConnectorOrTask]:
        """Jobs that may exist for some leader."""
        return (self.configured or frozenset()) | self.unsure

    @property
    def explained(self) -> bool:
        """Whether some leader's memory gives exactly this answer."""
        return self.grade in (Grade.MATCH, Grade.EXPLAINABLE)

    def worker(self, member_id: str) -> str:
        """What people call a member: its host and port, or its id where these do not tell it from others."""
        return self.observed.process_of(member_id) if member_id in self.observed.views else member_id

    def subjects(self, member_ids: Iterable[str]) -> tuple[Subject, ...]:
        """These members as a finding names them, each once, by name."""
        views = self.observed.views
        found = {self.observed.subject_of(one) if one in views else Subject("member", one) for one in member_ids}
        return tuple(sorted(found, key=lambda one: one.id))

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        return (Evidence(source=self.observed.source),)


class Need(Enum):
    """What must be there before a law can say anything, not even that all is well."""

    NO_ERROR = "the rebalance did not end in an error"
    CONFIG = "the configured connectors and tasks are known"
    LAST = "the record before is known, with no generation missing between"
    READABLE = "every member's bytes can be read"
    JUDGED = "the assignment was compared with the leader's"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCheck:
    """One or more rules looked at together, and their needs: unmet, nothing is found and no incident ends."""

    rules: tuple[Rule, ...]
    needs: frozenset[Need] = frozenset()
    broken: Callable[[Scene], Iterator[Finding]]


def applies(law: RuleCheck, scene: Scene) -> bool:
    return law.needs <= _needs_met(scene)


@derived
def _needs_met(scene: Scene) -> frozenset[Need]:
    met = {
        Need.NO_ERROR: not scene.observed.error,
        Need.CONFIG: scene.configured is not None,
        Need.LAST: scene.last is not None and scene.gap == 0,
        Need.READABLE: _readable(scene.body),
        Need.JUDGED: scene.grade is not Grade.NOT_JUDGED,
    }
    return frozenset(need for need, is_there in met.items() if is_there)


def _readable(body: GroupGeneration) -> bool:
    blobs = (blob for member in body.members for blob in (member.subscription, member.assignment))
    return not any(isinstance(blob, BadBlob) for blob in blobs)
