"""A plug-in that raises, loops, ends its process, eats memory or answers nonsense: a value says so, and the next call
of another plug-in works."""

import os
import pickle
from pathlib import Path

import pytest

from rebalance_monitor.assignors.streams.assignment import AssignmentError
from rebalance_monitor.streaming.core.model.settings import PlugIn
from rebalance_monitor.streaming.core.streams.plug_ins import Assigned, FailureKind, Threw
from rebalance_monitor.streaming.plug_ins import host as host_module
from rebalance_monitor.streaming.plug_ins.host import PlugInHost
from tests.streaming.plug_ins.outside import NOTHING, PATIENT_MS, SHORT_MS, lost, plug_in, state


def sound(host: PlugInHost) -> None:
    assert isinstance(host.assign(plug_in("misbehaving:Sound"), state()), Assigned)


@pytest.mark.parametrize(
    ("name", "exception", "text"),
    [
        ("Raises", "ZeroDivisionError", "by nothing"),
        ("RaisesUntold", "Untold", "its text cannot be told"),
        ("Recurses", "RecursionError", "maximum recursion depth exceeded"),
        ("Leaves", "SystemExit", "3"),
    ],
)
def test_an_exception_is_told(host: PlugInHost, name: str, exception: str, text: str) -> None:
    for _ in range(2):  # the process goes on
        outcome = host.assign(plug_in(f"misbehaving:{name}"), state())
        assert isinstance(outcome, Threw)
        assert (outcome.exception, text in outcome.text) == (exception, True)


@pytest.mark.parametrize(
    ("name", "budget_ms", "kind", "text"),
    [
        ("Loops", SHORT_MS, FailureKind.TIMED_OUT, f"it did not answer within {SHORT_MS} ms and was killed"),
        ("LoopsWhenConfigured", SHORT_MS, FailureKind.TIMED_OUT, f"it did not answer within {SHORT_MS} ms"),
        ("Exits", PATIENT_MS, FailureKind.EXITED, "its process ended with exit code 7"),
        ("Dies", PATIENT_MS, FailureKind.EXITED, "its process was ended by signal SIGABRT"),
        ("EatsMemory", PATIENT_MS, FailureKind.OUT_OF_MEMORY, "it needs more than 256 MiB of memory"),
        ("ReturnsNothing", PATIENT_MS, FailureKind.NONSENSE, "assign returned nothing, not a TaskAssignment"),
        (
            "ReturnsTexts",
            PATIENT_MS,
            FailureKind.NONSENSE,
            "the TaskAssignment holds a str, not a KafkaStreamsAssignment",
        ),
        ("ReturnsUnhashable", PATIENT_MS, FailureKind.NONSENSE, "a process id is a list, not a UUID"),
        (
            "ReturnsOddTasks",
            PATIENT_MS,
            FailureKind.NONSENSE,
            "a TaskId holds other values than two whole numbers and a text",
        ),
        ("WritesEverywhere", PATIENT_MS, FailureKind.NONSENSE, "reply"),
        ("ClosesDescriptors", PATIENT_MS, FailureKind.EXITED, "its process ended with exit code 1"),
        ("WalksASet", PATIENT_MS, FailureKind.NOT_DETERMINISTIC, "gave other answers"),
        ("Gambles", PATIENT_MS, FailureKind.NOT_DETERMINISTIC, "gave other answers"),
        ("WalksASetOfTasks", PATIENT_MS, FailureKind.NOT_DETERMINISTIC, "gave other answers"),
        ("ForkBomb", PATIENT_MS, FailureKind.TOO_MANY_PROCESSES, "it started more than 32 processes"),
        ("StartsMany", PATIENT_MS, FailureKind.TOO_MANY_PROCESSES, "it started more than 32 processes"),
        ("ShellBomb", PATIENT_MS, FailureKind.TOO_MANY_PROCESSES, "it started more than 32 processes"),
        ("EatsMemoryTogether", PATIENT_MS, FailureKind.OUT_OF_MEMORY, "need more than 256 MiB of memory together"),
        ("PrintsForEver", PATIENT_MS, FailureKind.PRINTED_TOO_MUCH, "it prints more than 4 MiB for one generation"),
        ("KillsItsParent", PATIENT_MS, FailureKind.EXITED, "the process that keeps it was ended"),
    ],
)
def test_what_cannot_be_used_is_told(host: PlugInHost, name: str, budget_ms: int, kind: FailureKind, text: str) -> None:
    bad = plug_in(f"misbehaving:{name}", budget_ms=budget_ms)
    many = state(partitions=40)  # two runs that gamble give the same answer once in 2^80 times
    for _ in range(2):
        found, told = lost(host.assign(bad, many))
        assert (found, text in told) == (kind, True), told
    sound(host)


