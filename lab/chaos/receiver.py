"""The program that is notified: a process of its own, so that it can be killed and stand still."""

import signal
import sys
from collections import Counter

from lab.paths import ROOT
from lab.ports import HOST, accepts, free_ports
from lab.process import Child, Lab


class ReceiverProcess:
    """At the same address whenever it runs. Keys that arrived stay in its file."""

    def __init__(self, lab: Lab) -> None:
        self._lab, self._file = lab, lab.folder / "arrived"
        (self._port,) = free_ports(1)
        self.url = f"http://{HOST}:{self._port}"
        self._child: Child

    def start(self) -> None:
        command = [sys.executable, "-m", "lab.receivers.hook_receiver", str(self._port), str(self._file)]
        self._child = self._lab.start("hook", command, cwd=ROOT)
        self._lab.wait_for("the receiver", lambda: accepts(self._port), self._child)

    def kill(self) -> None:
        self._child.kill()

    def hold(self) -> None:
        """It takes connections and answers nobody."""
        self._child.process.send_signal(signal.SIGSTOP)

    def release(self) -> None:
        self._child.process.send_signal(signal.SIGCONT)

    def arrived(self) -> Counter[str]:
        """How often each key arrived."""
        return Counter(self._file.read_text(encoding="utf-8").split())
