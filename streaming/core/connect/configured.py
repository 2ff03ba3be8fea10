"""Which jobs exist for the leader of a generation, and of which of them nobody can be sure (connect.md 4.1-4.3)."""

from collections.abc import Iterable, Mapping

from rebalance_monitor.streaming.core.model.derived import derived
from .config_history import ConfigHistory, ConfigState
from .observed import ConnectorOrTask, Observed, job_connector, of_jobs


def configured_at(history: ConfigHistory, observed: Observed) -> frozenset[ConnectorOrTask] | None:
    """The jobs configured at the offset the assignments refer to; None where the history does not tell."""
    if observed.config_offset is None:
        return None
    state = history.state_at(observed.config_offset)
    return None if state is None else jobs_of(state)


@derived
def jobs_of(state: ConfigState) -> frozenset[ConnectorOrTask]:
    return jobs_of_counts(state.connectors())


def jobs_of_counts(counts: Mapping[str, int]) -> frozenset[ConnectorOrTask]:
    """Connectors with their numbers of tasks, job by job."""
    return frozenset(counts) | {(name, number) for name, count in counts.items() for number in range(count)}


def doubted_connectors(state: ConfigState) -> frozenset[str]:
    """Connectors that one worker may find inconsistent and another not, depending on which records it has read."""
    return frozenset(name for name in state.counts if name in state.inconsistent or state.staged.get(name))


def revived_at(state: ConfigState) -> frozenset[ConnectorOrTask]:
    """Tasks that a connector which was deleted and made anew has back for workers of some releases."""
    return jobs_of_counts(state.connectors(state.left)) - jobs_of(state) if state.left else frozenset()


def has_applied(history: ConfigHistory, observed: Observed, last: Observed | None) -> bool:
    """Whether the leader's snapshot holds the last record below the stated offset for sure.

    A worker states a new offset just before it applies the record, so a snapshot taken in that moment lacks it. Who
    stated the offset a generation ago has applied the record since: every join takes a new snapshot. And who hands out
    what only that record makes exist has applied it.
    """
    offset = observed.config_offset
    if offset is None:
        return False
    before = last.views.get(observed.leader or "") if last is not None else None
    if before is not None and before.config_offset is not None and before.config_offset >= offset:
        return True
    given = observed.assigned()
    return bool(given) and bool(given & (made_by_last_record(history, offset) - hidden_at(history, observed)))


def made_by_last_record(history: ConfigHistory, offset: int) -> frozenset[ConnectorOrTask]:
    """Jobs that exist with the last record below the offset, and without it for no worker of any release."""
    exact, earlier = history.state_at(offset), history.state_at(offset - 1)
    if exact is None or earlier is None or exact is earlier:
        return frozenset()
    made = jobs_of(exact) - jobs_of(earlier) - revived_at(earlier)
    # A worker may find tasks consistent that others find inconsistent: then they existed before.
    return frozenset(job for job in made if isinstance(job, str) or job[1] >= (earlier.counts.get(job[0]) or 0))


def hidden_at(history: ConfigHistory, observed: Observed) -> frozenset[ConnectorOrTask]:
    """Jobs that the generation shows, or that are configured, and whose configuration may have been lost to
    compaction."""
    if observed.config_offset is None or history.hole_offset is None:
        return frozenset()
    return hidden_of(history, observed, shown_jobs(observed) | (configured_at(history, observed) or frozenset()))


def hidden_of(
    history: ConfigHistory, observed: Observed, jobs: Iterable[ConnectorOrTask]
) -> frozenset[ConnectorOrTask]:
    """Those of these jobs that may have existed, or not, at the generation's offset by records that compaction took
    away."""
    if observed.config_offset is None or history.hole_offset is None:
        return frozenset()
    asked = frozenset(jobs)
    names = history.hidden({job_connector(job) for job in asked}, observed.config_offset)
    names |= history.replaced(observed.config_offset, observed.at_ms)
    return frozenset(job for job in asked if job_connector(job) in names)


@of_jobs
def shown_jobs(observed: Observed) -> frozenset[ConnectorOrTask]:
    """Every job that some member reports, is given or must stop."""
    views = observed.views.values()
    return frozenset().union(*(jobs for view in views for jobs in (view.held, view.assigned, view.revoked)))


def presumed_at(history: ConfigHistory, observed: Observed) -> frozenset[str]:
    """Connectors that the generation shows, or shows tasks of, and that would exist, or have tasks, only if a hole that
    is presumed a transaction's marker was a record. Compaction leaves the newest record of a key, so what is configured
    below a hole was not deleted in it."""
    offset, first = observed.config_offset, history.marker_offset
    state = history.state_at(offset) if offset is not None else None
    if state is None or offset is None or first is None or first >= offset:
        return frozenset()
    exists = jobs_of(state)
    names = {job_connector(job) for job in shown_jobs(observed) - exists}
    return frozenset(name for name in names if state.counts.get(name) is None and name not in state.deleted)


def unsure_at(
    history: ConfigHistory, observed: Observed, last: Observed | None, *, applied: bool = False
) -> frozenset[ConnectorOrTask]:
    """Jobs that may or may not exist for the leader, whatever the history says of its offset.

    The last record may be missing from its snapshot (`has_applied`), unless it is known to be `applied`. And a worker
    that starts on a compacted topic may find a connector's tasks inconsistent that long-lived ones run, or the other
    way round: task records that follow the last commit replace the ones the commit was made of. And where the topic was
    compacted before it was read, a connector that the generation shows may have been configured by records that are
    gone.
    """
    if observed.config_offset is None:
        return frozenset()
    exact = history.state_at(observed.config_offset)
    if exact is None:
        return frozenset()
    presumed = presumed_at(history, observed)
    doubted: frozenset[ConnectorOrTask] = hidden_at(history, observed) | revived_at(exact)
    if presumed:
        doubted |= frozenset(job for job in shown_jobs(observed) if job_connector(job) in presumed)
    doubted |= {(name, number) for name in doubted_connectors(exact) for number in range(exact.counts[name] or 0)}
    if applied or has_applied(history, observed, last):
        return doubted
    earlier = history.state_at(observed.config_offset - 1)
    if earlier is None or (earlier.counts == exact.counts and earlier.inconsistent == exact.inconsistent):
        return doubted
    return doubted | (jobs_of(exact) ^ jobs_of(earlier))
