"""Where jobs are meant to run: declared by the workers (protocol `static`) or by the monitor's configuration.

A worker that some declaration names is a *static worker*, all others are *wildcard workers*; a configured job that a
present static worker lists is a *static job*, all others are *wildcard jobs* (connect.md 6.2). Under `static` the
leader must obey; no Kafka release speaks it, so elsewhere these are wishes that the leader never heard of. A wish says
nothing of jobs that it does not name: they may run anywhere, on the workers it names as well.

    placements  {orders: [w1:8083], orders-0: [w2:*]}   members w1:8083, w2:8083, w3:8083
    lists       w1: orders      w2: orders-0            static workers w1, w2; wildcard worker w3
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rebalance_monitor.schemas.connect_protocol import WorkerState
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.settings import is_worker
from .observed import STATIC, ConnectorOrTask, Observed, job_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """`lists`: what each static member declares, by member id; `away`: the same of absent workers or patterns."""

    enforced: bool
    lists: Mapping[str, frozenset[ConnectorOrTask]]
    away: Mapping[str, frozenset[ConnectorOrTask]] = field(default_factory=dict)

    def static_jobs(self, configured: frozenset[ConnectorOrTask]) -> frozenset[ConnectorOrTask]:
        return configured & frozenset[ConnectorOrTask]().union(*self.lists.values())

    def listers(self, job: ConnectorOrTask) -> tuple[str, ...]:
        """Present members that list the job, sorted."""
        return tuple(sorted(member_id for member_id, jobs in self.lists.items() if job in jobs))

    def declared(self) -> frozenset[ConnectorOrTask]:
        """Every job anybody lists, present or away."""
        return frozenset[ConnectorOrTask]().union(*self.lists.values(), *self.away.values())


def declared_by(body: GroupGeneration) -> dict[str, frozenset[ConnectorOrTask]]:
    """What each member's subscription declares, member by member; nothing outside protocol `static`."""
    if body.protocol != STATIC:
        return {}
    return {
        member.member_id: frozenset((*state.static_connectors, *state.static_tasks))
        for member in body.members
        if isinstance(state := member.subscription, WorkerState) and (state.static_connectors or state.static_tasks)
    }


def intent_of(
    body: GroupGeneration,
    observed: Observed,
    placements: Mapping[str, tuple[str, ...]],
    known: Mapping[str, frozenset[ConnectorOrTask]],
    configured: frozenset[ConnectorOrTask],
) -> Intent | None:
    """What is meant to run where in this generation; None if nobody says.

    `placements`: job -> workers, from the configuration; `known`: worker -> what it declared when last seen.
    """
    if body.protocol == STATIC:
        lists = declared_by(body)
        present = observed.workers()
        away = {worker: jobs for worker, jobs in known.items() if worker not in present}
        return Intent(enforced=True, lists=lists, away=away)
    if not placements:
        return None
    return _placed(observed, placements, configured)


def _placed(
    observed: Observed, placements: Mapping[str, tuple[str, ...]], configured: frozenset[ConnectorOrTask]
) -> Intent:
    names = {
        job_name(job): job for job in sorted(configured, key=lambda job: (not isinstance(job, str), job_name(job)))
    }
    lists: dict[str, set[ConnectorOrTask]] = {}
    away: dict[str, set[ConnectorOrTask]] = {}
    workers = observed.workers()
    for name, patterns in placements.items():
        job = names.get(name) or _read(name)
        for pattern in patterns:
            matching = [member_id for worker, member_id in workers.items() if is_worker(worker, pattern)]
            for member_id in matching:
                lists.setdefault(member_id, set()).add(job)
            if not matching:
                away.setdefault(pattern, set()).add(job)
    return Intent(
        enforced=False,
        lists={member_id: frozenset(jobs) for member_id, jobs in lists.items()},
        away={pattern: frozenset(jobs) for pattern, jobs in away.items()},
    )


def _read(name: str) -> ConnectorOrTask:
    """A job nobody configured yet: digits after the last dash make it a task, as Connect names them."""
    connector, dash, number = name.rpartition("-")
    return (connector, int(number)) if dash and connector and number.isdecimal() else name


def remembered(
    known: Mapping[str, frozenset[ConnectorOrTask]], body: GroupGeneration, observed: Observed, bound: int = 64
) -> dict[str, frozenset[ConnectorOrTask]]:
    """What workers declare, kept when they are gone and while the group speaks another protocol.

    At most `bound` workers are kept, the ones seen last.
    """
    if body.protocol != STATIC:
        return dict(known)
    lists = declared_by(body)
    present = observed.workers()
    kept = {worker: jobs for worker, jobs in known.items() if worker not in present}
    kept.update({worker: lists[member_id] for worker, member_id in present.items() if member_id in lists})
    return dict(list(kept.items())[-bound:])
