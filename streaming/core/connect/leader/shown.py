"""What a leader's answer shows of its round, whatever the leader remembers: the input of the search for a memory."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from rebalance_monitor.assignors.connect.eras import Era
from rebalance_monitor.assignors.connect.model import ConnectRound, Jobs
from rebalance_monitor.assignors.connect.round import configured_jobs
from rebalance_monitor.schemas.connect_protocol import ConnectAssignment
from rebalance_monitor.streaming.core.connect.observed import STATIC, ConnectorOrTask, job_kind
from .rounds import Case
from .rows import Received
from .unseen_rounds import LostOrCreated


def job_set(jobs: Jobs) -> frozenset[ConnectorOrTask]:
    return frozenset((*jobs.connectors, *jobs.tasks))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a record shows of its round, whatever the memory: the configured jobs that nobody reports, in order, each
    with the member that was given it (None: nobody; `taken_back`: and had to stop it at once), what must stop although
    it does not exist any more, and what nobody may run (`stranded`): it lies in every round, was it lost or created.
    `parts`: of each task that was given to somebody, `Received.second`."""

    given: Mapping[ConnectorOrTask, str | None]
    taken_back: frozenset[ConnectorOrTask]
    ghosts: frozenset[ConnectorOrTask]
    twice: frozenset[ConnectorOrTask]
    stranded: frozenset[ConnectorOrTask]
    parts: Mapping[ConnectorOrTask, bool | None]

    @classmethod
    def of(cls, case: Case, round_: ConnectRound, era: Era) -> "Shown | None":
        """None where no memory gives such an answer: something is given twice, or while somebody reports it, or a
        member's list has more than two parts."""
        configured = configured_jobs(round_.fresh_config or round_.config)
        exists: tuple[ConnectorOrTask, ...] = (*configured.connectors, *configured.tasks)
        views = case.observed.views
        held = Counter(job for view in views.values() for job in view.held)
        given: dict[ConnectorOrTask, str | None] = {job: None for job in exists if job not in held}
        for member_id, view in views.items():
            for job in (*view.assigned, *(view.revoked - view.held)):
                if job not in given or given[job] is not None:
                    return None
                given[job] = member_id
        taken_back = frozenset(job for view in views.values() for job in view.revoked - view.held)
        if taken_back and not era.balances_fully:
            return None
        parts = _parts(case)
        if parts is None:
            return None
        return cls(
            given=given,
            taken_back=taken_back,
            ghosts=case.observed.revoked() & (held.keys() - frozenset(exists)),
            twice=frozenset(job for job, count in held.items() if count > 1),
            stranded=_stranded(round_) & given.keys(),
            parts=parts,
        )

    @property
    def lying(self) -> frozenset[ConnectorOrTask]:
        """What was given to nobody although somebody may run it."""
        return frozenset(job for job, member_id in self.given.items() if member_id is None) - self.stranded

    def received(self, kind: str, roles: LostOrCreated) -> dict[ConnectorOrTask, Received]:
        """The jobs of this kind that were given to somebody, in order."""
        return {
            job: Received(
                member_id,
                True if job in self.taken_back else roles.get(job),
                None if isinstance(job, str) or job not in self.parts else job[0],
                self.parts.get(job),
            )
            for job, member_id in self.given.items()
            if member_id is not None and job_kind(job) == kind
        }


def _parts(case: Case) -> dict[ConnectorOrTask, bool | None] | None:
    """Each task that a member was given: whether it stands behind the place where the tasks of its connector descend in
    the member's list; None if they do not. None for all where they descend twice."""
    parts: dict[ConnectorOrTask, bool | None] = {}
    for member in case.body.members:
        given = member.assignment
        lists: dict[str, list[int]] = {}
        for name, number in given.tasks if isinstance(given, ConnectAssignment) else ():
            lists.setdefault(name, []).append(number)
        for name, numbers in lists.items():
            descents = [at for at, (one, other) in enumerate(pairwise(numbers), 1) if other < one]
            if len(descents) > 1:
                return None
            for at, number in enumerate(numbers):
                parts[name, number] = at >= descents[0] if descents else None
    return parts


def _stranded(round_: ConnectRound) -> frozenset[ConnectorOrTask]:
    """Under `static`, the configured jobs that nobody declares while every member declares its own."""
    if round_.protocol != STATIC or not all(one.static for one in round_.members):
        return frozenset()
    exists = configured_jobs(round_.fresh_config or round_.config)
    return job_set(exists).difference(*(job_set(one.static) for one in round_.members))
