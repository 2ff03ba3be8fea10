"""The pipes to the process of one plug-in: requests out, replies back, until a deadline.

Its keeper (`keeper.py`) is started without this process's environment and descriptors, in a session of its own, so that
Ctrl-C does not reach it. The keeper ends everything that descends from the plug-in.
"""

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from rebalance_monitor.streaming.core.streams.plug_ins import FailureKind, PlugInFailed
from .wire import HEAD, MOST_PROCESSES, MOST_REPLY_BYTES, HowEnded, framed

KEEPER = "rebalance_monitor.streaming.plug_ins.keeper"
MOST_OUTPUT = 4_096
"""Bytes that are kept of what a plug-in prints during a call; the last ones."""
_PIECE = 1 << 16
MOST_PRINTED = 4 * 1024 * 1024
"""Bytes that a plug-in may print for one generation."""
TOO_MANY_PROCESSES = PlugInFailed(
    FailureKind.TOO_MANY_PROCESSES, f"it started more than {MOST_PROCESSES} processes; all of them were ended"
)
_SAYS_WHY_WITHIN_S = 1.0
_ENDS_WITHIN_S = 30.0


class PlugInProcess:
    """One process. `output` is what it printed last, `printed_bytes` how much since somebody set it to 0."""

    def __init__(self, seed: int, memory_mib: int) -> None:
        """Start it with this seed of Python's hashes. Raises OSError."""
        if sys.platform != "linux":
            raise OSError("plug-ins run on Linux alone")
        self.memory_mib = memory_mib
        why, told = os.pipe()
        self.why = os.fdopen(why, "rb", buffering=0)
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-s", "-P", "-m", KEEPER, str(memory_mib), str(os.getpid()), str(told)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env={"PYTHONHASHSEED": str(seed), "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
                cwd="/",
                close_fds=True,
                pass_fds=(told,),
                start_new_session=True,
            )
        except OSError:
            self.why.close()
            raise
        finally:
            os.close(told)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.requests, self.replies, self.prints = self.process.stdin, self.process.stdout, self.process.stderr
        for pipe in (self.requests, self.replies, self.prints):
            os.set_blocking(pipe.fileno(), False)
        self.output = b""
        self.printed_bytes = 0

    def end(self) -> None:
        """End it, with everything that descends from it."""
        self.process.terminate()
        try:
            self.process.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.forget()

    def forget(self) -> None:
        """Close the pipes: the process has ended, or belongs to the process from which this one was forked."""
        for pipe in (self.requests, self.replies, self.prints, self.why):
            with suppress(OSError):
                pipe.close()

    def how_it_ended(self) -> PlugInFailed:
        """Why there is no reply: the process has closed its pipe."""
        with selectors.DefaultSelector() as waits:
            waits.register(self.why, selectors.EVENT_READ)
            if not waits.select(_SAYS_WHY_WITHIN_S):
                return PlugInFailed(FailureKind.EXITED, "it closed the pipe to the monitor")
        match self.why.read(_PIECE).decode().split():
            case [HowEnded.EXIT, code] if int(code) >= 0:
                return PlugInFailed(FailureKind.EXITED, f"its process ended with exit code {code}")
            case [HowEnded.EXIT, code]:
                name = signal.Signals(-int(code)).name
                return PlugInFailed(FailureKind.EXITED, f"its process was ended by signal {name}")
            case [HowEnded.PROCESSES]:
                return TOO_MANY_PROCESSES
            case [HowEnded.MEMORY]:
                text = f"it and the processes that it started need more than {self.memory_mib} MiB of memory together"
                return PlugInFailed(FailureKind.OUT_OF_MEMORY, text)
            case _:
                return PlugInFailed(FailureKind.EXITED, "the process that keeps it was ended")


@dataclass
class _Call:
    """One request on its way."""

    channel: PlugInProcess
    left: memoryview
    came: bytearray = field(default_factory=bytearray)
    result: bytes | PlugInFailed | None = None

    def write(self) -> bool:
        """Send what the pipe takes; whether something is left."""
        try:
            self.left = self.left[os.write(self.channel.requests.fileno(), self.left[:_PIECE]) :]
        except BlockingIOError:
            return True
        except OSError:
            self.result = self.channel.how_it_ended()
            return False
        return bool(self.left)

    def printed(self, part: bytes) -> None:
        channel = self.channel
        channel.output = (channel.output + part)[-MOST_OUTPUT:]
        channel.printed_bytes += len(part)
        if channel.printed_bytes > MOST_PRINTED:
            text = f"it prints more than {MOST_PRINTED // 1024 // 1024} MiB for one generation"
            self.result = PlugInFailed(FailureKind.PRINTED_TOO_MUCH, text)

    def ended(self) -> None:
        """The keeper has said why all is over: a whole reply may have come before."""
        while self.result is None and self.read():
            pass
        if self.result is None:
            self.result = self.channel.how_it_ended()

    def read(self) -> bool:
        """Take what has come of the reply; whether it was anything."""
        part = _taken(self.channel.replies.fileno())
        if part is None:
            return False
        if not part:
            self.result = self.channel.how_it_ended()
            return True
        self.came += part
        if len(self.came) >= HEAD.size:
            (size,) = HEAD.unpack_from(self.came)
            if size > MOST_REPLY_BYTES or len(self.came) > HEAD.size + size:
                self.result = PlugInFailed(FailureKind.NONSENSE, "what came as its reply is none")
            elif len(self.came) == HEAD.size + size:
                self.result = bytes(self.came[HEAD.size :])
        return True


def _taken(source: int) -> bytes | None:
    """What a pipe holds: nothing at its end, None where nothing has come."""
    try:
        return os.read(source, _PIECE)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def exchange(
    calls: Sequence[tuple[PlugInProcess, bytes]], budget_s: float, late: PlugInFailed
) -> list[bytes | PlugInFailed]:
    """Send each process its request, and wait for all replies at once. What is no reply says why; `late` if it does not
    come in time."""
    under_way = [_Call(channel, memoryview(framed(payload))) for channel, payload in calls]
    until_s = time.monotonic() + budget_s
    with selectors.DefaultSelector() as waits:
        for call in under_way:
            call.channel.output = b""
            waits.register(call.channel.requests, selectors.EVENT_WRITE, call)
            waits.register(call.channel.replies, selectors.EVENT_READ, call)
            waits.register(call.channel.prints, selectors.EVENT_READ, call)
            waits.register(call.channel.why, selectors.EVENT_READ, call)
        while any(call.result is None for call in under_way):
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                break
            for key, _ in waits.select(left_s):
                _step(waits, key.fd, key.data)
    for call in under_way:
        _drain(call)
    return [late if call.result is None else call.result for call in under_way]


def _step(waits: selectors.BaseSelector, pipe: int, call: _Call) -> None:
    channel = call.channel
    if pipe == channel.prints.fileno():
        part = _taken(pipe)
        if part == b"":
            waits.unregister(pipe)
        call.printed(part or b"")
    elif call.result is not None:
        waits.unregister(pipe)
    elif pipe == channel.requests.fileno():
        if not call.write():
            waits.unregister(pipe)
    elif pipe == channel.replies.fileno():
        call.read()
    else:
        call.ended()


def _drain(call: _Call) -> None:
    """What it had printed when its reply came."""
    while call.channel.printed_bytes <= MOST_PRINTED and (part := _taken(call.channel.prints.fileno())):
        call.printed(part)