@pytest.mark.parametrize("name", ["Prints", "Forks", "StartsAThread"])
def test_what_does_no_harm_is_no_failure(host: PlugInHost, name: str) -> None:
    for _ in range(3):
        assert isinstance(host.assign(plug_in(f"misbehaving:{name}"), state()), Assigned)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("misbehaving:Nobody", "module misbehaving has no Nobody"),
        ("misbehaving:NotOne", "misbehaving:NotOne is no subclass of TaskAssignor"),
        ("nowhere:Nobody", "no module nowhere is found; name its folder in `path`"),
        ("does_not_import:Any", "it cannot be loaded: RuntimeError: not today"),
        (
            "lacks_a_package:Any",
            "it cannot be loaded: ModuleNotFoundError: No module named 'a_package_that",
        ),
        ("nobody", "no entry point nobody is in the group rebalance_monitor.task_assignors (there: none)"),
        ("rebalance_monitor.assignors.streams.task_assignor:TaskAssignor", "does not define assign"),
    ],
)
def test_what_cannot_be_loaded_is_told(host: PlugInHost, name: str, text: str) -> None:
    kind, told = lost(host.assign(plug_in(name), state()))
    assert (kind, text in told) == (FailureKind.NOT_LOADED, True), told


def test_an_entry_point_of_an_installed_distribution_is_found(host: PlugInHost) -> None:
    assert host.loaded(plug_in("static", "installed")) is None
    assert lost(host.assign(plug_in("other", "installed"), state()))[1].count("(there: static)") == 1


@pytest.mark.parametrize(
    ("name", "budget_ms", "text"),
    [
        ("RaisesAfterwards", 20_000, "in on_assignment_computed it raised KeyError: 'afterwards'"),
        ("LoopsAfterwards", SHORT_MS, "in on_assignment_computed it did not answer within"),
    ],
)
def test_a_callback_that_fails_is_told(host: PlugInHost, name: str, budget_ms: int, text: str) -> None:
    bad = plug_in(f"misbehaving:{name}", budget_ms=budget_ms)
    assert isinstance(host.assign(bad, state()), Assigned)
    failed = host.computed(bad, *NOTHING, AssignmentError.NONE)
    assert failed is not None
    assert failed.text.startswith(text)
    assert isinstance(host.assign(bad, state()), Assigned)


def test_it_sees_no_environment_and_no_descriptor_of_the_job(
    host: PlugInHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_PASSWORD", "secret")
    with (tmp_path / "open").open("w") as held:
        os.set_inheritable(held.fileno(), True)
        outcome = host.assign(plug_in("misbehaving:LooksAround"), state())
    assert isinstance(outcome, Threw)
    names, _, kinds = outcome.text.partition("] [")
    assert set(eval(names + "]")) <= {"LC_CTYPE", "PYTHONHASHSEED", "PYTHONPATH"}
    assert set(eval("[" + kinds)) == {"/dev/null", "pipe"}


def test_a_host_that_is_sent_elsewhere_is_the_one_of_that_process(host: PlugInHost) -> None:
    sound(host)
    sent = pickle.loads(pickle.dumps(host))
    assert sent is host_module.shared_host()
    sound(sent)
    sent.close()


def test_an_equal_plug_in_shares_its_processes(host: PlugInHost) -> None:
    first, other = plug_in("misbehaving:Sound"), plug_in("misbehaving:Sound")
    assert first is not other
    host.assign(first, state())
    host.assign(other, state())
    assert isinstance(first, PlugIn)
    assert len(host._running) == 1
