"""Generations of one kind close behind each other are one event for people; each stays in the history.

A worker that reads its config topic late makes the group loop: one generation with an error every 3 to 15 ms, hundreds
of them. Several workers that join one after the other, or a bulk of connectors created, look alike but slower.
"""

from dataclasses import replace

from rebalance_monitor.streaming.core.connect.statuses.round_change import RecordStep
from rebalance_monitor.streaming.core.connect.statuses.session import Work
from rebalance_monitor.streaming.core.model.effects import Burst

CLOSE_MS = 2_000
"""Records of one burst follow each other at most this far apart."""
LEAST = 3
"""So many generations make a burst."""


def kind_of(step: RecordStep) -> str:
    """What people would call the generation: an error, or its first cause."""
    if step.error:
        return "config_mismatch"
    return step.causes[0].kind if step.causes else "unknown"


def stepped(work: Work, step: RecordStep) -> None:
    """The record goes on with the burst before it, or begins one."""
    kind, burst = kind_of(step), work.bursts[-1] if work.bursts else None
    close = burst is not None and step.at_ms - burst.last_at_ms <= CLOSE_MS and step.generation > burst.last_generation
    if burst is not None and close and burst.kind == kind:
        work.bursts[-1] = replace(burst, last_generation=step.generation, last_at_ms=step.at_ms, count=burst.count + 1)
        return
    work.bursts.append(
        Burst(
            kind=kind,
            first_generation=step.generation,
            last_generation=step.generation,
            first_at_ms=step.at_ms,
            last_at_ms=step.at_ms,
            count=1,
        )
    )


def of(work: Work, generation: int) -> Burst | None:
    """The burst that a generation belongs to, if it is one."""
    for burst in reversed(work.bursts):
        if burst.first_generation <= generation <= burst.last_generation:
            return burst if burst.count >= LEAST else None
    return None


def trim(work: Work) -> None:
    """Forget bursts that no unsettled generation belongs to; the latest may still grow."""
    least = min((one.generation for one in work.unsettled), default=None)
    needed = [one for one in work.bursts[:-1] if least is not None and one.last_generation >= least]
    work.bursts = [*needed, *work.bursts[-1:]]
