"""When a simulated leader's fault is over."""

import pytest

from lab.simulated_group.faults import ENDLESS, ArmedFaults, LeaderFault
from lab.simulated_group.leader import JAVA_VERSION, Knowledge, Leader
from lab.simulated_group.protocol import Process, offers
from rebalance_monitor.assignors.connect.model import ConfigSnapshot
from rebalance_monitor.schemas.connect_protocol import decode_assignment
from rebalance_monitor.schemas.outcomes import Decoded

CONFIG = ConfigSnapshot(7, {"alpha": 4})


def answer(leader: Leader, generation: int) -> bool:
    """Two new workers in a round of this generation; whether one job was handed out twice."""
    members = [
        (name, offers(Process(), f"http://{name}:8083/", CONFIG.offset, None, JAVA_VERSION)[0][1]) for name in "ab"
    ]
    shares = leader.assign("a", "sessioned", generation, Knowledge(CONFIG, CONFIG, generation - 1), members)
    given: list[object] = []
    for blob in shares.values():
        outcome = decode_assignment(blob)
        assert isinstance(outcome, Decoded)
        given += [*outcome.value.connectors, *outcome.value.tasks]
    return len(given) > len(set(given))


def test_a_fault_in_an_answer_that_nobody_received_happens_in_the_next_round() -> None:
    faults = ArmedFaults()
    leader = Leader(0, faults)
    faults.arm(LeaderFault.DUPLICATE)
    assert [answer(leader, generation) for generation in (1, 2)] == [True, True]
    faults.completed(1)
    assert faults.faults == [LeaderFault.DUPLICATE]
    faults.completed(2)
    assert faults.faults == []
    assert not answer(leader, 3)


def test_another_leader_goes_wrong_when_the_first_was_not_heard() -> None:
    faults = ArmedFaults()
    faults.arm(LeaderFault.DUPLICATE)
    assert answer(Leader(0, faults), 1)
    assert answer(Leader(0, faults), 2)
    faults.completed(2)
    assert not answer(Leader(0, faults), 3)


@pytest.mark.parametrize("fault", tuple(ENDLESS))
def test_an_endless_fault_ends_only_when_it_is_called_off(fault: LeaderFault) -> None:
    faults = ArmedFaults()
    faults.arm(fault)
    faults.answered(fault, 1)
    faults.completed(1)
    assert faults.faults == [fault]
    faults.clear()
    assert faults.faults == []
