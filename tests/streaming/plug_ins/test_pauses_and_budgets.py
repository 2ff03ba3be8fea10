"""How long a plug-in may compute for one generation, and when one that fails is left alone."""

import pytest

from rebalance_monitor.assignors.streams.assignment import AssignmentError
from rebalance_monitor.streaming.core.model.settings import PlugIn
from rebalance_monitor.streaming.core.streams.plug_ins import Assigned, AssignOutcome, FailureKind
from rebalance_monitor.streaming.plug_ins.host import PlugInHost
from rebalance_monitor.streaming.plug_ins.twins import (
    BUDGETS_OF_A_GENERATION,
    LONGEST_PAUSE_S,
    PATIENT_FAILURES,
    pause_s,
)
from tests.streaming.plug_ins.outside import NOTHING, PATIENT_MS, SHORT_MS, lost, plug_in, state


def judged(host: PlugInHost, own: PlugIn) -> AssignOutcome:
    """The first answer for another generation."""
    host.begin(own)
    return host.assign(own, state())


def test_after_failures_in_a_row_it_is_left_alone_for_a_while(caplog: pytest.LogCaptureFixture) -> None:
    now_s = 1_000.0
    host = PlugInHost(clock_s=lambda: now_s)
    bad = plug_in("misbehaving:Exits")
    for _ in range(PATIENT_FAILURES):
        assert lost(judged(host, bad))[0] is FailureKind.EXITED
    for _ in range(2):
        kind, text = lost(judged(host, bad))
        assert kind is FailureKind.PAUSED
        assert text == "it is paused for 1 s after 3 failures in a row; the last: its process ended with exit code 7"
    now_s += 1.0
    assert lost(judged(host, bad))[0] is FailureKind.EXITED
    now_s += 1.0
    assert lost(judged(host, bad))[1].startswith("it is paused for 2 s after 4 failures in a row")
    now_s += 1.0
    assert lost(judged(host, bad))[0] is FailureKind.EXITED
    host.close()
    said = [record.__dict__["fields"] for record in caplog.records if record.message == "plug_in_paused"]
    assert [(one["failures_in_a_row"], one["pause_s"]) for one in said] == [(3, 1.0), (4, 2.0), (5, 4.0)]


def test_a_pause_that_is_counted_ends_with_a_generation() -> None:
    """What is read again is judged alike, however fast."""
    told = []
    for _ in range(2):
        host = PlugInHost(counted=True)
        bad = plug_in("misbehaving:Exits")
        told.append([lost(judged(host, bad)) for _ in range(8)])
        host.close()
    assert told[0] == told[1]
    kinds = "".join("P" if kind is FailureKind.PAUSED else "x" for kind, _ in told[0])
    assert kinds == "xxxPxPPx"
    assert "it is paused for 2 generations after 4 failures" in told[0][5][1]


def test_a_callback_that_loses_the_process_counts_beside_an_answer() -> None:
    host = PlugInHost(counted=True)
    bad = plug_in("misbehaving:LoopsAfterwards", budget_ms=SHORT_MS)
    for _ in range(PATIENT_FAILURES):
        assert isinstance(judged(host, bad), Assigned)
        assert host.computed(bad, *NOTHING, AssignmentError.NONE) is not None
    assert lost(judged(host, bad))[0] is FailureKind.PAUSED
    host.close()


def test_the_pause_grows_to_the_longest_and_stays_so_however_often_it_fails() -> None:
    """An application may bring failures for weeks: 1,028 of them once were too many for a power of two."""
    pauses_s = [pause_s(failures) for failures in range(PATIENT_FAILURES, PATIENT_FAILURES + 2_000)]
    assert pauses_s[:10] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]
    assert set(pauses_s[10:]) == {LONGEST_PAUSE_S}


def test_the_calls_for_one_generation_have_a_budget_together() -> None:
    """By a clock on which each call takes nine tenths of its own."""
    now_s = 0.0

    def clock_s() -> float:
        nonlocal now_s
        now_s += 0.9 * PATIENT_MS / 1_000
        return now_s

    host, slow = PlugInHost(clock_s), plug_in("misbehaving:Sound")
    try:
        for _ in range(2):
            host.begin(slow)
            outcomes = [host.assign(slow, state()) for _ in range(BUDGETS_OF_A_GENERATION + 3)]
            answered = [isinstance(one, Assigned) for one in outcomes]
            assert answered == sorted(answered, reverse=True)
            assert answered.count(True) == BUDGETS_OF_A_GENERATION + 2
            assert lost(outcomes[-1]) == (
                FailureKind.TIMED_OUT,
                f"its calls for one generation take longer than {BUDGETS_OF_A_GENERATION * PATIENT_MS} ms together",
            )
    finally:
        host.close()
