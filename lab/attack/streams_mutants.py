"""Wrong answers of Streams leaders: one thing in one answer changed (`streams_answers`); how many the monitor notices.

Noticed is what is unexplained, or breaks a rule above info that the right answer keeps, in this record. Right is what a
leader could have answered as well, and is proved to be: its topic has one partition less, of which no record tells; its
sub-topology has no state and no record shows any, or it has, and every task of it has its copies; it could not read end
offsets, or could where the leader of the case could not. All else is missed.

The answers are those of Kafka's own leaders in rounds with known inputs (`streams_vectors`), told without and with
samples of topics, and those of real applications in `tests/vectors/captures-groups`: one has 19 tasks, up to 4
processes and 9 threads.
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from lab.attack.life import Life
from lab.attack.mutants import loud
from lab.attack.pieces import Done, Outcome, Piece, table
from lab.attack.streams_answers import mutants
from lab.attack.streams_vectors import captured
from lab.paths import ROOT
from rebalance_monitor.assignors.streams.tasks import TaskId
from rebalance_monitor.streaming.cli.captures import knowledge_of, records_of, settings_of
from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import fold_group, route
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row
from rebalance_monitor.streaming.core.model.results import Generation, Grade, Result, Verdict
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import decode
from rebalance_monitor.streaming.core.streams.members import StreamsThread, UnreadableThread, threads_of
from rebalance_monitor.streaming.core.streams.topology import key_of
from rebalance_monitor.streaming.core.streams.verdict import CANNOT_READ

SWEEP = "streams-mutants"
CAPTURES = ROOT / "tests" / "vectors" / "captures-groups"
REAL = ("streams-classic-4.3.1", "streams-churn", "streams-probing")
KAFKA_ALONE, KAFKA_SAMPLED, APPLICATIONS = "rounds", "rounds, sampled", "real applications"
CASES = 10
NOTHING = Knowledge()
NOTICED, MISSED, LATER = "noticed", "missed", "not judged"
FEWER, STATELESS, STATEFUL = "one partition less", "without state", "with state"
BLIND, READING = "without end offsets", "with end offsets"
RIGHT = frozenset({FEWER, STATELESS, STATEFUL, BLIND, READING})


@dataclass(frozen=True, slots=True)
class _OfVectors:
    first: int
    sampled: bool

    def __call__(self) -> Outcome:
        sweep = Sweep(random.Random(self.first))
        for case in islice(captured(), self.first, self.first + CASES):
            knowledge = case.knowledge if self.sampled else NOTHING
            sweep.over(case.settings, case.group, case.rows, knowledge, fails=case.fails)
        return sweep.outcome()


@dataclass(frozen=True, slots=True)
class _OfCapture:
    path: Path

    def __call__(self) -> Outcome:
        return attack(self.path)


def pieces(_lives: Sequence[Life]) -> Iterator[Piece]:
    """One piece for every ten rounds of Kafka's leaders, told without and with samples, and one for each capture."""
    cases = sum(1 for _ in captured())
    for first in range(0, cases, CASES):
        for cell, sampled in ((KAFKA_ALONE, False), (KAFKA_SAMPLED, True)):
            yield Piece(SWEEP, cell, f"cases {first} to {first + CASES - 1}", _OfVectors(first, sampled))
    for name in REAL:
        yield Piece(SWEEP, APPLICATIONS, name, _OfCapture(CAPTURES / name))


def attack(path: Path, *, share: float = 1.0) -> Outcome:
    """Mutants of a share of the generations of a capture."""
    settings = settings_of(path)
    rows = [row for one in records_of(path) if (row := decode(one, settings)) is not None]
    sweep = Sweep(random.Random(path.name), share)
    for group, own in route(rows, settings).items():
        generations = [row for row in own if isinstance(row.body, GroupGeneration)]
        sweep.over(settings, group, sorted(generations, key=lambda row: row.offset), knowledge_of(path))
    return sweep.outcome()


