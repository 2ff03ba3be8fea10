"""Clocks that are off: false incidents above info, and up to which skew a true duplicate is still found."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from lab.attack.life import Life
from lab.attack.monitor import MONITOR, Judged, live, replayed
from lab.attack.pieces import Done, Outcome, Piece, table
from lab.attack.planted import kind_of
from lab.attack.truth import captured_doubles, doubles_found, false_alarms, untrue

SWEEP = "clocks"
SKEWS_MS = (50, 100, 200, 500, 1_000, 3_000, 30_000, 300_000, 3_600_000)
TARGETS = ("one worker", "all workers", "one coordinator", "next coordinator", "monitor")
MODES = ("replay", "live")
NEXT = "broker:next"


@dataclass(frozen=True, slots=True)
class Skew:
    """Whose clock is off, by how much (0: none), and how the monitor reads."""

    target: str
    ms: int
    mode: str

    @property
    def cell(self) -> str:
        return f"{self.target} {self.ms:+} ms, {self.mode}"


def skews() -> Iterator[Skew]:
    """All cells. In a replay the monitor has no clock."""
    for mode in MODES:
        yield Skew("nobody", 0, mode)
        for target in TARGETS:
            if (target, mode) != (MONITOR, "replay"):
                for ms in SKEWS_MS:
                    yield Skew(target, ms, mode)
                    yield Skew(target, -ms, mode)


def pieces(lives: Sequence[Life]) -> Iterator[Piece]:
    """Every cell over every life, life by life."""
    for number, life in enumerate(lives):
        for skew in skews():
            yield Piece(SWEEP, skew.cell, life.name, _made(life, skew, number))


def _made(life: Life, skew: Skew, number: int) -> "_Make":
    return _Make(life, skew, number)


@dataclass(frozen=True, slots=True)
class _Make:
    life: Life
    skew: Skew
    number: int

    def __call__(self) -> Outcome:
        return attack(self.life, self.skew, self.number)


def attack(life: Life, skew: Skew, number: int = 0) -> Outcome:
    """One cell over one life; `number` chooses the worker."""
    right = judged_right(life, skew.mode)
    if skew.ms:
        told, offsets_ms = telling(life, skew, number)
        wrong = replayed(told, offsets_ms) if skew.mode == "replay" else live(told, offsets_ms)
        alarms = false_alarms(life, right, wrong)
    else:
        wrong, alarms = right, untrue(life, right)
    if life.truth is None:
        doubles: Counter[str] = Counter(str(sure) for sure in captured_doubles(right, wrong).values())
    else:
        doubles = Counter(str(sure) for sure in doubles_found(life, wrong).values())
    return {
        "generations": len(wrong.grades),
        "false": [one.line() for one in alarms],
        "unexplained": len(set(wrong.unexplained()) - set(right.unexplained())),
        "doubles": dict(doubles),
    }


@cache
def _right(key: tuple[str, str], life: "_ByName") -> Judged:
    return replayed(life.life, {}) if key[1] == "replay" else live(life.life, {})


@dataclass(frozen=True)
class _ByName:
    """A life that is told from others by its name."""

    life: Life

    def __hash__(self) -> int:
        return hash(self.life.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByName) and other.life is self.life


def judged_right(life: Life, mode: str) -> Judged:
    """The life as it was."""
    return _right((life.name, mode), _ByName(life))


def telling(life: Life, skew: Skew, number: int) -> tuple[Life, Mapping[str, int]]:
    """The life and the clocks with which it is told."""
    workers, brokers = life.clocks("worker"), life.clocks("broker")
    match skew.target:
        case "one worker":
            return life, {_one_of(life, workers, number): skew.ms}
        case "all workers":
            return life, dict.fromkeys(workers, skew.ms)
        case "one coordinator":
            return life, {brokers[0]: skew.ms}
        case "next coordinator":
            return taken_over(life), {NEXT: skew.ms}
        case _:
            return life, {MONITOR: skew.ms}


def _one_of(life: Life, workers: Sequence[str], number: int) -> str:
    """The worker whose clock is off: the old owner where a duplicate was planted, else any."""
    if kind_of(life.name) is not None and life.truth is not None:
        process = min(life.truth.duplicates(), key=lambda one: one.start_ms).processes[0]
        return "worker:" + process.partition("#")[0]
    return workers[number % len(workers)]


def taken_over(life: Life) -> Life:
    """Another broker stamps the group's records from the middle on."""
    own = life.own()
    middle = own[len(own) // 2].offset if own else 0
    records = [
        replace(one, clock=NEXT) if one.group is not None and one.offset >= middle else one for one in life.records
    ]
    return replace(life, records=records)


def tables(done: Sequence[Done]) -> list[str]:
    """False incidents above info per target and skew, and true duplicates by how sure the monitor is of them."""
    cells = {skew.cell: skew for skew in skews()}
    false: Counter[tuple[str, str, int]] = Counter()
    sure: dict[tuple[str, str, int], Counter[str]] = {}
    lives: dict[tuple[str, str, int], int] = {}
    for piece in done:
        skew = cells[piece.cell]
        place = (skew.target, skew.mode, skew.ms)
        false[place] += len(piece.outcome["false"]) + piece.outcome["unexplained"]
        sure.setdefault(place, Counter()).update(piece.outcome["doubles"])
        lives[place] = lives.get(place, 0) + 1
    columns = [_named(ms) for ms in SKEWS_MS]
    rows = [
        (f"{target}, {mode}", target, mode)
        for target in TARGETS
        for mode in MODES
        if (target, mode) != (MONITOR, "replay")
    ]
    out = []
    calm = [(f"nobody, {mode}", [str(false[("nobody", mode, 0)])] + [""] * (len(columns) - 1)) for mode in MODES]
    behind_ahead = [
        (
            name,
            [
                f"{false[(target, mode, -ms)]}/{false[(target, mode, ms)]}" if (target, mode, ms) in lives else ""
                for ms in SKEWS_MS
            ],
        )
        for name, target, mode in rows
    ]
    told = max(lives.values(), default=0)
    out.append(
        table(f"False incidents above info, behind/ahead, over {told} lives a cell", columns, [*calm, *behind_ahead])
    )
    found = []
    for name, target, mode in rows:
        at = [sure.get((target, mode, -ms), Counter()) + sure.get((target, mode, ms), Counter()) for ms in SKEWS_MS]
        found.append((name, [_counts(one) if one else "" for one in at]))
    base = sure.get(("nobody", "replay", 0), Counter())
    title = (
        "True duplicates found certain/likely/possible/not at all, both signs together"
        f" (right clocks: {_counts(base)} for one sign)"
    )
    out.append(table(title, columns, found))
    planted = [one for one in done if kind_of(one.life) is not None]
    if planted:
        title = "Planted duplicates: how sure the monitor is of the one it is least sure of, behind/ahead"
        out.append(table(title, columns, list(_least_sure(planted, cells, rows))))
    return out


def _counts(sure: Counter[str]) -> str:
    return "/".join(str(sure[one]) for one in reversed(_SURE))


def _least_sure(
    done: Sequence[Done], cells: Mapping[str, Skew], rows: Sequence[tuple[str, str, str]]
) -> Iterator[tuple[str, list[str]]]:
    least: dict[tuple[str, str, str, int], int] = {}
    for piece in done:
        skew = cells[piece.cell]
        place = (kind_of(piece.life) or "", skew.target, skew.mode, skew.ms)
        for sure in piece.outcome["doubles"]:
            least[place] = min(least.get(place, len(_SURE)), _SURE.index(sure))
    for kind in dict.fromkeys(kind_of(one.life) or "" for one in done):
        for name, target, mode in rows:
            words = [
                "/".join(_WORDS[least.get((kind, target, mode, sign * ms), len(_SURE))] for sign in (-1, 1)).strip("/")
                for ms in SKEWS_MS
            ]
            yield f"{kind}: {name}", words


_SURE = ("None", "possible", "likely", "certain")
_WORDS = ("-", "possible", "likely", "certain", "")


def _named(ms: int) -> str:
    return f"{ms} ms" if ms < 1_000 else f"{ms // 1_000} s"
