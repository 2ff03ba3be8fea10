"""What a law may look at, what it says, and when it may speak at all."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum

from streaming.core.observed import Job, Observed
from streaming.core.records import GroupGeneration
from streaming.core.results import Certainty, Evidence, Grade, Severity, Subject
from streaming.core.rules.memory import RuleMemory
from streaming.core.rules.rule import Rule
from streaming.core.settings import ConnectSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One broken law. Its key is (code, subjects): found again it keeps its incident open."""

    rule: Rule
    severity: Severity
    certainty: Certainty
    subjects: tuple[Subject, ...]
    message: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One Connect generation with members, and what came before it.

    `last` is the record before it in this life of the group (None: not seen, or it was empty), `gap` the generations
    without a record between the two. `configured` and `configured_before` are the jobs that existed at the config
    offsets of the two records, None where the config topic does not tell; `config_changes` counts the records between
    that make workers rebalance. `memory` is what the laws across records kept after the record before.
    """

    group: str
    body: GroupGeneration
    observed: Observed
    last: Observed | None
    gap: int
    configured: frozenset[Job] | None
    configured_before: frozenset[Job] | None
    grade: Grade
    era: str | None
    settings: ConnectSettings
    memory: RuleMemory = field(default_factory=RuleMemory)
    config_changes: int = 0

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The record itself."""
        return (Evidence(source=self.observed.source),)


class Need(Enum):
    """What must be there before a law can say anything, not even that all is well."""

    NO_ERROR = "the round did not end in an error"
    CONFIG = "the configured jobs are known"
    LAST = "the record before is known, with no generation missing between"


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """One or more rules looked at together, and their needs: unmet, nothing is found and no incident ends."""

    rules: tuple[Rule, ...]
    needs: frozenset[Need] = frozenset()
    broken: Callable[[Scene], Iterator[Finding]]


def applies(law: Law, scene: Scene) -> bool:
    """Whether every need of the law is met."""
    met = {
        Need.NO_ERROR: not scene.observed.error,
        Need.CONFIG: scene.configured is not None,
        Need.LAST: scene.last is not None and scene.gap == 0,
    }
    return all(met[need] for need in law.needs)
