"""`python -m lab.chaos.killing_job CONFIG FOLDER`: `rebalance-monitor run`, one of whose executors (on one machine: the
job's own Java process) is killed or frozen at a point of a bundle's commit.

FOLDER holds a file with the point's name; the first process that gets there takes the file away. What a frozen one
finds when it goes on stands in FOLDER/`FOUND`. Of cuts of history see `cutting`.
"""

import os
import signal
import sys
from argparse import Namespace
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pyspark import cloudpickle

from lab.chaos.cutting import cutting
from rebalance_monitor.streaming.cli import run as command
from rebalance_monitor.streaming.cli.task_store import TaskStore, task_store
from rebalance_monitor.streaming.core.ports import Commit
from rebalance_monitor.streaming.store.postgres import PostgresStore

BEFORE, INSIDE, AFTER, FROZEN, FOUND = "before", "inside", "after", "frozen", "found"


def executor_of(pid: int) -> list[int]:
    """A folding process, PySpark's daemon that forked it, and the executor's Java."""
    chain = [pid]
    while len(chain) < 3:
        stat = Path(f"/proc/{chain[-1]}/stat").read_text()
        chain.append(int(stat.rpartition(")")[2].split()[1]))
    return chain


def at(folder: Path, point: str, stop: signal.Signals) -> bool:
    """Stops the whole executor, its Java first, if this is the first one that gets there."""
    try:
        (folder / point).unlink()
    except FileNotFoundError:
        return False
    chain = executor_of(os.getpid())
    if stop is signal.SIGSTOP:
        # When its Java is killed the kernel would send SIGHUP to what stands still in the same session.
        with suppress(OSError):
            os.setsid()
    (folder / f"{point}-pids").write_text(" ".join(map(str, chain)))
    for pid in reversed(chain):
        os.kill(pid, stop)
    return True


class KillingStore:
    """A store whose commits of partitions stop the executor at the point that the folder names."""

    def __init__(self, store: PostgresStore, folder: Path) -> None:
        self._store, self._folder = store, folder
        write = store._write_incidents

        def inside(*given: Any) -> None:
            write(*given)
            at(folder, INSIDE, signal.SIGKILL)

        store._write_incidents = inside  # type: ignore[method-assign, assignment]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def commit(self, commit: Commit) -> Any:
        if not commit.results:
            return self._store.commit(commit)
        at(self._folder, BEFORE, signal.SIGKILL)
        was_frozen, came = at(self._folder, FROZEN, signal.SIGSTOP), "committed"
        try:
            done = self._store.commit(commit)
        except Exception as why:
            came = type(why).__name__
            raise
        finally:
            if was_frozen:
                with suppress(OSError):
                    (self._folder / FOUND).write_text(came)
        at(self._folder, AFTER, signal.SIGKILL)
        return done


@dataclass(frozen=True, slots=True)
class Opener:
    """`TaskStore` for the tasks; the driver's own stores are as they are."""

    of: TaskStore
    folder: Path

    def __call__(self) -> Any:
        return KillingStore(self.of(), self.folder)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.of, name)


def main(config: str, folder: str) -> int:
    cloudpickle.register_pickle_by_value(sys.modules[__name__])

    def opener(*given: Any, **named: Any) -> Opener:
        return Opener(task_store(*given, **named), Path(folder))

    with patch.object(command, "task_store", opener), cutting(Path(folder)):
        return command.run(Namespace(config=config, shadow=None))


if __name__ == "__main__":
    # By its own name, or its classes could not be sent.
    from lab.chaos import killing_job

    raise SystemExit(killing_job.main(*sys.argv[1:]))