class Sweep:
    """Counts by kind what comes of mutants of right answers."""

    def __init__(self, dice: random.Random, share: float = 1.0) -> None:
        """`share`: of the generations that are changed."""
        self._dice, self._share = dice, share
        self.counts: Counter[tuple[str, str]] = Counter()
        self.examples: list[str] = []

    def outcome(self) -> Outcome:
        """As it is kept."""
        return {"counts": {"|".join(key): count for key, count in self.counts.items()}, "examples": self.examples}

    def over(
        self,
        settings: ClusterSettings,
        group: str,
        rows: Sequence[Row],
        knowledge: Knowledge = NOTHING,
        *,
        fails: bool = False,
    ) -> None:
        """Every generation of one group. `fails`: the leader cannot always read end offsets."""
        state: Saved | None = None
        shown: set[TaskId] = set()
        for row in rows:
            body = row.body
            right = fold_group(settings, group, state, [row], None, knowledge=knowledge)
            verdict = _verdict(right.results)
            known = verdict is not None and verdict.grade in (Grade.MATCH, Grade.EXPLAINABLE)
            if isinstance(body, GroupGeneration) and body.members:
                if known and self._dice.random() < self._share:
                    for kind, wrong in mutants(body, self._dice):
                        made = replace(row, body=wrong)
                        results = fold_group(settings, group, state, [made], None, knowledge=knowledge).results
                        came = _came(results, right.results)
                        if came == MISSED:
                            standbys = settings.streams[group].standbys
                            came = rightly(body, wrong, shown, standbys) or (READING if fails else came)
                        self.counts[kind, came] += 1
                        if came not in (NOTICED, *RIGHT):
                            told = _verdict(results)
                            why = "" if told is None else told.why or told.grade
                            self.examples.append(f"{kind}, {group} {body.generation}: {came}, {why}")
                shown.update(task for one in read(body) for task in (*one.active, *one.standby, *one.offset_sums))
            state = right.state


def _verdict(results: Sequence[Result]) -> Verdict | None:
    return next((one.verdict for one in results if isinstance(one, Generation)), None)


def _came(wrong: Sequence[Result], right: Sequence[Result]) -> str:
    verdict = _verdict(wrong)
    if verdict is None or verdict.grade is Grade.UNEXPLAINED or loud(wrong) - loud(right):
        return NOTICED
    if verdict.grade is Grade.NOT_JUDGED:
        return LATER
    return BLIND if verdict.why == CANNOT_READ else MISSED


def rightly(body: GroupGeneration, wrong: GroupGeneration, shown: Set[TaskId], standbys: int | None) -> str:
    """Why a right leader gives the changed answer, too; "" if none does. `shown`: tasks in records before; `standbys`:
    num.standby.replicas."""
    was, now = (
        Counter(task for thread in read(one) for task in (*thread.active, *thread.standby)) for one in (body, wrong)
    )
    owned = {part for thread in read(wrong) for part in thread.wanted.owned}
    sums = {task for thread in read(wrong) for task in thread.offset_sums}
    less = next((task for task in was if now[task] < was[task]), None)
    more = next((task for task in now if now[task] > was[task]), None)
    if less is None and more is not None:
        parts = [task for task in now if key_of(task) == key_of(more)]
        reported = any(key_of(task) == key_of(more) for task in sums)
        copies = min(standbys or 0, len({thread.process_id for thread in read(wrong)}) - 1)
        return STATEFUL if not reported and all(now[task] == 1 + copies for task in parts) else ""
    if less is None:
        return ""
    alike = [task for task in (*now, *sums, *shown) if key_of(task) == key_of(less)]
    if less not in alike and all(task.partition < less.partition for task in alike) and not owned:
        return FEWER
    copied = {task for thread in read(wrong) for task in thread.standby}
    stateful = {key_of(task) for task in (*copied, *sums)}
    return STATELESS if key_of(less) not in stateful else ""


def read(body: GroupGeneration) -> tuple[StreamsThread, ...]:
    threads = threads_of(body)
    return () if isinstance(threads, UnreadableThread) else threads


def summed(done: Sequence[Done]) -> dict[tuple[str, str], Counter[str]]:
    """What came of the mutants, by kind and by cell."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for piece in done:
        for key, count in piece.outcome["counts"].items():
            kind, came = key.split("|")
            found.setdefault((kind, piece.cell), Counter())[came] += count
    return found


def tables(done: Sequence[Done]) -> list[str]:
    """One row for each kind."""
    found = summed(done)
    cells = list(dict.fromkeys(piece.cell for piece in done))
    kinds = sorted({kind for kind, _ in found})
    rows = [(kind, [found.get((kind, cell), Counter()) for cell in cells]) for kind in kinds]
    rows.append(("all", [sum((one for (_, of), one in found.items() if of == cell), Counter()) for cell in cells]))
    title = "Mutants of Streams leaders: noticed of those that Kafka cannot have answered (+ right answers of Kafka)"
    return [table(title, cells, [(kind, [_share(count) for count in counts]) for kind, counts in rows])]


def _share(count: Counter[str]) -> str:
    right = sum(count[one] for one in RIGHT)
    made = count.total() - right
    return f"{count[NOTICED]}/{made}" + (f" (+{right})" if right else "") if count else "-"
