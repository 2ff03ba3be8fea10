"""Assignors that misbehave, each in one way."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rebalance_monitor.assignors.streams.application_state import ApplicationState
from rebalance_monitor.assignors.streams.assignment import (
    AssignedTask,
    AssignmentError,
    KafkaStreamsAssignment,
    TaskAssignment,
    TaskType,
)
from rebalance_monitor.assignors.streams.task_assignment_utils import identity_assignment
from rebalance_monitor.assignors.streams.task_assignor import GroupAssignment, GroupSubscription, TaskAssignor
from rebalance_monitor.assignors.streams.tasks import TaskId

SAFETY_S = 20
"""After so many seconds even what nobody has ended ends."""


class Sound(TaskAssignor):
    """One that does not misbehave."""

    configs: Mapping[str, object]

    def configure(self, configs: Mapping[str, object]) -> None:
        self.configs = configs

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        return TaskAssignment(tuple(identity_assignment(application_state).values()))


class Raises(Sound):
    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        raise ZeroDivisionError("by nothing")


class RaisesUntold(Sound):
    """Its exception has no text that can be told."""

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        class Untold(Exception):
            def __str__(self) -> str:
                raise ValueError

        raise Untold


class Recurses(Sound):
    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        return self.assign(application_state)


class Leaves(Sound):
    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        sys.exit(3)


class Loops(Sound):
    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        while True:
            pass


class LoopsWhenConfigured(Sound):
    def configure(self, configs: Mapping[str, object]) -> None:
        while True:
            pass


class Exits(Sound):
    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        os._exit(7)


class Dies(Sound):
    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        os.abort()


class EatsMemory(Sound):
    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        eaten = []
        while True:
            eaten.append(bytearray(16 * 1024 * 1024))


class ReturnsNothing(Sound):
    def assign(self, application_state: ApplicationState) -> Any:
        return None


class ReturnsTexts(Sound):
    def assign(self, application_state: ApplicationState) -> Any:
        return TaskAssignment(("0_0", "0_1"))  # type: ignore[arg-type]


class ReturnsUnhashable(Sound):
    """Its process ids are lists."""

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        return TaskAssignment((KafkaStreamsAssignment([1]),))  # type: ignore[arg-type]


class ReturnsOddTasks(Sound):
    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        (process, *_) = application_state.kafka_streams_states(False)
        made = KafkaStreamsAssignment(process)
        made.assign_task(AssignedTask(TaskId(0, "one"), TaskType.ACTIVE))  # type: ignore[arg-type]
        return TaskAssignment((made,))


class Prints(Sound):
    """Prints more than a pipe holds, also past Python's own streams."""

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        print("a plug-in speaks " * 20_000)
        os.write(1, b"to standard output\n")
        os.write(2, b"to standard error\n")
        return super().assign(application_state)


class WritesEverywhere(Sound):
    """Writes to every descriptor, so also where replies go."""

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, b"\x00\x00\x00\x04nope")
            except OSError:
                continue
        return super().assign(application_state)


class ClosesDescriptors(Sound):
    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        os.closerange(0, 256)
        return super().assign(application_state)


class Forks(Sound):
    """Both processes go on, as after a fork that somebody forgot about."""

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        os.fork()
        return super().assign(application_state)


class LeavesAChild(Sound):
    """Its child outlives the call; its number is in the file `told`."""

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        child = os.fork()
        if child == 0:
            time.sleep(SAFETY_S)
            os._exit(0)
        with Path(str(self.configs["told"])).open("a", encoding="utf-8") as lines:
            lines.write(f"{child}\n")
        while True:
            pass


class Daemonizes(Sound):
    """Its grandchild has left its session and its parent; the number is in the file `told`."""

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                with Path(str(self.configs["told"])).open("a", encoding="utf-8") as lines:
                    lines.write(f"{os.getpid()}\n")
                time.sleep(SAFETY_S)
            os._exit(0)
        os.wait()
        return super().assign(application_state)


class DaemonizesAndLoops(Daemonizes):
    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        super().assign(application_state)
        while True:
            pass


class ForkBomb(Sound):
    """Each process forks as fast as it can, in a session of its own."""

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        until_s = time.monotonic() + SAFETY_S
        while time.monotonic() < until_s:
            if os.fork() == 0:
                os.setsid()
        return super().assign(application_state)


