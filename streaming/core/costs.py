"""What rebalances cost: each figure declared once, for the table, the API, the command, docs/cost.md and the dashboard.

A cost is computed of the object of a generation alone: for captures by `cost_of` here, and when an object is written by
the database's function of that name (store/sql/0002_costs.sql). A test holds one against the other. Sums add up:

    generation 9   moved 0    of 1      stopped_ms    0   of 1
    generation 10  moved 3    of 1      stopped_ms null   of 0      not known
    both           moved 3    of 2      stopped_ms    0   of 1      at least 0: of one rebalance it is not known

What a rebalance cost is split by connector where its object says whose it is; the rest is not split, and both together
are always what it cost. A rebalance counts with each connector that it concerns, so only amounts add up:

    generation 10  a: moved 2  of 1,  b: moved 1  of 1                             nothing is left
    generation 11  moved 5     of 1      an older release wrote it                 5 are not split
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from .columns import date_of, day_of
from .model.findings import Certainty, Part
from .model.messages import utc
from .model.subjects import connector_of

Object = dict[str, Any]
TeamNamed = Callable[[str, str], str]
"""(cluster, group) -> team, "" where nobody owns the group."""
CONNECT = "connect"
NO_CAUSE = "none"
HANDED_OVER = ("moved_in_two_steps", "moved_at_once", "returned")
"""Moves of what somebody had before: where it ran, statuses tell of an interruption."""
DOUBLED = "CONNECT-K2"
"""The rule whose findings say that two workers run something."""
HOW_LONG_UNKNOWN = ("no_stop", "not_known")
"""Interruptions of which nobody knows how long they were."""


class FigureOf(NamedTuple):
    """A figure of one rebalance: None where nothing of it is known. `whole`: it is all of it."""

    amount: int | None
    whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CostFigure:
    """One figure. `name`: of the column and of the key; `<name>_of` is of how many rebalances all of it is known.
    `says`: what is counted; `unknown`: of which rebalances it is not known, or not all of it. `at_least`: it is a lower
    bound even so. `by_connector`: how much of it is of each connector, as the object says; None: no object says it."""

    name: str
    title: str
    unit: str
    says: str
    unknown: str
    of: Callable[[Object], FigureOf]
    at_least: bool = False
    by_connector: Callable[[Object], Mapping[str, int]] | None = None


def _moved(generation: Object) -> FigureOf:
    gained = sum(len(change["gained"]) for change in generation["diff"].values())
    return FigureOf(gained, whole=not _polled(generation))


def _unassigned(generation: Object) -> FigureOf:
    if not _connect(generation) or _polled(generation) or "emptied" in generation:
        return FigureOf(None)
    return FigureOf(sum(generation["idle_ms"].values()))


def _stopped(generation: Object) -> FigureOf:
    if not _connect(generation):
        return FigureOf(None)
    told = generation["downtime"]
    known = [one["total_ms"] for one in told if one["kind"] not in HOW_LONG_UNKNOWN]
    if known:
        return FigureOf(sum(known), whole=len(known) == len(told) and "emptied" not in generation)
    silent = "emptied" in generation or any(move["kind"] in HANDED_OVER for move in generation["moves"])
    return FigureOf(None if told or silent or not generation["settled"] else 0)


def _doubled(generation: Object) -> FigureOf:
    """Findings tell it: of a rebalance it is only known that statuses were told."""
    stopped = _stopped(generation)
    return FigureOf(None if stopped.amount is None or not stopped.whole else 0)


def _held_up(generation: Object) -> FigureOf:
    held = generation.get("held_up") or {}
    return FigureOf(None if "followed" in held else held.get("records"))


def _moved_each(generation: Object) -> Mapping[str, int]:
    return {name: one.get("moved", 0) for name, one in generation.get("by_connector", {}).items()}


def _unassigned_each(generation: Object) -> Mapping[str, int]:
    return {name: one.get("idle_ms", 0) for name, one in generation.get("by_connector", {}).items()}


def _stopped_each(generation: Object) -> Mapping[str, int]:
    found = Counter[str]()
    for one in generation["downtime"]:
        found.update(one.get("by_connector", {}))
    return found


def _connect(generation: Object) -> bool:
    return bool(generation["protocol_type"] == CONNECT)


def _polled(generation: Object) -> bool:
    return "sampled" in generation


FIGURES = (
    CostFigure(
        name="moved",
        title="moved",
        unit="connectors, tasks and partitions",
        says="What workers, instances or members gained against the generation before; of the first generation that is"
        " known of a group, all that it assigns. An assignment that cannot be read counts as an empty one.",
        unknown="A group that is polled: more may have moved between two looks.",
        of=_moved,
        by_connector=_moved_each,
    ),
    CostFigure(
        name="unassigned_ms",
        title="unassigned",
        unit="ms of tasks",
        says="How long tasks of Connect were in no worker's hands, by the group's records, all tasks together. Each"
        " record counts the time since the record before, for each task that nobody had after that one.",
        unknown="A generation before which the group had no members; a group that is polled, and one that is not"
        " Connect's.",
        of=_unassigned,
        by_connector=_unassigned_each,
    ),
    CostFigure(
        name="stopped_ms",
        title="stopped",
        unit="ms of connectors and tasks",
        says="How long connectors and tasks did not run, by their statuses, all together: from the end at the old"
        " worker to the start at the new one, by the best estimate where the old one vanished. It counts with the"
        " generation in which it runs again. Time in which it was also unassigned is in both figures.",
        unknown="A generation without its last word; one that hands something over of which no status says that it had"
        " stopped, or before which the group had no members (what statuses tell is at least so much); an interruption"
        " of kind `no_stop` or `not_known`; a group that is not Connect's.",
        of=_stopped,
        by_connector=_stopped_each,
    ),
    CostFigure(
        name="doubled_ms",
        title="doubled",
        unit="ms of connectors and tasks",
        says="How long connectors and tasks ran on two workers, by their statuses, all together: findings of"
        f" `duplicate_active` ({DOUBLED}) that are over, and that were certain or likely. At least, because what is"
        " only possible or not over is not counted. It counts with the day on which its incident opened, and not with a"
        " rebalance: its cause is empty.",
        unknown="The same as of `stopped_ms`.",
        of=_doubled,
        at_least=True,
        by_connector=lambda _: {},
    ),
    CostFigure(
        name="held_up",
        title="held up",
        unit="records",
        says="By how many records the lag of the group grew above the largest one before ([lag](lag.md)).",
        unknown="What samples of offsets do not show, or not yet; a rebalance that others followed before a sample lay"
        " between them, or before the group had caught up (what all of them held up together is counted once, with the"
        " last one).",
        of=_held_up,
    ),
)
"""In the order of columns and keys."""
BY: Mapping[str, str] = {
    "cluster": "The cluster.",
    "group": "The group, with its cluster.",
    "team": "Whose group it is, by `groups` of the configuration as it is now; empty: nobody's.",
    "connector": "The connector of Kafka Connect, with its group: it and its tasks together; *not split* (empty): what"
    " is known of the group as a whole alone.",
    "cause": "Kind of the rebalance's first cause; none: the records name none; empty: of `doubled_ms`.",
    "month": "Month of the record, as 2026-01, in UTC.",
    "day": "Day of the record, as 2026-01-10, in UTC.",
    "rebalance": "The rebalance, with its group: time of the record and generation; empty: of `doubled_ms`, and of days"
    " of which only sums are left.",
}
"""What a sum can be split by."""


@dataclass(frozen=True, slots=True)
class CostSums:
    """What some rebalances cost together: amounts in the order of FIGURES, None where nothing of one is known, and of
    how many rebalances all of each is known."""

    rebalances: int
    amounts: tuple[int | None, ...] = (None,) * len(FIGURES)
    known_of: tuple[int, ...] = (0,) * len(FIGURES)

    def __add__(self, other: "CostSums") -> "CostSums":
        return CostSums(
            self.rebalances + other.rebalances,
            tuple(map(_added, self.amounts, other.amounts)),
            tuple(one + more for one, more in zip(self.known_of, other.known_of, strict=True)),
        )

    def published(self) -> dict[str, Any]:
        told: dict[str, Any] = {"rebalances": self.rebalances}
        for figure, amount, known in zip(FIGURES, self.amounts, self.known_of, strict=True):
            told |= {figure.name: amount, f"{figure.name}_of": known}
        return told


@dataclass(frozen=True, slots=True)
class CostEntry:
    """What some rebalances cost together, and which ones these are, by words of BY."""

    words: Mapping[str, str]
    sums: CostSums


@dataclass(frozen=True, slots=True, kw_only=True)
class CostQuestion:
    """Which rebalances, and what their sums are split by: words of BY. Moments stand for their days, ms."""

    by: tuple[str, ...]
    cluster: str | None = None
    group: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None

    @property
    def days(self) -> tuple[int | None, int | None]:
        """The first and the last day; None: no bound."""
        since, until = (None if ms is None else day_of(ms) for ms in (self.since_ms, self.until_ms))
        return since, until

    @property
    def needed(self) -> tuple[str, ...]:
        """The words that entries must have: a team is that of a cluster's group."""
        wanted = {"cluster", "group", *self.by} - {"team"} if "team" in self.by else {*self.by}
        return tuple(word for word in BY if word in wanted)

    def asks_for(self, cluster: str, group: str, at_ms: int) -> bool:
        """Whether a rebalance is among those that are asked about."""
        since, until = self.days
        named = self.cluster in (None, cluster) and self.group in (None, group)
        return named and (since is None or since <= day_of(at_ms)) and (until is None or day_of(at_ms) <= until)


