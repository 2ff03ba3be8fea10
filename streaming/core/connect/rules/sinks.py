"""CONNECT-K2 by another witness: a sink's own consumer group (coordinator-log.md 9.4).

Each task of a sink connector is a consumer of group `connect-<connector>` with client id
`connector-consumer-<connector>-<task>`. A completed generation holds only members that joined it: two with one client
id are two living tasks. Names that a configuration overrides do not look so, and are left alone; so are members with an
instance id, which stay in the group without joining until their session ends.
"""

from collections import defaultdict
from collections.abc import Iterator

from rebalance_monitor.streaming.core.fold.returns import SINK_TASK
from rebalance_monitor.streaming.core.incidents.finding import Finding, finding_of
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.results import Evidence, Subject
from .catalogue_status import RUNNING_TWICE

GROUP = "connect-"


def consumed_twice(group: str, body: GroupGeneration, evidence: Evidence) -> Iterator[Finding]:
    """Tasks of a sink connector that two members of its consumer group run at once."""
    prefix = f"{SINK_TASK}{group.removeprefix(GROUP)}-"
    if not group.startswith(GROUP):
        return
    hosts: dict[str, list[str]] = defaultdict(list)
    for member in body.members:
        number = member.client_id.removeprefix(prefix)
        if member.instance_id is None and member.client_id != number and number.isdecimal():
            hosts[member.client_id.removeprefix(SINK_TASK)].append(member.client_host.lstrip("/"))
    for task, found in sorted(hosts.items()):
        if len(found) > 1:
            times, where = "twice" if len(found) == 2 else "more than once", " and ".join(sorted(set(found)))
            places = f" on {where}" if len(set(found)) == 1 else f", on {where}"
            yield finding_of(
                RUNNING_TWICE,
                (Subject("task", task), Subject("group", group)),
                f"task {task} runs {times}{places}: {len(found)} consumers of {group} carry its client id",
                (evidence,),
                next_step=f"See on the page of the Connect group which worker holds task {task}: the run on any other"
                " worker is the wrong one.",
            )
