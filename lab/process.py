"""Processes of the lab: start, wait until ready, stop; nothing is left behind.

Each program runs in a session of its own, so that everything it starts (a JVM, Python workers) is found again by
session number and ended with it. A guardian process holds the list as well: when this process dies without
cleaning up, even by SIGKILL, the guardian ends what is left.
"""

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Self

from lab.errors import LabError, Stopped
from lab.paths import ROOT
from lab.sessions import end_session

POLL_S = 0.1
# A busy machine may need minutes for what an idle one does in seconds.
PATIENCE_S = 240.0


@dataclass(slots=True)
class Child:
    """A running program: its process, the file that holds its output, and how it is asked to leave."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    grace_s: float = 10.0
    last: bool = False
    asked: bool = False

    @property
    def pid(self) -> int:
        return self.process.pid

    def running(self) -> bool:
        return self.process.poll() is None

    def tail(self, lines: int = 12) -> str:
        """The last lines of its output, for error messages."""
        with suppress(OSError):
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])
        return ""

    def kill(self) -> None:
        """SIGKILL to the program alone, as a crash would."""
        self.process.kill()
        self.process.wait()

    def terminate(self) -> None:
        """SIGTERM, without waiting; once only, as many programs take a second one for impatience."""
        if self.running() and not self.asked:
            self.asked = True
            self.process.terminate()

    def stop(self) -> None:
        """SIGTERM, then after the grace SIGKILL; then whatever else is left in its session."""
        self.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(self.grace_s)
        end_session(self.pid)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(self.grace_s)


class Progress:
    """One line per step with its seconds, so that the user never wonders whether it hangs."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self.began = time.monotonic()

    def say(self, text: str) -> None:
        if not self._quiet:
            print(f"[{time.monotonic() - self.began:6.1f} s] {text}", flush=True)

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Announce a step, and say how long it took."""
        self.say(f"{what} …")
        began = time.monotonic()
        yield
        self.say(f"{what}: ready after {time.monotonic() - began:.1f} s")


class Lab:
    """Owns every process and clean-up action; leaves none behind unless told to `keep`."""

    def __init__(self, folder: Path, progress: Progress | None = None) -> None:
        self.folder = folder
        self.progress = progress or Progress(quiet=True)
        self.children: list[Child] = []
        self._cleanups: list[Callable[[], None]] = []
        self._guardian: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        with disk_errors():
            (self.folder / "logs").mkdir(parents=True, exist_ok=True)
        self._guardian = subprocess.Popen(
            [sys.executable, "-m", "lab.guardian"], cwd=ROOT, stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _tell_guardian(self, line: str) -> None:
        if self._guardian is not None and self._guardian.stdin is not None:
            with suppress(BrokenPipeError):
                self._guardian.stdin.write(f"{line}\n".encode())
                self._guardian.stdin.flush()

    def start(
        self,
        name: str,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        last: bool = False,
    ) -> Child:
        """Start a program; its output goes to `logs/<name>.log`. `last`: stopped after all others have left."""
        log = self.folder / "logs" / f"{name}.log"
        with disk_errors(), log.open("ab") as output:
            process = subprocess.Popen(
                list(command), cwd=cwd or self.folder, env=dict(environment) if environment is not None else None,
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        self._tell_guardian(f"session {process.pid}")
        child = Child(name, process, log, last=last)
        self.children.append(child)
        return child

    def on_stop(self, action: Callable[[], None], guardian_line: str | None = None) -> None:
        """An action for the end, after the processes have left."""
        if guardian_line:
            self._tell_guardian(guardian_line)
        self._cleanups.append(action)

    def wait_for(
        self, what: str, condition: Callable[[], bool], child: Child | None = None, timeout_s: float = PATIENCE_S
    ) -> None:
        """Return once the condition holds; LabError when time is over or the program ended."""
        deadline = time.monotonic() + timeout_s
        while not condition():
            if child is not None and not child.running():
                raise LabError(f"{what}: {child.name} ended with code {child.process.returncode}; {self._why(child)}")
            if time.monotonic() > deadline:
                hint = f"; {self._why(child)}" if child else ""
                raise LabError(f"{what}: not within {timeout_s:.0f} s{hint}")
            time.sleep(POLL_S)

    @staticmethod
    def _why(child: Child) -> str:
        tail = child.tail()
        if "No space left on device" in tail:
            return f"the disk is full ({child.log.parent})"
        if "Address already in use" in tail:
            return f"one of its ports is taken (see {child.log})"
        return f"the end of {child.log}:\n{tail}"

    def stop(self) -> None:
        """Stop everything, the broker last. Signals that arrive meanwhile are ignored: clean-up runs to its end."""
        with _signals_ignored():
            first, last = [c for c in self.children if not c.last], [c for c in self.children if c.last]
            for wave in (first, last):
                for child in wave:
                    child.terminate()
                for child in wave:
                    child.stop()
            for action in reversed(self._cleanups):
                with suppress(Exception):
                    action()
            self._cleanups.clear()
            self.children.clear()
            self._release_guardian()

    def keep(self) -> None:
        """Leave everything running: the guardian is dismissed, nothing is stopped at the end."""
        self._cleanups.clear()
        self.children.clear()
        self._release_guardian()

    def _release_guardian(self) -> None:
        self._tell_guardian("dismissed")
        if self._guardian is not None and self._guardian.stdin is not None:
            with suppress(BrokenPipeError):
                self._guardian.stdin.close()
            self._guardian.wait()
        self._guardian = None


@contextmanager
def disk_errors() -> Iterator[None]:
    """Turn "no space left" and "read-only" into one sentence."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES):
            raise LabError(
                f"cannot write {error.filename or ''}: {error.strerror}; free some space or choose another folder"
            ) from None
        raise


@contextmanager
def signals_stop() -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP end the block through Stopped, so that `with Lab` cleans up."""

    def handler(number: int, _: FrameType | None) -> None:
        raise Stopped(number)

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, handler) for number in numbers]
    try:
        yield
    finally:
        for number, old in zip(numbers, before, strict=True):
            signal.signal(number, old)


@contextmanager
def _signals_ignored() -> Iterator[None]:
    try:
        before = [
            (number, signal.signal(number, signal.SIG_IGN)) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        ]
    except ValueError:  # not in the main thread: signals do not arrive here anyway
        before = []
    try:
        yield
    finally:
        for number, old in before:
            signal.signal(number, old)


def require_space(folder: Path, megabytes: int) -> None:
    """Raise one sentence when the file system that holds the folder has less space left."""
    status = os.statvfs(folder)
    left = status.f_bavail * status.f_frsize // 1_000_000
    if left < megabytes:
        raise LabError(f"only {left} MB are free under {folder}, {megabytes} MB are needed; free some space")