def sums_of(row: Sequence[int | None]) -> CostSums:
    """Of the columns of the table: rebalances, then amount and number of each figure."""
    count, *figures = row
    return CostSums(count or 0, tuple(figures[::2]), tuple(number or 0 for number in figures[1::2]))


def cost_of(generation: Object) -> CostSums:
    """What one rebalance cost, by the object of its generation; of one that repeats another, what it cost beside."""
    told = [figure.of(generation) for figure in FIGURES]
    if generation.get("repeats"):
        return CostSums(0, tuple(one.amount or None for one in told))
    whole = tuple(int(one.whole and one.amount is not None) for one in told)
    return CostSums(1, tuple(one.amount for one in told), whole)


def entry_of(generation: Object, cluster: str, group: str) -> CostEntry:
    """One rebalance with every word but its team."""
    at_ms, causes = generation["at_ms"], generation["cause"]
    named = {
        "cause": causes[0]["kind"] if causes else NO_CAUSE,
        "rebalance": f"{utc(at_ms)} generation {generation['generation']}",
    }
    return CostEntry({**_words(cluster, group, at_ms), **named}, cost_of(generation))


def split(entry: CostEntry, generation: Object) -> Iterator[CostEntry]:
    """The same by connector: of each that the rebalance concerns, and what is not split, if anything is left. A figure
    of which connectors would have more than there is belongs to none."""
    whole, told = entry.sums, [one.by_connector and one.by_connector(generation) for one in FIGURES]
    owns = [
        own if own is not None and amount is not None and sum(own.values()) <= amount else None
        for own, amount in zip(told, whole.amounts, strict=True)
    ]
    for name in sorted({name for own in told if own is not None for name in own}):
        amounts = tuple(None if own is None else own.get(name, 0) for own in owns)
        known_of = tuple(0 if own is None else of for own, of in zip(owns, whole.known_of, strict=True))
        yield CostEntry({**entry.words, "connector": name}, CostSums(whole.rebalances, amounts, known_of))
    left = tuple(
        amount if amount is None or own is None else amount - sum(own.values())
        for own, amount in zip(owns, whole.amounts, strict=True)
    )
    if any(left):
        yield CostEntry({**entry.words, "connector": ""}, replace(whole, amounts=left))


