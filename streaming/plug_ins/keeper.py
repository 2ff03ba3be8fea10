"""The process beside a plug-in's: `python -m rebalance_monitor.streaming.plug_ins.keeper MEMORY_MIB JOB TOLD`.

    job ──▶ keeper ──▶ plug-in's process ──▶ what that starts, in whatever session
              │ counts and ends all of them
              └ ends, with all of them, when the job (a process id) ends or sends SIGTERM

It makes the plug-in's process by a fork, and that one is ended by the kernel if the keeper is. Why everything was ended
is one line in the pipe TOLD.
"""

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from itertools import islice

from .child import MIB, answer_requests
from .descent import adopt, descendants, end_descendants, end_with_parent, hold_more, put_first, put_last
from .wire import BEGINS, IS_OVER, MOST_PROCESSES, HowEnded

LOOK_EVERY_S = 0.05
LOOK_OFTEN_S = 0.002
"""During a call, and while the plug-in's process is not alone."""
MEASURE_EVERY_S = 0.1
_SHARE = 9
"""So many times longer than it takes to measure are the times between two measurements."""
_SIGNALS = frozenset({signal.SIGCHLD, signal.SIGTERM, BEGINS, IS_OVER})


def main(memory_mib: int, job: int, told: int) -> None:
    """Start the plug-in's process, and end with it, with the job, or when a limit is exceeded."""
    adopt()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    keeper, plug_in = os.getpid(), os.fork()
    if plug_in == 0:
        end_with_parent(keeper)
        os.setsid()
        os.close(told)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        answer_requests(memory_mib)
        return
    put_first()
    nothing = os.open(os.devnull, os.O_RDWR)
    for pipe in (0, 1, 2):
        os.dup2(nothing, pipe)
    try:
        end = _watch(plug_in, memory_mib * MIB, job)
        with suppress(BrokenPipeError):  # the job has ended
            os.write(told, end.encode())
    finally:
        end_descendants()


def _watch(plug_in: int, most_bytes: int, job: int) -> str:
    """Why all is over, as `HowEnded` has it."""
    wait_s, called, measure = LOOK_OFTEN_S, True, _Measure(most_bytes)
    measure.start()
    while os.getppid() == job:
        came = signal.sigtimedwait(_SIGNALS, wait_s)
        number = None if came is None else came.si_signo
        if number == signal.SIGTERM:
            break
        called = number == BEGINS or (called and number != IS_OVER)
        status = _reap(plug_in)
        if status is not None:
            return f"{HowEnded.EXIT} {os.waitstatus_to_exitcode(status)}"
        started = list(islice((one for one in descendants() if one != plug_in), MOST_PROCESSES + 1))
        if len(started) > MOST_PROCESSES:
            return HowEnded.PROCESSES
        for process in started:
            put_last(process)
        measure.processes = [plug_in, *started]
        if measure.exceeded:
            return HowEnded.MEMORY
        wait_s = LOOK_OFTEN_S if started or called else LOOK_EVERY_S
    return HowEnded.WANTED


class _Measure(threading.Thread):
    """Measures now and then what all hold in memory together, beside the counting: it has to wait for processes that
    fork."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__(daemon=True)
        self.processes: list[int] = []
        self.exceeded = False
        self._most_bytes = most_bytes

    def run(self) -> None:
        """Measure until they exceed the limit. One process alone is bound by its address space."""
        while not self.exceeded:
            began_s = time.monotonic()
            self.exceeded = len(self.processes) > 1 and hold_more(self.processes, self._most_bytes)
            time.sleep(max(MEASURE_EVERY_S, _SHARE * (time.monotonic() - began_s)))


def _reap(plug_in: int) -> int | None:
    """Take the exit codes of descendants that this process has adopted; that of the plug-in's process, if it ended."""
    while True:
        process, status = os.waitpid(-1, os.WNOHANG)
        if process in (0, plug_in):
            return status if process else None


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
