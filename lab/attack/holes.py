"""Records that are missing, or come twice: what the monitor says then above what the full record shows.

hole         one to three neighbouring records of the group are left out
status       one status record is left out that a later one of its key replaces
last status  one is left out that no later one replaces: its worker has not written it, for compaction keeps those
stale        a record of the group is written again, several records later
compacted    the live job was down while compaction left only the last record of each key

A reader that keeps up misses nothing, so single holes are a matter of `replay`, and of a job that was down.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from lab.attack.clocks import judged_right
from lab.attack.life import Life, without
from lab.attack.monitor import CERTAINTIES, Downtime, Judged, live, replayed
from lab.attack.pieces import Done, Outcome, Piece, table
from lab.attack.truth import really_so
from lab.simulated.log import Written
from rebalance_monitor.streaming.core.replay import OFFSETS_TOPIC

SWEEP = "holes"
MODES = ("replay", "live")
KINDS = ("hole of 1", "hole of 2", "hole of 3", "status", "last status", "stale", "compacted")
MODES_OF = {"stale": MODES, "compacted": ("live",)}
MOST = {"replay": 16, "live": 6}
"""Places that are tried per life and kind; chosen by the life's name, the same every time."""


@dataclass(frozen=True, slots=True)
class _Make:
    life: Life
    kind: str
    mode: str

    def __call__(self) -> Outcome:
        return attack(self.life, self.kind, self.mode)


def pieces(lives: Sequence[Life]) -> Iterator[Piece]:
    """Every kind over every life."""
    for life in lives:
        for kind in KINDS:
            for mode in MODES_OF.get(kind, ("replay",)):
                yield Piece(SWEEP, f"{kind}, {mode}", life.name, _Make(life, kind, mode))


def attack(life: Life, kind: str, mode: str) -> Outcome:
    """All places of one kind in one life."""
    right = judged_right(life, mode)
    places = list(_places(life, kind))
    if len(places) > MOST[mode]:
        places = sorted(Random(f"{life.name} {kind}").sample(places, MOST[mode]))
    unexplained: list[str] = []
    louder: list[str] = []
    for place in places:
        told, down = telling(life, kind, place)
        wrong = replayed(told, {}) if mode == "replay" else live(told, {}, down=down)
        for offset in sorted(set(wrong.unexplained()) - set(right.unexplained())):
            if kind != "stale" or offset in right.grades:
                unexplained.append(f"place {place}: generation {wrong.generations[offset].generation}")
        louder += [f"place {place}: {line}" for line in above(life, right, wrong)]
    return {"places": len(places), "unexplained": unexplained, "louder": louder}


def above(life: Life, right: Judged, wrong: Judged) -> Iterator[str]:
    """Incidents above info that are not so and that the full record does not show, or with less certainty."""
    for found in wrong.loud():
        known = right.found.get(found.key)
        if known is None or not known.loud:
            if not really_so(life, found) and not _part_of(right, found.code, found.subjects):
                yield found.line()
        elif CERTAINTIES.index(found.certainty) > CERTAINTIES.index(known.certainty):
            yield f"surer than the full record ({known.certainty}): {found.line()}"


def _part_of(right: Judged, code: str, subjects: tuple[str, ...]) -> bool:
    """Whether the full record says it of these subjects among others: one incident may name more or fewer."""
    same = [set(one.subjects) for one in right.loud() if one.code == code]
    return bool(subjects) and any(set(subjects) <= one or one <= set(subjects) for one in same)


def _places(life: Life, kind: str) -> Iterator[int]:
    own = len(life.own())
    match kind:
        case "status" | "last status":
            topic = next((one.status_topic for one in life.settings.connect.values()), None)
            places = {place: one.key for place, one in enumerate(life.records) if one.topic == topic}
            newest = {key: place for place, key in places.items()}
            yield from (place for place, key in places.items() if (newest[key] == place) is (kind == "last status"))
        case "stale" | "compacted":
            yield from range(2, own - 6)
        case _:
            yield from range(1, own - int(kind[-1]))


def telling(life: Life, kind: str, place: int) -> tuple[Life, Downtime | None]:
    """The life with this done to it."""
    if kind in ("status", "last status"):
        return without(life, frozenset({place})), None
    at = [number for number, one in enumerate(life.records) if one.group is not None]
    match kind:
        case "stale":
            return _again(life, at[place], at[place + 5]), None
        case "compacted":
            down = Downtime(life.records[at[place]].true_ms + 200, life.records[at[place + 4]].true_ms + 200)
            return _compacted(life, down), down
        case _:
            return without(life, frozenset(at[place : place + int(kind[-1])])), None


def _again(life: Life, first: int, later: int) -> Life:
    """The record at `first` once more right behind the one at `later`."""
    stale, behind = life.records[first], life.records[later]
    copy = replace(stale, offset=behind.offset + 1, true_ms=behind.true_ms + 2)
    told: list[Written] = []
    for record in life.records:
        if record.topic == OFFSETS_TOPIC and record.partition == copy.partition and record.offset > behind.offset:
            record = replace(record, offset=record.offset + 1)
        told.append(record)
    told.insert(later + 1, copy)
    return replace(life, records=sorted(told, key=lambda one: one.true_ms))


def _compacted(life: Life, down: Downtime) -> Life:
    """Of what was written meanwhile, the last record of each key."""
    last = {
        (one.topic, one.partition, one.key): number
        for number, one in enumerate(life.records)
        if one.true_ms < down.to_ms
    }
    gone = frozenset(
        number
        for number, one in enumerate(life.records)
        if down.from_ms <= one.true_ms < down.to_ms and last[one.topic, one.partition, one.key] != number
    )
    return without(life, gone)


def tables(done: Sequence[Done]) -> list[str]:
    """False unexplained, and what is louder or surer than the full record, per kind."""
    places: Counter[str] = Counter()
    unexplained: Counter[str] = Counter()
    louder: Counter[str] = Counter()
    for piece in done:
        places[piece.cell] += piece.outcome["places"]
        unexplained[piece.cell] += len(piece.outcome["unexplained"])
        louder[piece.cell] += len(piece.outcome["louder"])
    rows = [(cell, [str(places[cell]), str(unexplained[cell]), str(louder[cell])]) for cell in places]
    return [table("Holes, stale records, compaction", ["places", "false unexplained", "above the full record"], rows)]
