"""Who has what: jobs (connectors and tasks, or partitions) against workers, as they stand. Pure.

job        w1:8083  w2:8083
orders-0   ●                     held
orders-1            ○            should be there, and nobody has it
orders-2   ▲                     held, and should not be there
orders-3   ‼        ‼            in two hands
orders-4   ✕                     held, and its last status is FAILED
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rebalance_monitor.streaming.stories.holdings import CONNECTOR, by_number, held

Object = dict[str, Any]

MOST_CELLS = 2_000
MOST_TROUBLED = 100
MARKS = {
    "held": ("●", "held"),
    "wrong": ("▲", "held, should not be here"),
    "twice": ("‼", "held, and elsewhere too"),
    "due": ("○", "should be here, not held"),
    "failed": ("✕", "held, and its last status is FAILED"),
}
_FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Cell:
    """One square: a mark of MARKS with its meaning; both empty where nothing is."""

    kind: str = ""
    mark: str = ""
    meaning: str = ""


EMPTY = Cell()


@dataclass(frozen=True, slots=True)
class MatrixLine:
    """A job; `trouble` marks what needs a look, `note` says what. `elsewhere`: where it should be and is not."""

    name: str
    cells: tuple[Cell, ...]
    note: str = ""
    trouble: bool = False
    holders: tuple[str, ...] = ()
    elsewhere: str = ""


@dataclass(frozen=True, slots=True)
class Sum:
    """All jobs of a connector or topic: how many, in how many hands, fewest and most in one of these."""

    name: str
    jobs: int
    hands: int
    fewest: int
    most: int


@dataclass(frozen=True, slots=True)
class Matrix:
    """Lines against workers; too many squares are no matrix any more: then `lines` are only the jobs that need a look
    (and `more` of them are left out), and `sums` stand for all.
    """

    workers: tuple[str, ...]
    lines: tuple[MatrixLine, ...]
    totals: tuple[int, ...]
    sums: tuple[Sum, ...] = ()
    more: int = 0

    @property
    def loads(self) -> list[tuple[str, int]]:
        """Workers with their numbers of jobs, the most loaded first."""
        return sorted(zip(self.workers, self.totals, strict=True), key=lambda one: (-one[1], one[0]))

    @property
    def spread(self) -> str:
        """Fewest and most jobs in one hand."""
        if not self.totals:
            return ""
        low, high = min(self.totals), max(self.totals)
        return f"{low} each" if low == high else f"{low} to {high}"

    @property
    def spread_words(self) -> str:
        """The same inside a sentence."""
        low, _, high = self.spread.partition(" to ")
        return f"{low} to {high} on one" if high else low


NOTHING = Matrix((), (), ())


@dataclass(slots=True)
class _Job:
    holders: list[str] = field(default_factory=list)
    expected: str | None = None
    judged: bool = False
    note: str = ""
    state: str = ""


_NOTES = {
    "unexpected": "not where it should be",
    "elsewhere": "another worker says it runs it",
    "held_twice": "in several hands",
    "not_started": "not taken up yet",
    "unassigned": "nobody has it",
}
_OF_STATUSES = (_NOTES["elsewhere"], _NOTES["not_started"])


def matrix(generation: Object, jobs: Sequence[Object] = (), *, most_cells: int = MOST_CELLS) -> Matrix:
    """From the documents of a group's latest generation and, for Connect, of its jobs as they stand."""
    names = {one["member_id"]: one["worker"] or one["instance_id"] or one["member_id"] for one in generation["members"]}
    found, stated = _from_generation(generation, names), _from_jobs(jobs)
    # What the jobs say follows a record some seconds later, and stays as it was where the record moved nothing. Until
    # one of them has the record's generation, the record alone says who holds what.
    if any(_moment(one) >= _moment(generation) for one in jobs):
        found = stated
    else:
        _note_what_lasts(found, stated)
    workers = sorted({*names.values(), *(holder for job in found.values() for holder in job.holders)})
    totals = tuple(sum(worker in job.holders for job in found.values()) for worker in workers)
    if len(found) * len(workers) > most_cells:
        troubled = [line for line in _lines(found, ()) if line.trouble]
        shown = tuple(troubled[:MOST_TROUBLED])
        return Matrix(tuple(workers), shown, totals, tuple(_sums(found)), len(troubled) - len(shown))
    return Matrix(tuple(workers), tuple(_lines(found, workers)), totals)