def doubled_of(incident: Object, part: Part) -> CostEntry | None:
    """What one finding of an incident tells; None if it does not say how long something was doubled."""
    known = part.certainty in (Certainty.CERTAIN, Certainty.LIKELY)
    if part.code != DOUBLED or part.resolved_at_ms is None or not known:
        return None
    lasted_ms = part.resolved_at_ms - part.opened_at_ms
    amounts = tuple(lasted_ms if figure.of is _doubled else None for figure in FIGURES)
    words = _words(incident["cluster"], incident["group"], incident["opened_at_ms"])
    named = {name for name in map(connector_of, part.subjects) if name}
    connector = named.pop() if len(named) == 1 else ""
    return CostEntry({**words, "cause": "", "rebalance": "", "connector": connector}, CostSums(0, amounts))


def _words(cluster: str, group: str, at_ms: int) -> dict[str, str]:
    day = date_of(day_of(at_ms))
    return {"cluster": cluster, "group": group, "month": day[:7], "day": day}


def by_of(text: str) -> tuple[str, ...]:
    """`cause,team` as words of BY; what has its name from another one is behind that. ValueError with a sentence."""
    words = list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    for word in words:
        if word not in BY:
            raise ValueError(f"{word[:60]!r} is nothing to split costs by; take words of {', '.join(BY)}")
    for word, before in (("rebalance", "group"), ("connector", "group"), ("group", "cluster")):
        if word in words and before not in words:
            words.insert(words.index(word), before)
    return tuple(words)


