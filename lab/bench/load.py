"""The load of the benchmark, in a process of its own so that its work is not taken for the job's.

Groups of two simulated workers rebalance in turn, as many times a second as asked; one more group is led astray and
repaired. Commands come as lines on standard input, each answered by one line once it is done:

    pace 10 30      ten rebalances a second for 30 s        -> done <rebalances asked for>
    spoil           the spoiled group: a wrong round        -> done <its generation then>
    heal            the spoiled group: repaired             -> done <its generation then>
    mixed 10 30     as pace, while the spoiled group is spoiled and healed in turn, once a second
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from lab.cluster import config_topic, workers
from lab.errors import LabError
from lab.simulated_group.members import SimulatedGroup

CONNECTORS = {"payments": 4, "refunds": 2}
PREFIX = "bench-"
SPOILED = f"{PREFIX}spoiled"
STEP_S = 0.005
PATIENCE_S = 30.0
SPOIL_EVERY_S = 1.0
# A turn that found no calm group is made up for, but not more than this: a stalled broker must not cause a storm.
ARREARS_S = 1.0


def group(bootstrap: str, name: str, first_port: int) -> SimulatedGroup:
    """Two workers, with a config topic like a real group's."""
    topics = {workers.config_topic(name): 1, workers.status_topic(name): 1}
    config_topic.create(bootstrap, topics)
    offset = config_topic.write(bootstrap, workers.config_topic(name), CONNECTORS)
    return SimulatedGroup(
        bootstrap, name, workers=2, connectors=CONNECTORS, config_offset=offset, first_port=first_port
    )


class Load:
    """The groups, and what they are told to do."""

    def __init__(self, paced: Sequence[SimulatedGroup], spoiled: SimulatedGroup) -> None:
        self._paced, self._spoiled = paced, spoiled
        self._next = 0

    def ready(self) -> bool:
        return all(one.calm() for one in (*self._paced, self._spoiled))

    def pace(self, per_s: float, seconds: float, *, mixed: bool) -> int:
        """Rebalances spread evenly over the time; returns how many were asked for."""
        asked, began = 0, time.monotonic()
        due = spoil_at = began
        while (now := time.monotonic()) < began + seconds:
            if now >= due and self._one_turn():
                asked, due = asked + 1, max(due + 1 / per_s, now - ARREARS_S)
            if mixed and now >= spoil_at and self._spoiled.settled():
                step = self._spoiled.rejoin if self._spoiled.broken() else self._spoiled.spoil
                step()
                spoil_at = now + SPOIL_EVERY_S / 2
            time.sleep(STEP_S)
        return asked

    def _one_turn(self) -> bool:
        """Make the next calm group rebalance."""
        for ahead in range(len(self._paced)):
            place = (self._next + ahead) % len(self._paced)
            if self._paced[place].calm():
                self._paced[place].rejoin()
                self._next = place + 1
                return True
        return False

    def spoil(self) -> int:
        self._spoiled.spoil()
        _until(self._spoiled.broken, "no wrong round came about")
        return self._spoiled.generation

    def heal(self) -> int:
        if not self._spoiled.calm():
            self._spoiled.rejoin()
        _until(self._spoiled.calm, "the spoiled group did not heal")
        return self._spoiled.generation

    def obey(self, line: str) -> int:
        match line.split():
            case ["pace", per_s, seconds]:
                return self.pace(float(per_s), float(seconds), mixed=False)
            case ["mixed", per_s, seconds]:
                return self.pace(float(per_s), float(seconds), mixed=True)
            case ["spoil"]:
                return self.spoil()
            case ["heal"]:
                return self.heal()
            case _:
                raise LabError(f"the load does not know the command {line!r}")


def _until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise LabError(f"{what} within {PATIENCE_S:.0f} s")
        time.sleep(STEP_S)


def main() -> int:
    """Start the groups, say `ready`, obey until the input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--groups", type=int, required=True)
    parser.add_argument("--first-port", type=int, default=28083)
    given = parser.parse_args()
    names = [SPOILED, *(f"{PREFIX}{number}" for number in range(given.groups))]
    try:
        with ExitStack() as stack:
            made = [
                stack.enter_context(group(given.bootstrap, name, given.first_port + 10 * number))
                for number, name in enumerate(names)
            ]
            load = Load(made[1:], made[0])
            _until(load.ready, "the groups did not settle")
            print("ready", flush=True)
            for line in sys.stdin:
                print("done", load.obey(line), flush=True)
    except LabError as why:
        print(f"failed {why}", flush=True)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
