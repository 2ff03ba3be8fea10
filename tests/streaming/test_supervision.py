"""A part that raises, whatever it raises: it is stated, it goes on, and its end is its own."""

import logging
import threading

import pytest

from rebalance_monitor.streaming.supervision import PartFailed, Supervised, look_after_all, sentence
from tests.waiting import PATIENCE_S, until


class Told:
    def __init__(self) -> None:
        self.said: list[str | None] = []
        self.well = threading.Event()

    def part(self, name: str, problem: str | None) -> None:
        self.said.append(problem)
        if problem is None:
            self.well.set()


class Odd(BaseException):
    """Not even an `Exception`."""


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (ValueError("postgresql://user:secret@db/x"), "ValueError at test_supervision.py"),
        (OSError(24, "Too many open files"), "OSError, Too many open files"),
        (PartFailed("the page ended"), "the page ended"),
        (MemoryError(), "MemoryError at"),
        (Odd(), "Odd at"),
    ],
)
def test_whatever_a_step_raises_is_stated_and_the_next_one_follows(
    wrong: BaseException, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    told, left = Told(), [wrong, wrong]

    def step() -> float:
        if left:
            raise left.pop()
        return 60.0

    with caplog.at_level(logging.WARNING, "rebalance_monitor.parts"):
        part = Supervised("part", step, told, first_pause_s=0.001)
        part.fields["cluster"] = "c"
        part.start()
        assert told.well.wait(PATIENCE_S)
        part.stop()
    assert [record.__dict__["fields"]["cluster"] for record in caplog.records] == ["c", "c"]
    assert len(told.said) == 3
    assert all(one is not None and one.startswith(said) for one in told.said[:2])
    assert [record.getMessage() for record in caplog.records] == ["part_failed", "part_goes_on"], "said once"
    assert "secret" not in sentence(wrong)


def test_pauses_grow_while_it_fails_and_a_long_step_can_say_that_it_works() -> None:
    pauses: list[float] = []
    seen = threading.Event()

    def step() -> float:
        pauses.append(part.pause_s)
        if len(pauses) == 4:
            part.well()
            pauses.append(part.pause_s)
            seen.set()
            return 60.0
        raise ValueError

    part = Supervised("part", step, None, first_pause_s=0.001)
    part.start()
    assert seen.wait(PATIENCE_S)
    part.stop()
    assert pauses == [0.001, 0.002, 0.004, 0.008, 0.001]


def test_a_step_that_says_none_is_the_last_one_and_what_it_held_is_released() -> None:
    ended = threading.Event()
    Supervised("part", lambda: None, None, at_end=ended.set).start()
    assert ended.wait(PATIENCE_S)


def test_who_is_told_may_fail_too() -> None:
    seen = threading.Event()

    class Broken:
        def part(self, name: str, problem: str | None) -> None:
            raise RuntimeError

    turns: list[int] = []

    def step() -> float:
        turns.append(1)
        if len(turns) > 3:
            seen.set()
        return 0.0

    part = Supervised("part", step, Broken())
    part.start()
    assert seen.wait(PATIENCE_S)
    part.stop()


class WaitsWrong(threading.Event):
    """An event whose first waiting raises."""

    def __init__(self, wrong: BaseException) -> None:
        super().__init__()
        self._wrong: BaseException | None = wrong

    def wait(self, timeout: float | None = None) -> bool:
        if self._wrong is not None:
            wrong, self._wrong = self._wrong, None
            raise wrong
        return super().wait(timeout)


@pytest.mark.parametrize("wrong", [MemoryError(), Odd(), ValueError("no number")])
def test_a_pause_that_raises_is_stated_and_the_next_step_follows(wrong: BaseException) -> None:
    told, steps = Told(), []
    part = Supervised("part", lambda: steps.append(1) or 0.001, told, stop=WaitsWrong(wrong))  # type: ignore[func-returns-value]
    part.start()
    until(lambda: len(steps) > 2)
    part.stop()
    assert [one for one in told.said if one is not None] == [sentence(wrong)]


def test_a_thread_that_is_gone_is_started_anew_and_one_that_was_stopped_is_not() -> None:
    told, steps = Told(), []
    part = Supervised("part", lambda: steps.append(1) or 60.0, told)  # type: ignore[func-returns-value]
    part.start()
    until(lambda: steps == [1])
    part._thread = threading.Thread(target=lambda: None)  # as if it had ended
    part._thread.start()
    part._thread.join()
    look_after_all()
    until(lambda: steps == [1, 1])
    assert "its thread had ended" in told.said
    until(lambda: told.said[-1] is None)
    part.stop()
    look_after_all()
    assert steps == [1, 1]
    last = Supervised("last", lambda: None, told)
    last.start()
    until(lambda: last._ended)
    look_after_all()
    assert not last._thread.is_alive()
