"""Which jobs exist for the leader of a generation, and of which of them nobody can be sure (connect.md 4.1-4.3)."""

from streaming.core.config_history import ConfigHistory, ConfigState
from streaming.core.observed import Job, Observed


def configured_at(history: ConfigHistory, observed: Observed) -> frozenset[Job] | None:
    """The jobs configured at the offset the assignments refer to; None where the history does not tell."""
    if observed.config_offset is None:
        return None
    state = history.state_at(observed.config_offset)
    return None if state is None else jobs_of(state)


def jobs_of(state: ConfigState) -> frozenset[Job]:
    counts = state.connectors()
    return frozenset(counts) | {(name, number) for name, count in counts.items() for number in range(count)}


def unsure_at(history: ConfigHistory, observed: Observed) -> frozenset[Job]:
    """Jobs that may or may not exist for the leader, whatever the history says of its offset.

    A worker states its new offset just before it applies the record, so the last one may be missing from its snapshot.
    And a worker that starts on a compacted topic may find a connector's tasks inconsistent that long-lived ones run,
    or the other way round: task records that follow the last commit replace the ones the commit was made of.
    """
    if observed.config_offset is None:
        return frozenset()
    exact = history.state_at(observed.config_offset)
    if exact is None:
        return frozenset()
    doubted: frozenset[Job] = frozenset(
        (name, number)
        for name, count in exact.counts.items()
        if name in exact.inconsistent or exact.staged.get(name)
        for number in range(count or 0)
    )
    earlier = history.state_at(observed.config_offset - 1)
    return doubted if earlier is None else doubted | (jobs_of(exact) ^ jobs_of(earlier))
