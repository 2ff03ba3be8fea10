"""Generations of one kind close behind each other are one event for people; each stays in the history.

A worker that reads its config topic late makes the group loop: one generation with an error every 3 to 15 ms, hundreds
of them. Several workers that join one after the other, or a bulk of connectors created, look alike but slower.
"""

from collections.abc import Sequence

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.statuses.round_change import RecordStep
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


def with_record(bursts: tuple[Burst, ...], step: RecordStep) -> tuple[Burst, ...]:
    """The record goes on with the burst before it, or begins one."""
    kind, last = kind_of(step), bursts[-1] if bursts else None
    close = last is not None and step.at_ms - last.last_at_ms <= CLOSE_MS and step.generation > last.last_generation
    if last is not None and close and last.kind == kind:
        longer = replace(last, last_generation=step.generation, last_at_ms=step.at_ms, count=last.count + 1)
        return (*bursts[:-1], longer)
    first = Burst(
        kind=kind,
        first_generation=step.generation,
        last_generation=step.generation,
        first_at_ms=step.at_ms,
        last_at_ms=step.at_ms,
        count=1,
    )
    return (*bursts, first)


def burst_of(bursts: Sequence[Burst], generation: int) -> Burst | None:
    """The burst that a generation belongs to, if it is one."""
    for burst in reversed(bursts):
        if burst.first_generation <= generation <= burst.last_generation:
            return burst if burst.count >= LEAST else None
    return None


def needed(bursts: tuple[Burst, ...], oldest: int | None) -> tuple[Burst, ...]:
    """Those that a generation from the `oldest` on belongs to; the latest may still grow."""
    return (*(one for one in bursts[:-1] if oldest is not None and one.last_generation >= oldest), *bursts[-1:])