def summed(entries: Iterable[CostEntry], by: Sequence[str], team_of: TeamNamed) -> list[CostEntry]:
    """One entry for each combination of these words, in their order."""
    found: dict[tuple[str, ...], CostSums] = {}
    for one in entries:
        words = one.words
        key = tuple(team_of(words["cluster"], words["group"]) if word == "team" else words[word] for word in by)
        found[key] = found[key] + one.sums if key in found else one.sums
    return [CostEntry(dict(zip(by, key, strict=True)), found[key]) for key in sorted(found)]


def answer(
    entries: Iterable[CostEntry],
    question: CostQuestion,
    team_of: TeamNamed,
    being_cut: Iterable[int] = (),
    total: CostSums | None = None,
) -> dict[str, Any]:
    """What the API says, and the command of a capture. `entries`: those that are asked about, with the words `needed`;
    `being_cut`: days that are in no sum, because they are being summed up now; `total`: of entries by connector, whose
    rebalances do not add up."""
    lines = summed(entries, question.by, team_of)
    total = sum((one.sums for one in lines), start=CostSums(0)) if total is None else total
    since, until = (None if day is None else date_of(day) for day in question.days)
    return {
        "since": since,
        "until": until,
        "by": list(question.by),
        "total": total.published(),
        "lines": [{**one.words, **one.sums.published()} for one in lines],
        "being_cut": [date_of(day) for day in being_cut],
    }


def answer_of_objects(
    generations: Iterable[tuple[CostEntry, Object]],
    doubled: Iterable[CostEntry],
    question: CostQuestion,
    team_of: TeamNamed,
) -> dict[str, Any]:
    """The answer of what is asked about: entries with the objects that they are of, and those of findings."""
    told, found = [*generations], [*doubled]
    entries = [*(entry for entry, _ in told), *found]
    if "connector" not in question.by:
        return answer(entries, question, team_of)
    total = sum((one.sums for one in entries), start=CostSums(0))
    return answer([*(one for of in told for one in split(*of)), *found], question, team_of, total=total)


def _added(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other