def _moment(document: Object) -> tuple[int, int]:
    """Generations are counted anew in each life of a group id."""
    return document["incarnation"], document["generation"]


def _from_jobs(jobs: Iterable[Object]) -> dict[str, _Job]:
    found = {}
    for item in jobs:
        note = _NOTES.get(item["agreement"], "")
        running = item["running"]
        state = running["state"].lower() if running is not None and running["state"] != "RUNNING" else ""
        name = item["subject"]["id"]
        if item["subject"]["type"] == "connector":
            name += CONNECTOR
        found[name] = _Job(list(item["assigned"]), item["expected"], item["judged"], note, state)
    return found


def _note_what_lasts(found: Mapping[str, _Job], stated: Mapping[str, _Job]) -> None:
    """What statuses said of a job holds until its holders change, and FAILED until another status comes."""
    for name, job in found.items():
        before = stated.get(name)
        if before is None:
            continue
        stays = sorted(before.holders) == sorted(job.holders)
        job.state = before.state if stays or before.state == _FAILED else ""
        job.note = job.note or (before.note if stays and before.note in _OF_STATUSES else "")


def _from_generation(generation: Object, names: Mapping[str, str]) -> dict[str, _Job]:
    found: dict[str, _Job] = defaultdict(_Job)
    for member in generation["members"]:
        for name in held(member):
            found[name].holders.append(names[member["member_id"]])
    expected = generation["verdict"]["expected"]
    members = {member["member_id"]: member for member in generation["members"]}
    if expected is not None:
        for job in found.values():
            job.judged = True
        for member_id, share in expected.items():
            for name in held({**members.get(member_id, {}), **share}):
                found[name].judged = True
                found[name].expected = names.get(member_id, member_id)
    for name in generation.get("unassigned", ()):
        found[name].note = "nobody has it"
    for job in found.values():
        if len(job.holders) > 1:
            job.note = "in several hands"
    return dict(found)


def _lines(found: Mapping[str, _Job], workers: Sequence[str]) -> Iterator[MatrixLine]:
    return (_line(name, found[name], workers) for name in sorted(found, key=by_number))


def _line(name: str, job: _Job, workers: Sequence[str]) -> MatrixLine:
    cells = tuple(_cell(job, worker) for worker in workers)
    missing = job.judged and job.expected is not None and job.expected not in job.holders
    astray = len(job.holders) > 1 or missing or (job.judged and any(one != job.expected for one in job.holders))
    note = ", ".join(part for part in (job.state, job.note) if part)
    trouble = bool(note) or astray
    return MatrixLine(name, cells, note, trouble, tuple(job.holders), (job.expected or "") if missing else "")


def _cell(job: _Job, worker: str) -> Cell:
    kind = ""
    if worker in job.holders:
        wrong = job.judged and job.expected != worker
        alone = "failed" if job.state == _FAILED else "wrong" if wrong else "held"
        kind = "twice" if len(job.holders) > 1 else alone
    elif job.judged and job.expected == worker:
        kind = "due"
    return Cell(kind, *MARKS[kind]) if kind else EMPTY


def _sums(found: Mapping[str, _Job]) -> Iterator[Sum]:
    jobs: Counter[str] = Counter()
    held_by: dict[str, Counter[str]] = defaultdict(Counter)
    for name, job in found.items():
        jobs[_stem(name)] += 1
        held_by[_stem(name)].update(job.holders)
    for stem in sorted(jobs):
        counts = held_by[stem].values()
        yield Sum(stem, jobs[stem], len(counts), min(counts, default=0), max(counts, default=0))


def _stem(name: str) -> str:
    stem, _, number = name.removesuffix(CONNECTOR).rpartition("-")
    return stem if stem and number.isdecimal() and not name.endswith(CONNECTOR) else name.removesuffix(CONNECTOR)
