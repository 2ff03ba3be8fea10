"""The pipes to the process of one plug-in: requests out, replies back, until a deadline.

The process is started without this one's environment and descriptors, in a session of its own, so that it can be killed
together with what it has started, and so that Ctrl-C does not reach it.
"""

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from rebalance_monitor.streaming.core.streams.plug_ins import FailureKind, PlugInFailed
from rebalance_monitor.streaming.plug_ins.wire import HEAD, MOST_REPLY_BYTES, framed

CHILD = "rebalance_monitor.streaming.plug_ins.child"
MOST_OUTPUT = 4_096
"""Bytes that are kept of what a plug-in prints during a call; the last ones."""
_PIECE = 1 << 16
_ENDS_WITHIN_S = 1.0


class PlugInProcess:
    """One process. `output` is what it printed last."""

    def __init__(self, seed: int, memory_mib: int) -> None:
        """Start it with this seed of Python's hashes. Raises OSError."""
        self.process = subprocess.Popen(
            [sys.executable, "-s", "-P", "-m", CHILD, str(memory_mib)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env={"PYTHONHASHSEED": str(seed), "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
            cwd="/",
            close_fds=True,
            start_new_session=True,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.requests, self.replies, self.prints = self.process.stdin, self.process.stdout, self.process.stderr
        for pipe in (self.requests, self.replies, self.prints):
            os.set_blocking(pipe.fileno(), False)
        self.output = b""

    def end(self) -> None:
        """Kill it, with everything that it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        with suppress(OSError):
            self.process.kill()
        self.process.wait()
        for pipe in (self.requests, self.replies, self.prints):
            with suppress(OSError):
                pipe.close()

    def forget(self) -> None:
        """Close the pipes of a process that belongs to the process from which this one was forked."""
        for pipe in (self.requests, self.replies, self.prints):
            with suppress(OSError):
                pipe.close()

    def printed(self, part: bytes) -> None:
        """It printed this."""
        self.output = (self.output + part)[-MOST_OUTPUT:]

    def how_it_ended(self) -> PlugInFailed:
        """Why there is no reply: the process has closed its pipe."""
        try:
            code = self.process.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            return PlugInFailed(FailureKind.EXITED, "it closed the pipe to the monitor")
        if code >= 0:
            return PlugInFailed(FailureKind.EXITED, f"its process ended with exit code {code}")
        return PlugInFailed(FailureKind.EXITED, f"its process was ended by signal {signal.Signals(-code).name}")


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

    def read(self) -> None:
        """Take what has come of the reply."""
        part = _taken(self.channel.replies.fileno())
        if part is None:
            return
        if not part:
            self.result = self.channel.how_it_ended()
            return
        self.came += part
        if len(self.came) >= HEAD.size:
            (size,) = HEAD.unpack_from(self.came)
            if size > MOST_REPLY_BYTES or len(self.came) > HEAD.size + size:
                self.result = PlugInFailed(FailureKind.NONSENSE, "what came as its reply is none")
            elif len(self.came) == HEAD.size + size:
                self.result = bytes(self.came[HEAD.size :])


def _taken(source: int) -> bytes | None:
    """What a pipe holds: nothing at its end, None where nothing has come."""
    try:
        return os.read(source, _PIECE)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def exchange(
    calls: Sequence[tuple[PlugInProcess, bytes]], budget_ms: int, clock_s: Callable[[], float] = time.monotonic
) -> list[bytes | PlugInFailed]:
    """Send each process its request, and wait for all replies at once. What is no reply says why."""
    under_way = [_Call(channel, memoryview(framed(payload))) for channel, payload in calls]
    until_s = clock_s() + budget_ms / 1000
    with selectors.DefaultSelector() as waits:
        for call in under_way:
            call.channel.output = b""
            waits.register(call.channel.requests, selectors.EVENT_WRITE, call)
            waits.register(call.channel.replies, selectors.EVENT_READ, call)
            waits.register(call.channel.prints, selectors.EVENT_READ, call)
        while any(call.result is None for call in under_way):
            left_s = until_s - clock_s()
            if left_s <= 0:
                break
            for key, _ in waits.select(left_s):
                _step(waits, key.fileobj, key.data)
    late = PlugInFailed(FailureKind.TIMED_OUT, f"it did not answer within {budget_ms} ms and was killed")
    for call in under_way:
        _drain(call.channel)
    return [late if call.result is None else call.result for call in under_way]


def _step(waits: selectors.BaseSelector, pipe: object, call: _Call) -> None:
    channel = call.channel
    if pipe is channel.prints:
        part = _taken(channel.prints.fileno())
        if part == b"":
            waits.unregister(channel.prints)
        channel.printed(part or b"")
    elif call.result is not None:
        waits.unregister(channel.replies if pipe is channel.replies else channel.requests)
    elif pipe is channel.requests:
        if not call.write():
            waits.unregister(channel.requests)
    else:
        call.read()


def _drain(channel: PlugInProcess) -> None:
    """What it had printed when its reply came."""
    while part := _taken(channel.prints.fileno()):
        channel.printed(part)
