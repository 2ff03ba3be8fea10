"""Static assignments (KIP-987) on top of the incremental assignor: protocol `static`, which no Kafka release speaks.

A worker may declare the jobs it alone wants to run. Members that declare something are *static workers* and run nothing
else; a configured job that some static worker declares is a *static job* and runs on one of those; the others,
*wildcard* workers and jobs, are balanced as ever. In every round a job on a worker it does not belong to is revoked,
and a static job that nobody holds goes at once to the member that declares it and has the fewest of its kind. If the
last member that declares a job leaves, the job is a wildcard job and waits like any lost one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rebalance_monitor.assignors.java_order import utf16_key
from .model import Jobs
from .survey import JobSet, Load, Survey

PROTOCOL = "static"

_NOTHING = JobSet(frozenset(), frozenset())


@dataclass(frozen=True, slots=True)
class Declared:
    """What the static workers of a round declare, by member id, and the static jobs that follow from it."""

    listers: Mapping[str, JobSet]
    jobs: JobSet

    def misplaced(self, member_id: str, configured: Jobs) -> JobSet:
        """Configured jobs this member must not run."""
        wanted = self.listers.get(member_id)
        if wanted is None:
            return self.jobs
        return JobSet(frozenset(configured.connectors) - wanted.connectors, frozenset(configured.tasks) - wanted.tasks)

    def wildcard(self, jobs: Jobs) -> Jobs:
        """The jobs that any wildcard worker may run, in the same order."""
        return Jobs(
            tuple(name for name in jobs.connectors if name not in self.jobs.connectors),
            tuple(task for task in jobs.tasks if task not in self.jobs.tasks),
        )

    def wildcard_part(self, sets: Survey) -> Survey:
        """The round as the wildcard workers see it."""
        if not self.jobs:
            return sets
        return replace(
            sets,
            configured=self.wildcard(sets.configured),
            lost=self.wildcard(sets.lost),
            created=self.wildcard(sets.created),
        )

    def place(self, sets: Survey, loads: Sequence[Load]) -> None:
        """Give every static job without a holder to one of the members that declare it."""
        static = [(load, self.listers[load.id]) for load in loads if load.id in self.listers]
        static.sort(key=lambda pair: utf16_key(pair[0].id))
        idle_connectors = {*sets.created.connectors, *sets.lost.connectors} & self.jobs.connectors
        for name in [name for name in sets.configured.connectors if name in idle_connectors]:
            connector_hands = [load.connectors for load, wanted in static if name in wanted.connectors]
            min(connector_hands, key=len).append(name)
        idle_tasks = {*sets.created.tasks, *sets.lost.tasks} & self.jobs.tasks
        for task in [task for task in sets.configured.tasks if task in idle_tasks]:
            task_hands = [load.tasks for load, wanted in static if task in wanted.tasks]
            min(task_hands, key=len).append(task)


NOTHING_DECLARED = Declared({}, _NOTHING)


def declared(protocol: str, sets: Survey) -> Declared:
    """The declarations that count: all of them under `static`, none under any other protocol."""
    if protocol.lower() != PROTOCOL:
        return NOTHING_DECLARED
    listers = {
        member.id: JobSet(frozenset(member.static.connectors), frozenset(member.static.tasks))
        for member in sets.members
        if member.static
    }
    connectors = frozenset[str]().union(*(wanted.connectors for wanted in listers.values()))
    tasks = frozenset[tuple[str, int]]().union(*(wanted.tasks for wanted in listers.values()))
    jobs = JobSet(connectors & set(sets.configured.connectors), tasks & set(sets.configured.tasks))
    return Declared(listers, jobs)
