"""One life of a Connect cluster, simulated or captured, that can be told with other clocks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from lab.paths import ROOT
from lab.simulated import scenario
from lab.simulated.cluster import Cluster
from lab.simulated.log import Written
from lab.simulated.truth import Truth
from rebalance_monitor.schemas.connect_protocol import WorkerState
from rebalance_monitor.schemas.group_metadata import GroupMetadata
from rebalance_monitor.schemas.offsets_topic import decode_group_metadata, encode_group_metadata
from rebalance_monitor.schemas.outcomes import Decoded
from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.connect.topics import StatusChange
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import OFFSETS_TOPIC, RawRecord, decode

CAPTURES = ROOT / "tests" / "vectors" / "captures"
COORDINATOR = "broker:1"


@dataclass(frozen=True, slots=True)
class Life:
    """Records in the order of true time. `truth` None: a real cluster, whose truth the records are."""

    name: str
    group: str
    settings: ClusterSettings
    records: Sequence[Written]
    truth: Truth | None

    @property
    def end_ms(self) -> int:
        """True time of the last record."""
        return self.records[-1].true_ms

    def clocks(self, kind: str) -> list[str]:
        """Clocks of this kind, `worker` or `broker`, the busiest first."""
        counts: dict[str, int] = {}
        for record in self.records:
            if record.clock.startswith(kind + ":"):
                counts[record.clock] = counts.get(record.clock, 0) + 1
        return sorted(counts, key=lambda clock: (-counts[clock], clock))

    def own(self) -> list[Written]:
        """The group's records."""
        return [one for one in self.records if one.group is not None]


VARIED = 1_000
"""From this seed on the workers of a cluster differ."""


@cache
def simulated(seed: int, actions: int = 18) -> Life:
    shape = scenario.varied_shape(seed) if seed >= VARIED else None
    cluster = scenario.live(seed, actions=actions, shape=shape)
    return of_cluster(f"seed {seed}", cluster)


def of_cluster(name: str, cluster: Cluster) -> Life:
    """What has happened in a cluster up to now."""
    records = sorted(cluster.log.written, key=lambda one: one.true_ms)
    return Life(name, cluster.shape.group, cluster.settings(), records, cluster.truth)


@cache
def captures() -> tuple[Life, ...]:
    """All shared captures of real clusters."""
    return tuple(captured(path) for path in sorted(CAPTURES.iterdir()) if path.is_dir())


def captured(path: Path) -> Life:
    """A capture; all its clocks agreed, so its times are true."""
    settings = settings_of(path)
    (group,) = settings.connect
    records = _as_appended(records_of(path))
    leader = COORDINATOR
    written = []
    for record in records:
        row = decode(record, settings)
        clock, value = leader, None
        if record.topic == OFFSETS_TOPIC:
            clock = COORDINATOR
            outcome = decode_group_metadata(record.value)
            value = outcome.value if isinstance(outcome, Decoded) and _same_bytes(outcome.value, record) else None
            if row is not None and isinstance(row.body, GroupGeneration):
                leader = _leader_of(row.body) or leader
        elif row is not None and isinstance(row.body, StatusChange) and row.body.record.worker_id:
            clock = f"worker:{row.body.record.worker_id}"
        written.append(_written(record, clock, value))
    return Life(path.name, group, settings, written, None)


def _as_appended(records: Iterable[RawRecord]) -> list[RawRecord]:
    """In the order in which they were appended, as far as times tell. A time stamp is the writer's: of two records of a
    partition the one with the lower offset came first, whatever they state."""
    newest_ms: dict[tuple[str, int], int] = {}
    appended = []
    for record in sorted(records, key=lambda one: one.offset):
        place = record.topic, record.partition
        newest_ms[place] = max(record.timestamp_ms, newest_ms.get(place, record.timestamp_ms))
        appended.append((newest_ms[place], record))
    return [record for _, record in sorted(appended, key=lambda one: one[0])]


def _written(record: RawRecord, clock: str, group: GroupMetadata | None) -> Written:
    return Written(
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        true_ms=record.timestamp_ms,
        clock=clock,
        key=record.key,
        value=record.value,
        group=group,
    )


def _same_bytes(group: GroupMetadata, record: RawRecord) -> bool:
    return encode_group_metadata(group) == record.value


def _leader_of(body: GroupGeneration) -> str | None:
    """The clock of the leader's worker: it writes the configuration and the tombstones."""
    state = next((one.subscription for one in body.members if one.member_id == body.leader), None)
    if not isinstance(state, WorkerState):
        return None
    return "worker:" + state.url.removeprefix("http://").removesuffix("/")


def told(records: Sequence[Written], offsets_ms: Mapping[str, int]) -> list[RawRecord]:
    """The records as these clocks stamp them."""
    return [one.stamped(offsets_ms) for one in records]


def without(life: Life, left_out: frozenset[int]) -> Life:
    """The life without the records at these places."""
    kept = [one for place, one in enumerate(life.records) if place not in left_out]
    return replace(life, records=kept)