class ShellBomb(Sound):
    """The same by a shell, which no hook in Python sees."""

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        goes_on = "[ $(date +%s) -lt $end ]"
        text = f"end=$(($(date +%s) + {SAFETY_S})); b() {{ {goes_on} && b & {goes_on} && b & }}; b; sleep {SAFETY_S}"
        subprocess.run(["/bin/sh", "-c", text], check=False)
        return super().assign(application_state)


class StartsMany(Sound):
    """Sixty that do nothing, one after the other."""

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        for _ in range(60):
            if os.fork() == 0:
                os._exit(0)
            os.wait()
        return super().assign(application_state)


class EatsMemoryTogether(Sound):
    """Each of its processes needs little enough."""

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        for _ in range(8):
            if os.fork() == 0:
                eaten = random.randbytes(64 * 1024 * 1024)
                time.sleep(SAFETY_S)
                os._exit(len(eaten) % 2)
        time.sleep(SAFETY_S)
        return super().assign(application_state)


class PrintsForEver(Sound):
    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        while True:
            print("a plug-in speaks " * 1_000)


class PrintsMuchEachTime(Sound):
    """A little more than a megabyte."""

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        print("a plug-in speaks " * 80_000, flush=True)
        return super().assign(application_state)


class KillsItsParent(Sound):
    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(SAFETY_S)
        return super().assign(application_state)


class WalksASetOfProcesses(Sound):
    """Gives each task to the first process of a set."""

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        processes = set(application_state.kafka_streams_states(False))
        made = {one: KafkaStreamsAssignment(one) for one in processes}
        for number, task in enumerate(sorted(application_state.all_tasks)):
            made[list(processes)[number % len(processes)]].assign_task(AssignedTask(task, TaskType.ACTIVE))
        return TaskAssignment(tuple(made.values()))


class WalksASetOfTasks(Sound):
    """Gives tasks to the processes in turn, in the order of a set."""

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        processes = sorted(application_state.kafka_streams_states(False))
        made = {one: KafkaStreamsAssignment(one) for one in processes}
        for number, task in enumerate(set(application_state.all_tasks)):
            made[processes[number % len(processes)]].assign_task(AssignedTask(task, TaskType.ACTIVE))
        return TaskAssignment(tuple(made.values()))


class StartsAThread(Sound):
    """A thread that never ends."""

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        threading.Thread(target=threading.Event().wait).start()
        return super().assign(application_state)


class WalksASet(Sound):
    """Gives tasks to the processes in turn, in the order of a set of texts."""

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        processes = list(application_state.kafka_streams_states(False))
        made = {one: KafkaStreamsAssignment(one) for one in processes}
        tasks = {str(one): one for one in application_state.all_tasks}
        for number, name in enumerate(set(tasks)):
            made[processes[number % len(processes)]].assign_task(AssignedTask(tasks[name], TaskType.ACTIVE))
        return TaskAssignment(tuple(made.values()))


class Gambles(Sound):
    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        processes = list(application_state.kafka_streams_states(False))
        made = {one: KafkaStreamsAssignment(one) for one in processes}
        for task in application_state.all_tasks:
            made[random.choice(processes)].assign_task(AssignedTask(task, TaskType.ACTIVE))
        return TaskAssignment(tuple(made.values()))


class RaisesAfterwards(Sound):
    def on_assignment_computed(
        self, assignment: GroupAssignment, subscription: GroupSubscription, error: AssignmentError
    ) -> None:
        raise KeyError("afterwards")


class LoopsAfterwards(Sound):
    def on_assignment_computed(
        self, assignment: GroupAssignment, subscription: GroupSubscription, error: AssignmentError
    ) -> None:
        while True:
            pass


class LooksAround(Sound):
    """Tells by the name of an exception what it finds around it: its environment and its open descriptors."""

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        descriptors = os.listdir("/proc/self/fd")[:-1]  # the last one is that of the listing
        kinds = sorted(os.readlink(f"/proc/self/fd/{one}").partition(":")[0] for one in descriptors)
        raise LookupError(f"{sorted(os.environ)} {kinds}")


class NotOne:
    """No assignor."""
