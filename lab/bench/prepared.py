"""What a drain reads: topics that are written before the job starts."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from random import Random
from typing import Any, Protocol

import psycopg
from confluent_kafka.admin import AdminClient, NewTopic

from lab.bench import topic
from lab.bench.generations.connect import STATUS_PARTITIONS
from lab.bench.generations.load import Load
from lab.errors import LabError
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import RawRecord, replay

PARTITIONS = 10
TOPICS_AT_ONCE = 30
"""A broker refuses a request for very many partitions."""
Judged = dict[int, Any]
"""Verdicts by the offset of the generation's record."""


@dataclass(frozen=True, slots=True)
class Written:
    """How many records there are in all, and how many of them end a generation."""

    records: int
    generations: int


class Prepared(Protocol):
    """Topics of a broker of their own."""

    @property
    def about(self) -> str:
        """What is in them, in a few words."""

    @property
    def log_partitions(self) -> int:
        """Partitions of the coordinator's log."""

    def cluster(self) -> dict[str, Any]:
        """What the job is told of the cluster, beside its address."""

    def fill(self, bootstrap: str) -> Written:
        """Append the records; LabError unless the broker took every one."""

    def check(self, dsn: str) -> None:
        """LabError where what the job has stored is wrong."""


@dataclass(frozen=True, slots=True)
class MostlyCommits:
    """Offset commits, and one generation in a hundred records: what reading costs."""

    records: int

    @property
    def about(self) -> str:
        return f"{self.records} records, 1 % of them generations"

    @property
    def log_partitions(self) -> int:
        return PARTITIONS

    def cluster(self) -> dict[str, Any]:
        return {}

    def fill(self, bootstrap: str) -> Written:
        topic.fill(bootstrap, self.records, PARTITIONS)
        return Written(self.records, topic.generations(self.records))

    def check(self, dsn: str) -> None:
        """Nothing is known of these but their number."""


@dataclass(frozen=True, slots=True)
class TrueGenerations:
    """Generations that are true outputs of the assignors, some wrong on purpose: what judging costs."""

    load: Load

    @property
    def about(self) -> str:
        size = self.load.size
        return f"{size.generations} generations of {size.groups} groups with about {size.members} members"

    @property
    def log_partitions(self) -> int:
        return self.load.size.log_partitions

    def cluster(self) -> dict[str, Any]:
        return described(self.load.settings)

    def fill(self, bootstrap: str) -> Written:
        told = self.load.settings.connect.values()
        counts, _ = self.load.topics()
        counts |= {one.config_topic: 1 for one in told if one.config_topic is not None}
        counts |= {one.status_topic: STATUS_PARTITIONS for one in told if one.status_topic is not None}
        create_topics(bootstrap, counts)
        seen = _Counting()
        topic.append(bootstrap, seen.passing(self.load.records()))
        return Written(seen.records, self.load.generations)

    def check(self, dsn: str) -> None:
        """Every answer that is wrong on purpose is told, with the rules that it breaks, and a sample of the groups with
        a hundredth of the generations is stored as `replay` judges it."""
        self._told(dsn)
        self._as_replayed(dsn)

    def _as_replayed(self, dsn: str) -> None:
        load, dice = Load(self.load.size, self.load.kinds), Random(f"sample {self.load.size.seed}")
        records = list(load.records())
        order = sorted(group.name for group in load.groups)
        dice.shuffle(order)
        wanted: dict[str, Judged] = {}
        found = judged_by(replay(records, load.settings, knowledge=load.knowledge(records[-1].timestamp_ms)).objects)
        while sum(map(len, wanted.values())) * 100 < load.generations:
            name = order.pop()
            wanted[name] = found[name]
        with closing(psycopg.connect(dsn)) as connection:
            rows = connection.execute(_DOCUMENTS, (list(wanted),)).fetchall()
        stored = judged_by(document for (document,) in rows)
        for name, judged in wanted.items():
            if stored[name] != judged:
                at = _first_difference(stored[name], judged)
                raise LabError(f"{name} is stored in another way than `replay` judges it: {at}")

    def _told(self, dsn: str) -> None:
        with closing(psycopg.connect(dsn)) as connection:
            rows = connection.execute(_BROKEN).fetchall()
        found = defaultdict[tuple[str, int], set[str]](set)
        for group, number, code in rows:
            found[group, number].add(code)
        missed = [place for place, codes in self.load.planted.items() if not codes <= found[place]]
        if missed:
            raise LabError(
                f"{len(missed)} of {len(self.load.planted)} wrong answers are not told, such as "
                + ", ".join(f"generation {number} of {group}" for group, number in missed[:10])
            )


def described(told: ClusterSettings) -> dict[str, Any]:
    """The same, as a configuration says it."""
    connect = {
        name: {key: value for key, value in asdict(one).items() if key in _CONNECT_KEYS}
        for name, one in told.connect.items()
    }
    libraries = {pattern: library.value for pattern, library in told.client_libraries.items()}
    return {"connect": connect, "client_libraries": libraries}


def judged_by(objects: Iterable[Mapping[str, Any]]) -> dict[str, Judged]:
    """Verdicts of generations, by group and offset."""
    found = defaultdict[str, Judged](dict)
    for one in objects:
        if one["kind"] == "generation":
            found[one["group"]][one["source"]["offset"]] = one["verdict"]
    return found


def _first_difference(stored: Judged, judged: Judged) -> str:
    offset = min(at for at in stored.keys() | judged.keys() if stored.get(at) != judged.get(at))
    return f"offset {offset}, stored {stored.get(offset)}, replayed {judged.get(offset)}"


_DOCUMENTS = 'select document from rebalance_monitor.generations where "group" = any(%s)'
_BROKEN = """
select g."group", g.generation, i.code
from rebalance_monitor.generations g
join rebalance_monitor.incidents i using (cluster, "group")
left join rebalance_monitor.incident_parts p using (incident_id)
where g.at_ms in (i.opened_at_ms, p.opened_at_ms)
"""
_CONNECT_KEYS = ("config_topic", "status_topic", "max_delay_ms", "release", "java_version")


class _Counting:
    """How many records went by."""

    def __init__(self) -> None:
        self.records = 0

    def passing(self, records: Iterator[RawRecord]) -> Iterator[tuple[str, int, bytes | None, bytes | None, int]]:
        for one in records:
            self.records += 1
            yield one.topic, one.partition, one.key, one.value, one.timestamp_ms


def create_topics(bootstrap: str, counts: dict[str, int]) -> None:
    """Topics with so many partitions."""
    wanted = [NewTopic(name, count, 1) for name, count in counts.items()]
    if not wanted:
        return
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for start in range(0, len(wanted), TOPICS_AT_ONCE):
        for name, created in admin.create_topics(wanted[start : start + TOPICS_AT_ONCE]).items():
            if (why := created.exception(topic.CREATED_WITHIN_S)) is not None:
                raise LabError(f"the topic {name} could not be created: {why}")
    topic.wait_for_leaders(admin, counts)
