"""A leader's possible minds as they are kept between two rounds: short, and unpacked only when that leader leads again.

Every worker of a large group may have led once, and each remembers all jobs. So the jobs of a memory are kept by
connector, with runs of task numbers, and minds that differ in their release alone share one memory.

    {"orders": "c,0..9,12"}      connector `orders` itself, its tasks 0 to 9 and 12
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rebalance_monitor.assignors.connect.model import Jobs, LeaderMemory
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.model.derived import recent

ITSELF, TO = "c", ".."


@dataclass(frozen=True, slots=True)
class LeaderHypothesis:
    """One possible mind: memory, the algorithm family, and the maximum delay, which is constant for a process.

    `max_delay_ms` None: no answer of this process has shown it. It is then not less than `at_least_ms`, the longest
    delay that the process has announced.
    """

    era: str
    memory: LeaderMemory
    max_delay_ms: int | None = None
    at_least_ms: int = 0


@dataclass(frozen=True, slots=True)
class PackedMemory:
    """A `LeaderMemory`, its jobs by connector."""

    but_for_jobs: LeaderMemory
    previous: Mapping[str, str] = field(default_factory=dict)
    previous_revoked: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PackedMinds:
    """Hypotheses in order: each names its release's era, its maximum delay, and one of the memories.

    `at_least_ms` has one value for each of the `minds`.
    """

    memories: tuple[PackedMemory, ...] = ()
    minds: tuple[tuple[str, int | None, int], ...] = ()
    at_least_ms: tuple[int, ...] = ()


def pack(hypotheses: Iterable[LeaderHypothesis]) -> PackedMinds:
    hypotheses = tuple(hypotheses)
    places: dict[LeaderMemory, int] = {}
    minds = tuple((one.era, one.max_delay_ms, places.setdefault(one.memory, len(places))) for one in hypotheses)
    return PackedMinds(tuple(map(_packed, places)), minds, tuple(one.at_least_ms for one in hypotheses))


def unpack(packed: PackedMinds) -> tuple[LeaderHypothesis, ...]:
    """The hypotheses; those that shared a memory share it again. The jobs of each are sorted."""
    memories = tuple(map(_unpacked, packed.memories))
    return tuple(
        LeaderHypothesis(era, memories[place], max_delay_ms, at_least_ms)
        for (era, max_delay_ms, place), at_least_ms in zip(packed.minds, packed.at_least_ms, strict=True)
    )


def _packed(memory: LeaderMemory) -> PackedMemory:
    kept = replace(memory, previous=Jobs(), previous_revoked=Jobs())
    return PackedMemory(kept, by_connector(memory.previous), by_connector(memory.previous_revoked))


def _unpacked(packed: PackedMemory) -> LeaderMemory:
    previous, previous_revoked = jobs_of(packed.previous), jobs_of(packed.previous_revoked)
    return replace(packed.but_for_jobs, previous=previous, previous_revoked=previous_revoked)


@recent
def by_connector(jobs: Jobs) -> Mapping[str, str]:
    """Connector -> what of it is meant, in the order of names."""
    numbers: dict[str, list[int]] = {}
    for name, number in jobs.tasks:
        numbers.setdefault(name, []).append(number)
    itself = frozenset(jobs.connectors)
    return {
        name: ",".join(([ITSELF] if name in itself else []) + _runs(sorted(set(numbers.get(name, ())))))
        for name in sorted({*itself, *numbers})
    }


def _runs(numbers: list[int]) -> list[str]:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return [str(first) if first == last else f"{first}{TO}{last}" for first, last in runs]


@recent
def jobs_of(packed: Mapping[str, str]) -> Jobs:
    """The jobs that `by_connector` tells of."""
    connectors: list[str] = []
    tasks: list[tuple[str, int]] = []
    for name, parts in packed.items():
        for part in parts.split(","):
            if part == ITSELF:
                connectors.append(name)
            else:
                first, _, last = part.partition(TO)
                tasks += [(name, number) for number in range(int(first), int(last or first) + 1)]
    return Jobs(tuple(connectors), tuple(tasks))
