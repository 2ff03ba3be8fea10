"""What holds for every answer of the Streams assignors, whatever the application looks like."""

from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from lab.oracle.streams_groups import random_application
from rebalance_monitor.assignors.streams.application import (
    RackStrategy,
    StreamsApplication,
    StreamsConsumer,
    StreamsResult,
)
from rebalance_monitor.assignors.streams.built_in import BuiltIn, recompute
from rebalance_monitor.assignors.streams.eras import release_of
from rebalance_monitor.streaming.calculator.streams_assign import application_of
from tests.profile import size

RELEASES = ("2.6.3", "3.1.2", "3.2.3", "3.4.1", "3.6.2", "4.3.1")
CAUGHT_UP_WITH_ALL = (1 << 63) - 1


@st.composite
def applications(draw: st.DrawFn, releases: tuple[str, ...] = RELEASES) -> StreamsApplication:
    """Reports of tasks that are gone are left out: leaders up to 3.0 fail on them."""
    release = draw(st.sampled_from(releases))
    described = random_application(Random(draw(st.integers(0, 1 << 32))), release_of(release))
    known = {task["id"] for task in described["tasks"]}
    for client in described["clients"]:
        for consumer in client["consumers"]:
            consumer["offsetSums"] = {task: total for task, total in consumer["offsetSums"].items() if task in known}
    return application_of(described, release)


def standbys_wanted(application: StreamsApplication) -> int:
    return min(application.configs.num_standby_replicas, len(application.clients) - 1)


def copies(result: StreamsResult) -> dict[object, list[object]]:
    """Clients per standby task."""
    found: dict[object, list[object]] = {}
    for process_id, share in result.shares.items():
        for task in share.standby:
            found.setdefault(task, []).append(process_id)
    return found


@given(applications(), st.sampled_from(BuiltIn))
def test_every_task_is_active_once_and_nowhere_twice(application: StreamsApplication, assignor: BuiltIn) -> None:
    result = recompute(application, assignor)
    actives = [task for share in result.shares.values() for task in share.active]
    assert sorted(actives) == sorted(task.id for task in application.tasks)
    for share in result.shares.values():
        assert not set(share.active) & set(share.standby)
    assert set(copies(result)) <= {task.id for task in application.tasks if task.stateful}


@given(applications(), st.sampled_from(BuiltIn))
def test_every_stateful_task_has_its_standbys(application: StreamsApplication, assignor: BuiltIn) -> None:
    result, wanted = recompute(application, assignor), standbys_wanted(application)
    found = copies(result)
    extras = 0
    for task in application.tasks:
        if task.stateful:
            extra = len(found.get(task.id, ())) - wanted
            assert extra >= 0
            extras += extra
    assert extras <= (application.configs.max_warmup_replicas if assignor is BuiltIn.HIGH_AVAILABILITY else 0)
    if extras:
        assert result.followup
        assert any(share.warm_ups for share in result.shares.values())


@given(applications(), st.sampled_from(BuiltIn))
def test_threads_get_what_their_client_gets(application: StreamsApplication, assignor: BuiltIn) -> None:
    stateful = {task.id for task in application.tasks if task.stateful}
    for share in recompute(application, assignor).shares.values():
        threads = share.threads.values()
        assert sorted(task for thread in threads for task in thread.active) == sorted(share.active)
        assert sorted(task for thread in threads for task in thread.standby) == sorted(share.standby)
        loads = [sum(task in stateful for task in thread.active) for thread in threads]
        assert max(loads) - min(loads) <= 1
        if application.era.threads_share_load:
            for sizes in (
                [load + len(thread.standby) for load, thread in zip(loads, threads, strict=True)],
                [len(thread.active) + len(thread.standby) for thread in threads],
            ):
                assert max(sizes) - min(sizes) <= 1


@given(applications())
def test_nobody_moves_who_is_caught_up(application: StreamsApplication) -> None:
    """Without an acceptable lag every host is caught up: no warm-ups, no follow-up, even loads."""
    configs = replace(application.configs, acceptable_recovery_lag=CAUGHT_UP_WITH_ALL)
    result = recompute(replace(application, configs=configs), BuiltIn.HIGH_AVAILABILITY)
    assert not result.followup
    assert not any(share.warm_ups for share in result.shares.values())
    threads = {client.process_id: len(client.consumers) for client in application.clients}
    stateful = {task.id for task in application.tasks if task.stateful}
    loads = [
        sum(task in stateful for task in share.active) / threads[process_id]
        for process_id, share in result.shares.items()
    ]
    assert max(loads) - min(loads) <= 1


@settings(max_examples=size(15, 400))
@given(applications(("3.4.1", "4.3.1")))
def test_probing_ends_in_the_ideal_placement(application: StreamsApplication) -> None:
    """If all copies are caught up whenever the next rebalance comes, it ends, where it would end without any lag."""
    configs = replace(application.configs, rack_aware_assignment_strategy=RackStrategy.NONE)
    application = replace(application, configs=configs)
    unbounded = replace(configs, acceptable_recovery_lag=CAUGHT_UP_WITH_ALL)
    ideal = recompute(replace(application, configs=unbounded), BuiltIn.HIGH_AVAILABILITY)
    stateful = sum(task.stateful for task in application.tasks)
    most = -(-stateful * (1 + standbys_wanted(application)) // configs.max_warmup_replicas) + 2
    for _ in range(most + 1):
        result = recompute(application, BuiltIn.HIGH_AVAILABILITY)
        if not result.followup:
            break
        application = caught_up(application, result)
    assert not result.followup
    assert {one: (share.active, share.standby) for one, share in result.shares.items()} == {
        one: (share.active, share.standby) for one, share in ideal.shares.items()
    }


def caught_up(application: StreamsApplication, result: StreamsResult) -> StreamsApplication:
    """Everybody has restored what it was given."""
    tasks = {task.id: task for task in application.tasks}

    def consumer(given_: StreamsConsumer, process_id: object) -> StreamsConsumer:
        share = result.shares[process_id].threads[given_.id]  # type: ignore[index]
        sums = {task: tasks[task].end_offset_sum for task in share.standby}
        sums.update({task: -2 for task in share.active if tasks[task].stateful})
        owned = tuple(part for task in share.active for part in tasks[task].sources)
        return replace(given_, owned=owned, offset_sums=sums)

    clients = tuple(
        replace(client, consumers=tuple(consumer(one, client.process_id) for one in client.consumers))
        for client in application.clients
    )
    return replace(application, clients=clients)


@given(applications(("3.6.2", "4.3.1")))
def test_racks_keep_every_clients_number_of_tasks(application: StreamsApplication) -> None:
    """Exchanges only: without standbys and lags the numbers are those of a placement that knows no racks."""
    configs = replace(application.configs, num_standby_replicas=0, acceptable_recovery_lag=CAUGHT_UP_WITH_ALL)
    aware = recompute(replace(application, configs=configs), BuiltIn.HIGH_AVAILABILITY)
    blind = replace(configs, rack_aware_assignment_strategy=RackStrategy.NONE)
    unaware = recompute(replace(application, configs=blind), BuiltIn.HIGH_AVAILABILITY)
    assert {one: len(share.active) for one, share in aware.shares.items()} == {
        one: len(share.active) for one, share in unaware.shares.items()
    }
