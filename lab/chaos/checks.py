"""What is stored and was notified, against what an independent reader finds in the topics and what `replay` says."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from lab.bench.prepared import judged_by
from lab.chaos.world import World
from lab.cluster.offsets_reader import Coordinates, parse
from rebalance_monitor.streaming.core.replay import OFFSETS_TOPIC, replay

_STORED = 'select partition, "offset", count(*) from rebalance_monitor.generations group by 1, 2'
_DOCUMENTS = "select document from rebalance_monitor.generations"
_KEYS = "select key, transition, incident_id from rebalance_monitor.outbox"
_REOPENED = """
select incident_id from rebalance_monitor.outbox where transition = any('{fired,resolved}')
group by incident_id, transition having count(*) > 1
"""
MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Found:
    """What is wrong in one run. What may be: `repeated`, notifications that arrived twice under one key; `unsampled`,
    generations judged with less certainty, because the sample of their topics fell into an outage."""

    generations: int
    lost: tuple[str, ...]
    doubled: tuple[str, ...]
    wrong: tuple[str, ...]
    unsampled: int
    notifications: int
    not_notified: tuple[str, ...]
    repeated: int

    @property
    def well(self) -> bool:
        return not (self.lost or self.doubled or self.wrong or self.not_notified)

    def lines(self) -> list[str]:
        """What is wrong, the first ones of each kind by name."""
        named = {"lost": self.lost, "doubled": self.doubled, "wrong": self.wrong, "not notified": self.not_notified}
        return [f"{what}: {one}" for what, some in named.items() for one in some[:MOST_NAMED]]


def check(world: World) -> Found:
    """After the end of a run."""
    records = list(world.load.read())
    truth = {
        (one.partition, one.offset)
        for one in records
        if one.topic == OFFSETS_TOPIC
        and (read := parse(Coordinates(one.topic, one.partition, one.offset), one.key, one.value)) is not None
        and read.members > 0
    }
    stored = Counter({(int(str(p)), int(str(o))): int(str(n)) for p, o, n in world.rows(_STORED)})
    load = world.load.load
    said = judged_by(replay(records, world.settings, knowledge=load.knowledge(load.start_ms - 1)).objects)
    found = judged_by(document for (document,) in world.rows(_DOCUMENTS))  # type: ignore[misc]
    unlike = [
        (f"generation at offset {offset} of {group}", found[group].get(offset), verdict)
        for group, verdicts in sorted(said.items())
        for offset, verdict in sorted(verdicts.items())
        if found[group].get(offset) != verdict
    ]
    keys = {str(key) for key, _, _ in world.rows(_KEYS)}
    arrived = world.receiver.arrived()
    strange = [(p, o) for (p, o), count in sorted(stored.items()) if count > 1 or (p, o) not in truth]
    reopened = [f"incident {one}" for (one,) in world.rows(_REOPENED)]
    return Found(
        generations=len(truth),
        lost=(*(f"partition {p} offset {o}" for p, o in sorted(truth - stored.keys())), *world.group.uncopied()),
        doubled=(*(f"partition {p} offset {o}" for p, o in strange), *reopened),
        wrong=tuple(
            f"{where}: stored {_short(had)}, replayed {_short(told)}"
            for where, had, told in unlike
            if not _unsampled(had)
        ),
        unsampled=sum(_unsampled(had) for _, had, _ in unlike),
        notifications=len(keys),
        not_notified=tuple(sorted(keys - arrived.keys())),
        repeated=sum(times > 1 for times in arrived.values()),
    )


def _unsampled(verdict: Any) -> bool:
    return verdict is not None and verdict["reason_kind"] == "counts_inferred"


def _short(verdict: Any) -> str:
    return "nothing" if verdict is None else f"{verdict['grade']} ({verdict['reason']})"
