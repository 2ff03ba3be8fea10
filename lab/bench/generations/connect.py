"""Connect groups with their config and status topics."""

import json

from lab.bench.assigning.rounds import JAVA, MAX_DELAY_MS, TASKS_PER_CONNECTOR, Story
from lab.bench.generations.played import RIGHT, Place, PlayedGroup, Rules, Size
from lab.cluster import config_topic
from lab.oracle.scenarios import Process
from lab.simulated.status import Status, StatusTopic
from lab.simulated_group.faults import LeaderFault
from rebalance_monitor.assignors.connect.model import Jobs, LeaderMemory
from rebalance_monitor.streaming.core.connect.rules.catalogue_record import UNEXPLAINED
from rebalance_monitor.streaming.core.model.settings import ConnectSettings

RELEASE = "4.3.1"
STATUS_PARTITIONS = 5
FOLLOWS_MS = 3_000
ASKED_EVERY = 3
"""Every third generation follows a change of a connector's configuration: more without a reason are a storm."""
Job = str | tuple[str, int]


class ConnectGroup(PlayedGroup):
    """Workers that run what they are given. The first leads, and stays. `quiet`: nobody changes a connector."""

    kind = "connect"
    ahead_ms = 2_000

    def __init__(self, name: str, place: Place, size: Size, *, quiet: bool = False) -> None:
        super().__init__(name, place, size)
        self.settings = ConnectSettings(
            config_topic=f"{name}-configs",
            status_topic=f"{name}-status",
            max_delay_ms=MAX_DELAY_MS,
            release=RELEASE,
            java_version=JAVA,
        )
        connectors = max(size.partitions // TASKS_PER_CONNECTOR, 1)
        each = size.partitions // connectors
        self._story = Story({f"{name}-sink-{number}": each for number in range(connectors)}, {}, LeaderMemory(), [])
        self._statuses = StatusTopic(place.queue, place.log, f"{name}-status", STATUS_PARTITIONS)
        self._quiet = quiet
        self._spoiled = False

    def begin(self) -> None:
        for key, value in config_topic.records(self._story.connectors):
            self._config(key, value)
        for _ in range(self.size.members):
            self._join()

    def _config(self, key: str, value: object) -> None:
        raw = json.dumps(value, separators=(",", ":")).encode()
        self._log.append(f"{self.name}-configs", 0, self.now_ms, "worker:1", key.encode(), raw)

    def _join(self) -> None:
        address = f"10.0.{self._joined // 250}.{self._joined % 250 + 1}:8083"
        self._story.members[self.member_id(f"connect-{address}")] = Process(address)

    def change(self) -> None:
        if self.comes(len(self._story.members)):
            self._join()
        else:
            process = self._story.members.pop(self.dice.choice(list(self._story.members)[1:]))
            for job in sorted(_jobs(process.held), key=str):
                self._status(process.name, job, "UNASSIGNED")

    def follows_ms(self) -> int | None:
        told = self._story.told
        if told is None:
            return None
        if self._spoiled or any(share.revoked != Jobs() for share in told.shares.values()):
            return FOLLOWS_MS
        return told.delay_ms + 100 if told.delay_ms else None

    def round(self, *, wrong: bool) -> Rules:
        story = self._story
        if not self._quiet and self.generation and self.generation % ASKED_EVERY == 0:
            name = self.dice.choice(list(story.connectors))
            self._config(*config_topic.records({name: 0})[0])
            story.changed += 1
        before = {name: _jobs(process.held) for name, process in story.members.items()}
        self._spoiled = story.play(self.now_ms, LeaderFault.WRONG_ARITHMETIC if wrong else None)
        self.generation += 1
        described = story.rounds.pop()
        self.write_generation("connect", "sessioned", described["leader"], story.blobs)
        self._tell(before)
        return frozenset({UNEXPLAINED.code}) if self._spoiled else RIGHT

    def _tell(self, before: dict[str, set[Job]]) -> None:
        """Each worker stops what it must, then starts what it was given."""
        for name, process in self._story.members.items():
            for job in sorted(before[name] - _jobs(process.held), key=str):
                self._status(process.name, job, "UNASSIGNED")
        for name, process in self._story.members.items():
            for job in sorted(_jobs(process.held) - before[name], key=str):
                self._status(process.name, job, "RUNNING")

    def _status(self, worker: str, job: Job, state: str) -> None:
        status = Status(state, worker, self.generation)
        self._statuses.put(f"worker:{worker}", job, status, read_until_ms=self.now_ms, release=RELEASE)


def _jobs(held: Jobs | None) -> set[Job]:
    return set() if held is None else {*held.connectors, *held.tasks}
