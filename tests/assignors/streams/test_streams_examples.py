"""KIP-441's examples as Kafka really plays them, and the eras' first releases."""

from uuid import UUID

import pytest

from rebalance_monitor.assignors.streams.application import (
    RUNNING,
    AssignmentConfigs,
    StreamsApplication,
    StreamsClient,
    StreamsConsumer,
    StreamsResult,
    StreamsTask,
)
from rebalance_monitor.assignors.streams.built_in import BuiltIn, recompute
from rebalance_monitor.assignors.streams.eras import ERAS, era_of, release_of
from rebalance_monitor.assignors.streams.tasks import TaskId

END = 150_000
I1, I2, I3 = (UUID(int=number) for number in (1, 2, 3))


def answer(
    tasks: int, held: dict[UUID, dict[int, int]], *, standbys: int = 1, warm_ups: int = 2, release: str = "4.3.1"
) -> StreamsResult:
    """Tasks T1, T2, ... of one thread each; `held` gives the lags of what each client has, RUNNING for its actives."""
    return recompute(
        StreamsApplication(
            release=release_of(release),
            tasks=tuple(
                StreamsTask(id=TaskId(0, number), sources=(("in", number),), stateful=True, end_offset_sum=END)
                for number in range(1, tasks + 1)
            ),
            clients=tuple(
                StreamsClient(
                    process_id=process_id,
                    consumers=(
                        StreamsConsumer(
                            id=str(process_id),
                            offset_sums={
                                TaskId(0, number): RUNNING if lag == RUNNING else END - lag
                                for number, lag in lags.items()
                            },
                        ),
                    ),
                )
                for process_id, lags in held.items()
            ),
            configs=AssignmentConfigs(num_standby_replicas=standbys, max_warmup_replicas=warm_ups),
        ),
        BuiltIn.HIGH_AVAILABILITY,
    )


def shown(result: StreamsResult) -> list[str]:
    """One text per client: actives / standbys."""
    return [
        " / ".join(" ".join(f"T{task.partition}" for task in tasks) or "-" for tasks in (share.active, share.standby))
        for share in result.shares.values()
    ]


def test_scaling_out() -> None:
    held = {I1: {1: RUNNING, 2: 0, 3: RUNNING}, I2: {1: 0, 2: RUNNING, 3: 0}, I3: {}}
    joined = answer(3, held)
    assert shown(joined) == ["T1 T3 / T2", "T2 / T1 T3", "- / T2 T3"]
    assert joined.followup
    assert joined.shares[I3].warm_ups == (TaskId(0, 2), TaskId(0, 3))
    assert shown(answer(3, held, warm_ups=1))[2] == "- / T2"
    caught_up = answer(3, {**held, I3: {2: 0, 3: 0}})
    assert shown(caught_up) == ["T1 / T3", "T2 / T1", "T3 / T2"]
    assert not caught_up.followup


def test_scaling_in_with_standbys_in_sync() -> None:
    stopped = answer(4, {I2: {1: 0, 2: RUNNING, 4: 0}, I3: {2: 0, 3: RUNNING}})
    assert shown(stopped) == ["T1 T4 / T2 T3", "T2 T3 / T1 T4"]
    assert stopped.followup


@pytest.mark.parametrize(
    ("release", "wanted"),
    [("4.3.1", ["T1 T2 T4 / T3", "T3 / T1 T2 T4"]), ("3.1.2", ["T1 T2 / T3 T4", "T3 T4 / T1 T2"])],
)
def test_scaling_in_with_standbys_that_lag(release: str, wanted: list[str]) -> None:
    """Up to 3.1 a task of which nobody is caught up stays on its ideal host, even if another has more of it."""
    result = answer(4, {I2: {1: 50_000, 2: RUNNING, 4: 50_000}, I3: {2: 50_000, 3: RUNNING}}, release=release)
    assert shown(result) == wanted
    assert result.followup


@pytest.mark.parametrize(("warm_ups", "wanted"), [(2, "- / T2 T4"), (1, "- / T2")])
def test_warm_ups_only(warm_ups: int, wanted: str) -> None:
    held = {I1: dict.fromkeys(range(1, 5), RUNNING), I2: {}}
    assert shown(answer(4, held, standbys=0, warm_ups=warm_ups)) == ["T1 T2 T3 T4 / -", wanted]


@pytest.mark.parametrize(
    ("release", "name"),
    [
        ("2.5.1", "S, up to 2.5"),
        ("2.6.3", "A, 2.6"),
        ("2.7.0", "A, 2.7 to 3.0"),
        ("3.1.0", "A, 3.1"),
        ("3.5.1", "C, 3.3 to 3.5.1"),
        ("3.5.2", "D, 3.5.2"),
        ("3.6.0", "E, 3.6"),
        ("5.0.0", "F, since 3.8"),
    ],
)
def test_eras(release: str, name: str) -> None:
    assert era_of(release_of(release)).name == name
    assert sorted(ERAS, key=lambda era: era.since) == list(ERAS)
