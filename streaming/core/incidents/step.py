"""One step of a runbook, and whether it moves work.

    looks      reads only
    in place   changes something, but no assignment: a configuration, a right, a task restarted where it is
    moves      changes who is in a Connect group, so that connectors and tasks move: each such step is played with the
               assignors in every era its rule exists in (`streaming.core.connect.advice`)
    rejoins    makes a member of another group leave and join again: the group rebalances, and nothing of it is played

A step that moves work helps everywhere, or names where it does not: by era of the leader's algorithm, and by whether
the workers' `scheduled.rebalance.max.delay.ms` is above 0. A test holds these declarations against the played outcomes.
"""

from dataclasses import dataclass
from enum import Enum


class StepKind(Enum):
    """What a step does to the assignment."""

    LOOKS = "looks only"
    IN_PLACE = "changes no assignment"
    MOVES = "moves work"
    REJOINS = "starts a rebalance"


class WorkerMove(Enum):
    """What somebody does to a group's workers. The named worker is the one that the incident names."""

    RESTART_LEADER = "restart the leader"
    RESTART_NAMED = "restart the named worker"
    RESTART_ANOTHER = "restart another worker"
    KEEP_NAMED_AWAY = "keep the named worker away longer than the delay"
    STOP_NAMED = "stop the named worker"
    START_WORKER = "start a worker"
    REDECLARE = "correct the named worker's declarations and restart it"
    UPGRADE = "upgrade all workers, one after the other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing to do, with the commands that do it; those of a move are in `incidents.commands`.

    `useless_in`: eras in which a move does not help although the rule exists there, with a delay above 0;
    `useless_without_delay_in`: the same with a delay of 0.
    """

    text: str
    kind: StepKind
    run: tuple[str, ...] = ()
    move: WorkerMove | None = None
    useless_in: frozenset[str] = frozenset()
    useless_without_delay_in: frozenset[str] = frozenset()

    @property
    def warns(self) -> bool:
        """Whether the step tells people not to do what seems near."""
        return self.text.startswith("Do not ")


def looks(text: str, *run: str) -> Step:
    """A step that reads only."""
    return Step(text=text, kind=StepKind.LOOKS, run=run)


def in_place(text: str, *run: str) -> Step:
    """A step that changes something, but no assignment."""
    return Step(text=text, kind=StepKind.IN_PLACE, run=run)


def rejoins(text: str) -> Step:
    """A step after which a group other than Connect's rebalances. How its processes are started nobody knows here."""
    return Step(text=text, kind=StepKind.REJOINS)


def moves(text: str, move: WorkerMove, *, useless_in: str = "", useless_without_delay_in: str = "") -> Step:
    """A step that moves work. Eras are given by name, separated by blanks."""
    return Step(
        text=text,
        kind=StepKind.MOVES,
        move=move,
        useless_in=frozenset(useless_in.split()),
        useless_without_delay_in=frozenset(useless_without_delay_in.split()),
    )
