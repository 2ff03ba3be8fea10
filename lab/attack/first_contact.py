"""The monitor starts somewhere in a life: what came before is gone, or compacted.

From each record of the group on, with the config and status topics compacted up to there, or whole. A right leader's
first answers must not be unexplained, and nothing may be louder than it is where all was seen.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from lab.attack.clocks import judged_right
from lab.attack.holes import above
from lab.attack.life import Life, without
from lab.attack.monitor import live, replayed
from lab.attack.pieces import Done, Outcome, Piece, table

SWEEP = "first-contact"
KINDS = ("group alone, replay", "compacted, replay", "compacted, live")
AFTER = 6
"""Records of the group that are judged after the first."""


@dataclass(frozen=True, slots=True)
class _Make:
    life: Life
    kind: str

    def __call__(self) -> Outcome:
        return attack(self.life, self.kind)


def pieces(lives: Sequence[Life]) -> Iterator[Piece]:
    """Every way to start, over every life."""
    for life in lives:
        for kind in KINDS:
            yield Piece(SWEEP, kind, life.name, _Make(life, kind))


def attack(life: Life, kind: str) -> Outcome:
    """All starts in one life."""
    mode = kind.rpartition(" ")[2]
    right = judged_right(life, mode)
    at = [number for number, one in enumerate(life.records) if one.group is not None]
    first_is: Counter[str] = Counter()
    unexplained: list[str] = []
    louder: list[str] = []
    for place in range(1, len(at)):
        told, start_ms, end_ms = telling(life, kind, place)
        wrong = replayed(told, {}) if mode == "replay" else live(told, {}, start_ms=start_ms, end_ms=end_ms)
        first = life.records[at[place]]
        if first.offset in wrong.grades:
            first_is[str(wrong.grades[first.offset])] += 1
        for offset in sorted(set(wrong.unexplained()) - set(right.unexplained())):
            generation = wrong.generations[offset].generation
            unexplained.append(f"place {place}: generation {generation}{', the first' * (offset == first.offset)}")
        louder += [f"place {place}: {line}" for line in above(life, right, wrong)]
    return {"starts": len(at) - 1, "first": dict(first_is), "unexplained": unexplained, "louder": louder}


def telling(life: Life, kind: str, place: int) -> tuple[Life, int, int]:
    """The life as the monitor finds it; when it starts, just after the group's record at this place; when it ends, just
    before the first record that it does not see."""
    at = [number for number, one in enumerate(life.records) if one.group is not None]
    first, last = at[place], at[min(place + AFTER, len(at) - 1)]
    start_ms = life.records[first].true_ms + 100
    newest = {}
    for number, record in enumerate(life.records):
        if record.true_ms <= start_ms:
            newest[record.topic, record.partition, record.key] = number
    gone = set()
    for number, record in enumerate(life.records):
        before = record.true_ms <= start_ms and newest[record.topic, record.partition, record.key] != number
        own = record.group is not None and number < first
        if own or (before and record.group is None and kind.startswith("compacted")):
            gone.add(number)
        if record.group is not None and number > last:
            gone.add(number)
    unseen = place + AFTER + 1
    until_ms = life.records[at[unseen]].true_ms if unseen < len(at) else life.end_ms + 1
    gone |= {number for number, one in enumerate(life.records) if one.true_ms >= until_ms}
    return replace(without(life, frozenset(gone)), name=life.name), start_ms, until_ms - 1


def tables(done: Sequence[Done]) -> list[str]:
    """The grade of the first verdict, false unexplained there and after, and what is too loud."""
    starts: Counter[str] = Counter()
    first: dict[str, Counter[str]] = {}
    unexplained: Counter[str] = Counter()
    louder: Counter[str] = Counter()
    for piece in done:
        starts[piece.cell] += piece.outcome["starts"]
        first.setdefault(piece.cell, Counter()).update(piece.outcome["first"])
        unexplained[piece.cell] += len(piece.outcome["unexplained"])
        louder[piece.cell] += len(piece.outcome["louder"])
    grades = ("match", "explainable", "not_judged", "unexplained")
    rows = [
        (
            cell,
            [
                str(starts[cell]),
                *(str(first[cell][grade]) for grade in grades),
                str(unexplained[cell]),
                str(louder[cell]),
            ],
        )
        for cell in starts
    ]
    columns = ["starts", *(f"first {grade}" for grade in grades), "false unexplained in all", "too loud"]
    return [table("First contact", columns, rows)]
