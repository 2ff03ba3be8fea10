"""Which worlds a sweep of `make chaos` has."""

from collections import Counter

from lab.chaos.__main__ import worlds
from lab.chaos.faults import FAULTS


def test_each_fault_strikes_once_for_each_seed_in_a_world_of_its_kind() -> None:
    made = list(worlds(FAULTS, first_seed=3, kills=2 * len(FAULTS)))
    assert [(seed, some[0].on_spark) for seed, some in made] == [(3, False), (3, True), (4, False), (4, True)]
    for seed in (3, 4):
        struck = Counter(fault.name for at, some in made for fault in some if at == seed)
        assert struck == {fault.name: 1 for fault in FAULTS}
    assert all(len({fault.on_spark for fault in some}) == 1 for _, some in made)


def test_faults_that_are_asked_for_need_no_world_of_another_kind() -> None:
    some = [fault for fault in FAULTS if fault.on_spark]
    assert [world[0].on_spark for _, world in worlds(some, 1, 1)] == [True]
