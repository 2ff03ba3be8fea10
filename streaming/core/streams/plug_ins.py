"""A task assignor of KIP-924 that is the user's own: what runs it, and what came of it for one generation.

The core does not know where a plug-in runs. It is given a `PlugIns`, which answers one call with a value: an
assignment, no assignment by the plug-in's own word, an exception, or that the plug-in could not be run. `PlugInRun` is
the plug-in as the leader's computation wants it, under one hypothesis after the other; it keeps what went wrong first,
and what of its input the plug-in has looked at. The answer depends on nothing else, so nothing else need be known.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, TypeAlias, assert_never

from rebalance_monitor.assignors.streams.application import AssignmentConfigs
from rebalance_monitor.assignors.streams.application_state import ApplicationState
from rebalance_monitor.assignors.streams.assignment import AssignmentError, TaskAssignment
from rebalance_monitor.assignors.streams.failures import LeaderFailed
from rebalance_monitor.assignors.streams.task_assignment_utils import validate_task_assignment
from rebalance_monitor.assignors.streams.task_assignor import (
    GroupAssignment,
    GroupSubscription,
    TaskAssignmentException,
    TaskAssignor,
)
from rebalance_monitor.streaming.core.model.settings import PlugIn
from .looked_at import ALL_RACKS, LAGS
from .topology import Key


class FailureKind(StrEnum):
    """Why a plug-in gave no answer that can be used."""

    NOT_LOADED = "not_loaded"
    RAISED = "raised"
    TIMED_OUT = "timed_out"
    EXITED = "exited"
    OUT_OF_MEMORY = "out_of_memory"
    TOO_MANY_PROCESSES = "too_many_processes"
    PRINTED_TOO_MUCH = "printed_too_much"
    NONSENSE = "nonsense"
    NOT_DETERMINISTIC = "not_deterministic"
    REFUSED = "refused"
    PAUSED = "paused"
    NOT_RUN = "not_run"


@dataclass(frozen=True, slots=True)
class PlugInFailed:
    """The plug-in could not be run to an end, or not to one that can be used. `text` says what happened."""

    kind: FailureKind
    text: str


@dataclass(frozen=True, slots=True)
class Assigned:
    """What `assign` returned. `read`: LAGS, RACKS, CHANGELOG_RACKS and the names of settings that the plug-in
    looked at."""

    assignment: TaskAssignment
    read: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NoAssignment:
    """`assign` raised TaskAssignmentException: the leader hands out an error."""

    text: str
    read: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Threw:
    """`configure` or `assign` raised something else: the leader's thread ends."""

    exception: str
    text: str
    read: frozenset[str] = frozenset()


def name_of(plug_in: PlugIn) -> str:
    return f"task assignor {plug_in.name}"


def sentence_of(plug_in: PlugIn, failure: PlugInFailed) -> str:
    """Why nothing can be computed with the plug-in."""
    if failure.kind is FailureKind.NOT_DETERMINISTIC:
        return f"assignor not deterministic: {failure.text}"
    return f"{name_of(plug_in)}: {failure.text}"


AssignOutcome: TypeAlias = Assigned | NoAssignment | Threw | PlugInFailed


class PlugIns(Protocol):
    """What runs plug-ins."""

    def begin(self, plug_in: PlugIn) -> None:
        """The calls for another generation follow. Raises nothing."""

    def assign(self, plug_in: PlugIn, state: ApplicationState) -> AssignOutcome:
        """A new instance: `configure`, then `assign`. Raises nothing."""

    def computed(
        self, plug_in: PlugIn, assignment: GroupAssignment, subscription: GroupSubscription, error: AssignmentError
    ) -> PlugInFailed | None:
        """`on_assignment_computed` of the instance that assigned last; None if it returned. Raises nothing."""


class NoPlugIns:
    """Runs none: for the fold of a command that has nothing to run them with."""

    def begin(self, plug_in: PlugIn) -> None:
        """Nothing follows."""

    def assign(self, plug_in: PlugIn, state: ApplicationState) -> AssignOutcome:
        return PlugInFailed(FailureKind.NOT_RUN, "nothing runs plug-ins here")

    def computed(
        self, plug_in: PlugIn, assignment: GroupAssignment, subscription: GroupSubscription, error: AssignmentError
    ) -> PlugInFailed | None:
        return None


NO_PLUG_INS = NoPlugIns()


@dataclass
class PlugInRun:
    """One plug-in during the judgement of one generation. `stores`: the names of stores by sub-topology, as far as they
    are known. `failure`: what went wrong first; `lost`: it is not called
    any more, because the next call would most likely end in the same way."""

    plug_in: PlugIn
    runs: PlugIns
    stores: Mapping[Key, frozenset[str]] = field(default_factory=dict)
    failure: PlugInFailed | None = None
    lost: bool = False
    read: frozenset[str] = field(default_factory=frozenset)

    def rehearsal(self) -> TaskAssignor:
        """An assignor whose callback does not reach the plug-in."""
        return _Adapter(self, tells=False)

    def performance(self) -> TaskAssignor:
        """An assignor whose callback reaches the plug-in."""
        return _Adapter(self, tells=True)

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """The plug-in's answer. Raises LeaderFailed, TaskAssignmentException."""
        if self.lost and self.failure is not None:
            raise LeaderFailed("plug-in", self.failure.text)
        outcome = self.runs.assign(self.plug_in, state)
        match outcome:
            case Assigned():
                self.read |= outcome.read
                error = validate_task_assignment(state, outcome.assignment)
                if error is not AssignmentError.NONE:
                    text = f"Kafka refuses its assignment with {error.value}, and a leader that runs it ends"
                    self.fail(PlugInFailed(FailureKind.REFUSED, text))
                return outcome.assignment
            case NoAssignment():
                self.read |= outcome.read
                raise TaskAssignmentException(outcome.text)
            case Threw():
                self.read |= outcome.read
                self.fail(PlugInFailed(FailureKind.RAISED, f"it raised {outcome.exception}: {outcome.text}"))
                raise LeaderFailed(outcome.exception, outcome.text)
            case PlugInFailed():
                self.fail(outcome)
                self.lost = True
                raise LeaderFailed("plug-in", outcome.text)
            case _:
                assert_never(outcome)

    def tell(self, assignment: GroupAssignment, subscription: GroupSubscription, error: AssignmentError) -> None:
        failed = self.runs.computed(self.plug_in, assignment, subscription, error)
        if failed is not None:
            self.fail(failed)

    def fail(self, failure: PlugInFailed) -> None:
        """Something went wrong; of several things the first is told."""
        if self.failure is None:
            self.failure = failure

    def answered(self) -> None:
        """The plug-in has answered under one hypothesis: that it fails under others does not count."""
        if not self.lost:
            self.failure = None

    def indifferent_to(self, configs: AssignmentConfigs, other: AssignmentConfigs) -> bool:
        """Whether the plug-in has looked at no setting in which the two differ."""
        return all(getattr(configs, name) == getattr(other, name) for name in self.read - {LAGS, *ALL_RACKS})

    @property
    def saw_racks(self) -> bool:
        """Whether the plug-in has looked at the racks of any partition."""
        return bool(self.read & ALL_RACKS)


class _Adapter(TaskAssignor):
    def __init__(self, run: PlugInRun, *, tells: bool) -> None:
        self._run, self._tells = run, tells

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        return self._run.assign(application_state)

    def on_assignment_computed(
        self, assignment: GroupAssignment, subscription: GroupSubscription, error: AssignmentError
    ) -> None:
        if self._tells:
            self._run.tell(assignment, subscription, error)
