"""The audit beside the job: started now and then at the lowest priority, its result told to the exporter and the log.

Whatever becomes of it, the job goes on: it shares nothing with the job but the database, in which it only reads.
"""

import importlib.util
import json
import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from rebalance_monitor.streaming.supervision import Answerable, PartFailed, Supervised, sentence

# While the job starts and catches up, the machine is the job's; and a short run is left in peace.
FIRST_AFTER_MS = 300_000
LOOK_AGAIN_MS = 10_000
log = logging.getLogger("rebalance_monitor.audit")


class AuditListener(Protocol):
    """Who publishes the result; the exporter does."""

    def audited(self, failed: int | None) -> None:
        """So many expectations failed; None: the audit did not come to its end."""


def installed() -> bool:
    """Whether the extra [audit] is there."""
    return all(importlib.util.find_spec(name) is not None for name in ("great_expectations", "sqlalchemy"))


class AuditProcess:
    """From `start` to `stop` one audit after the other, `every_ms` apart; the first one once the job has caught up.
    `command` is for tests."""

    def __init__(
        self,
        config: str | None,
        told: AuditListener,
        *,
        every_ms: int,
        timeout_ms: int,
        command: Sequence[str] | None = None,
        answerable: Answerable | None = None,
        caught_up: Callable[[], bool] = lambda: True,
    ) -> None:
        given = [] if config is None else ["--config", config]
        own = [sys.executable, "-m", "rebalance_monitor", "audit", *given, "-o", "json", "--child"]
        self._command = own if command is None else list(command)
        self._told = told
        self._begun, self._timeout_s, self._caught_up = False, timeout_ms / 1000, caught_up
        self._every_ms, self._first_after_ms = every_ms, min(FIRST_AFTER_MS, every_ms)
        self._audited, self._ending = False, threading.Event()
        self._process: subprocess.Popen[str] | None = None
        self._thread = Supervised("audit", self._step, answerable, stop=self._ending)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends an audit under way; it leaves nothing behind."""
        self._ending.set()
        process = self._process
        if process is not None:
            process.terminate()
        self._thread.stop(10)

    def _step(self) -> float:
        if not self._begun:
            self._begun = True
            return self._first_after_ms / 1000
        if not self._audited and not self._caught_up():
            return min(LOOK_AGAIN_MS, self._every_ms) / 1000
        self._audited = True
        try:
            self._once()
        except Exception as why:
            # Nothing that goes wrong here is the job's business.
            self._told.audited(None)
            raise PartFailed(sentence(why), self._every_ms / 1000) from why
        return self._every_ms / 1000

    def _once(self) -> None:
        # A session of its own: a signal from the terminal is the job's to answer.
        process = self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        if self._ending.is_set():
            process.terminate()
        killed = threading.Event()

        def kill() -> None:
            killed.set()
            process.kill()

        killer = threading.Timer(self._timeout_s, kill)
        killer.daemon = True
        killer.start()
        try:
            lines = process.stdout.read().splitlines()
            code = process.wait()
        finally:
            killer.cancel()
            process.stdin.close()
            process.stdout.close()
        if self._ending.is_set():
            return
        if killed.is_set():
            raise PartFailed(f"the audit did not end within {self._timeout_s:.0f} s and was killed")
        self._tell(code, lines)

    def _tell(self, code: int, lines: Sequence[str]) -> None:
        objects = list(_objects(lines))
        for item in objects:
            if item["kind"] == "contract" and item["outcome"] != "kept":
                wanted = ("table", "contract", "says", "outcome", "rows", "examples", "why")
                log.warning("contract not kept", extra={"fields": {name: item.get(name) for name in wanted}})
        sums = next((one for one in objects if one["kind"] == "audit"), None)
        if sums is None or code not in (0, 1, 3):
            why = next((line.strip() for line in reversed(lines) if line.strip()), "nothing was said")
            why = why.removeprefix("rebalance-monitor: ")
            log.warning("audit could not be made", extra={"fields": {"code": code, "why": why}})
            self._told.audited(None)
            return
        log.info("audit", extra={"fields": {name: sums[name] for name in ("contracts", "broken", "unknown")}})
        # What could not be told was not kept either.
        self._told.audited(sums["broken"] + sums["unknown"])


def _objects(lines: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    for line in lines:
        if line.startswith("{"):
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if isinstance(found, Mapping) and "kind" in found:
                yield found
