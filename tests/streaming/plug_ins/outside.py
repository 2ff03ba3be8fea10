"""Plug-ins that lie outside the package, and an application to try them on."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from uuid import UUID

from rebalance_monitor.assignors.streams.application import (
    AssignmentConfigs,
    StreamsApplication,
    StreamsClient,
    StreamsConsumer,
    StreamsTask,
)
from rebalance_monitor.assignors.streams.application_state import ApplicationState
from rebalance_monitor.assignors.streams.plug_in import state_of_application
from rebalance_monitor.assignors.streams.task_assignor import GroupAssignment, GroupSubscription
from rebalance_monitor.assignors.streams.tasks import HashOrders, TaskId
from rebalance_monitor.streaming.core.model.settings import PlugIn, Scalar
from rebalance_monitor.streaming.core.streams.plug_ins import AssignOutcome, FailureKind, PlugInFailed

OUTSIDE = Path(__file__).parents[2] / "plug_ins_outside"
PATIENT_MS = 20_000
"""A budget that no sound call needs."""
SHORT_MS = 400
"""One for plug-ins that never answer."""
MEMORY_MIB = 256
NOTHING = GroupAssignment({}), GroupSubscription({})


def lost(outcome: AssignOutcome) -> tuple[FailureKind, str]:
    """Why the plug-in gave no answer that can be used."""
    assert isinstance(outcome, PlugInFailed), outcome
    return outcome.kind, outcome.text


def plug_in(
    name: str, folder: str = "misbehaving", budget_ms: int = PATIENT_MS, configs: Mapping[str, Scalar] | None = None
) -> PlugIn:
    return PlugIn(
        name=name,
        path=(str(OUTSIDE / folder),),
        budget_ms=budget_ms,
        memory_mib=MEMORY_MIB,
        configs=tuple(sorted((configs or {}).items())),
    )


@cache
def state(partitions: int = 2) -> ApplicationState:
    """Two processes, two sub-topologies of so many tasks each, of which sub-topology 1 has state."""
    tasks = tuple(
        StreamsTask(
            id=TaskId(number, partition),
            sources=((f"t{number}", partition),),
            changelogs=((f"changelog-{number}", partition),) if number else (),
            stateful=bool(number),
            end_offset_sum=100 * number,
        )
        for number in (0, 1)
        for partition in range(partitions)
    )
    clients = tuple(
        StreamsClient(
            process_id=UUID(int=number + 1),
            consumers=(
                StreamsConsumer(
                    id=f"c{number}",
                    owned=((f"t{0}", number), ("t1", number)),
                    offset_sums={TaskId(1, number): -2, TaskId(1, 1 - number): 40},
                ),
            ),
        )
        for number in (0, 1)
    )
    application = StreamsApplication(
        release=(4, 3), tasks=tasks, clients=clients, configs=AssignmentConfigs(num_standby_replicas=1)
    )
    return state_of_application(application, HashOrders((4, 3)))
