"""A Connect group's history under another delay, release or protocol: which workers came and went is kept, and so are
changes of connectors; the rebalances are played again by the leader's assignor.

    recorded, 5 min                      computed, 1 min
    12:00  w3 went, delay                12:00  w3 went, delay
                                         12:01  the delay is over: its 3 tasks go to others
    12:04  w3 is back, gets 3 tasks      12:04  w3 is back, others give up 3 tasks, w3 gets them

A stretch begins and ends where nobody waits, and playing it with the group's own settings must give all its recorded
answers. What lies between stretches is left out. Rebalances take no time here; only delays and absences do. With
another number of workers, a stretch begins once everything is given out among them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise, product

from rebalance_monitor.assignors.connect.eras import ERAS, NEWEST, Era, era_of
from rebalance_monitor.assignors.connect.round import CannotAssign
from rebalance_monitor.assignors.java_table import rests_on_java
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.advice.cluster import Cluster, PlayedRound, Worker
from rebalance_monitor.streaming.core.connect.leader.hypotheses import DEFAULT_MAX_DELAY_MS
from rebalance_monitor.streaming.core.connect.leader.rounds import JAVA_BEFORE_19, JAVA_FROM_19
from rebalance_monitor.streaming.core.connect.observed import EAGER, STATIC
from rebalance_monitor.streaming.core.costs import CONNECT
from rebalance_monitor.streaming.stories.known import Published
from .change import CannotPredict, WrongChange, check_release
from .connect import MOST_JOBS, MOST_WORKERS
from .connect_figures import figures_of, held_by, spread_of
from .connect_past import calm, configured, hands, jobs_of, readable, recorded, settled_memory, shown_max_delay_ms
from .history import HistoryAnswer, HistoryFigures
from .other_members import EARLIER_LIFE, OtherMembers, last_life, with_number

INCREMENTAL = ("compatible", "sessioned")
NOT_CALM = "it came while workers waited or gave up something, after what could not be played"
UNKNOWN_PROTOCOL = "the release does not know the protocol"
NO_FIT = "the workers, connectors and tasks that the records show do not give its recorded answer"


@dataclass(frozen=True, slots=True)
class _Event:
    """What a rebalance came of that no delay and no revocation explains. `members` are those that are there then."""

    at_ms: int
    leader: str
    members: frozenset[str]
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ConnectSetting:
    """What is asked about; None stays as it is. `delay_ms`: scheduled.rebalance.max.delay.ms. `release`: of Kafka.
    `protocol`: as records name it (compatible, sessioned). `workers`: how many there are for most of the time."""

    delay_ms: int | None = None
    release: str | None = None
    protocol: str | None = None
    workers: int | None = None


@dataclass(frozen=True, slots=True)
class PlayedBy:
    """By what a stretch is played. `repeats`: also events that neither members nor connectors and tasks differ by."""

    era: Era
    java_version: int
    delay_ms: int
    protocol: str | None = None
    workers: OtherMembers | None = None
    repeats: bool = True


@dataclass(slots=True)
class _Played:
    """What playing by the group's own settings gives. `computed`: rebalances of the records that lie in stretches, of
    which each has the generation that it begins with, and its events."""

    computed: int = 0
    figures: HistoryFigures = field(default_factory=HistoryFigures)
    left_out: Counter[str] = field(default_factory=Counter)
    stretches: list[tuple[Published, list[_Event]]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Sums:
    """Of one course."""

    own: _Played
    other: HistoryFigures
    first: HistoryFigures | None


def under_setting(generations: Sequence[Published], setting: ConnectSetting, until_ms: int = 0) -> HistoryAnswer:
    """`generations`: the newest first; those of its last life are played. `until_ms`: so long the newest one lasted.
    CannotPredict, WrongChange."""
    if not generations:
        raise CannotPredict("no generation of the group is known in that time")
    life = last_life(generations)
    check(life, setting)
    others = [None] if setting.workers is None else [*with_number(life, setting.workers, until_ms, "workers")]
    # A connector that the eager protocol restarted may write its tasks' settings again; no record tells that it did.
    repeats = (True, False) if life[-1]["protocol"] == EAGER and setting.protocol is not None else (True,)
    found = []
    for own, asked in played_by(generations, setting):
        with suppress(CannotAssign):  # a release that does not know the protocol
            played = _played(life, own)
            for one, workers, repeated in product(asked, others, repeats):
                with suppress(CannotAssign):
                    found.append(_sums(life[-1], played, replace(one, workers=workers, repeats=repeated)))
    if not found:
        raise CannotPredict(UNKNOWN_PROTOCOL)
    most = max(one.own.computed for one in found)
    best = [one for one in found if one.own.computed == most]
    recorded = best[0].own
    if not most:
        told = "; ".join(f"{count} times: {why}" for why, count in recorded.left_out.items())
        raise CannotPredict(f"no rebalance can be computed ({told or 'there was none'})")
    courses = tuple(dict.fromkeys(one.other for one in best))
    first = tuple(dict.fromkeys(one.first for one in best if one.first is not None))
    left_out = +(recorded.left_out + Counter({EARLIER_LIFE: len(generations) - len(life)}))
    return HistoryAnswer(recorded=recorded.figures, courses=courses, left_out=left_out, first=first)


def played_by(generations: Sequence[Published], setting: ConnectSetting) -> Iterator[tuple[PlayedBy, list[PlayedBy]]]:
    """The group's own rules, as its verdicts allow them, and to each those under the setting. `generations`: the newest
    first."""
    life, shown_ms = last_life(generations), shown_max_delay_ms(generations)
    own_ms = DEFAULT_MAX_DELAY_MS if shown_ms is None else shown_ms
    delay_ms = own_ms if setting.delay_ms is None else setting.delay_ms
    widest = max((len(configured(one)) for one in life), default=0)
    javas = (JAVA_BEFORE_19, JAVA_FROM_19) if rests_on_java(range(widest + 1)) else (JAVA_BEFORE_19,)
    named = {name for one in life for name in one["verdict"]["eras"]}
    for era, java in product([ERAS[name] for name in ERAS if name in named] or [NEWEST], javas):
        others = _others(era, setting, life[-1]["protocol"])
        yield PlayedBy(era, java, own_ms), [PlayedBy(one, java, delay_ms, setting.protocol) for one in others]


def _others(own: Era, setting: ConnectSetting, protocol: str) -> Sequence[Era]:
    """By which eras it may be played. The eager protocol does not show its release, so any may follow."""
    if setting.release is None:
        return list(ERAS.values()) if protocol == EAGER and setting.protocol is not None else [own]
    try:
        return [era_of(setting.release)]
    except ValueError as why:
        raise WrongChange(f"{why}; write one such as 4.3") from None


def check(life: Sequence[Published], setting: ConnectSetting) -> None:
    """CannotPredict, WrongChange."""
    if setting.release is not None:
        check_release(setting.release)
    if setting.protocol not in (None, *INCREMENTAL):
        raise WrongChange(f"{setting.protocol!r} is no protocol to change to; take one of {', '.join(INCREMENTAL)}")
    if any(one["protocol_type"] != CONNECT for one in life):
        raise CannotPredict(
            "of consumers only another assignor or number of members, or static members, can be asked about"
        )
    if any("sampled" in one for one in life):
        raise CannotPredict("the group is polled: rebalances between two samples are not known")
    protocols = {one["protocol"] for one in life}
    if STATIC in protocols:
        raise CannotPredict("what workers declare (protocol static) is not published, so its rebalances are not played")
    if EAGER in protocols and setting.protocol is None and setting.workers is None:
        raise CannotPredict(
            "with the eager protocol (connect.protocol=eager) workers wait for nobody, and all releases act alike"
        )
    if any(sum(configured(one).values()) > MOST_JOBS or len(one["members"]) > MOST_WORKERS for one in life):
        raise CannotPredict(f"the group has more than {MOST_JOBS:,} tasks or {MOST_WORKERS} workers")


def _played(life: Sequence[Published], own: PlayedBy) -> _Played:
    made, place = _Played(), 0
    while place + 1 < len(life):
        begins = begins_at(life[place])
        events, end, figures = _stretch(life, place, own) if begins else ([], place, HistoryFigures())
        if end == place:
            made.left_out[NO_FIT if begins else NOT_CALM] += 1
            place += 1
            continue
        made.stretches.append((life[place], events))
        made.computed += end - place
        made.figures += figures
        place = end
    return made


def _sums(last: Published, own: _Played, asked: PlayedBy) -> _Sums:
    total = HistoryFigures()
    for generation, events in own.stretches:
        cluster = begin(generation, asked)
        held = held_by(cluster)
        come = events if asked.repeats else _changes(generation, events)
        for event in _with_others(generation, come, asked.workers):
            _happens(cluster, event)
        cluster.settle()
        total += figures_of(cluster, held)
    return _Sums(own, total, _first(last, asked) if begins_at(last) else None)


def _first(last: Published, asked: PlayedBy) -> HistoryFigures | None:
    """The rebalance that comes once the setting is another one; with another number of workers, all until everything is
    given out among them. None where none of these workers is there now."""
    now = begin(last, replace(asked, workers=None))
    held = held_by(now)
    if asked.workers is None:
        now.rebalance()
        return figures_of(now, held)
    _change(now, frozenset(asked.workers.of(now.workers)))
    now.settle()
    figures = figures_of(now, held)
    return replace(figures, most_held=spread_of(held_by(now)).most_held) if now.workers else None


def _changes(generation: Published, events: Iterable[_Event]) -> Iterator[_Event]:
    """Those by which members, connectors or tasks differ."""
    members, counts = _members(generation), configured(generation)
    for event in events:
        if event.members != members or event.counts != counts:
            yield event
        members, counts = event.members, dict(event.counts)


def _with_others(generation: Published, events: Iterable[_Event], workers: OtherMembers | None) -> Iterator[_Event]:
    """The events with other workers; without those that only came of workers that are not there."""
    if workers is None:
        yield from events
        return
    recorded, there = _members(generation), frozenset(workers.of(_members(generation)))
    counts: Mapping[str, int] = configured(generation)
    for event in events:
        members = frozenset(workers.of(event.members))
        if event.members == recorded or members != there or event.counts != counts:
            yield replace(event, members=members)
        recorded, there, counts = event.members, members, event.counts


def begins_at(generation: Published) -> bool:
    """Whether playing can begin there: all is known, and nobody waits."""
    known = generation["verdict"]["grade"] == "match" and bool(generation["members"])
    return known and readable(generation) and calm(generation)


def _stretch(life: Sequence[Published], first: int, own: PlayedBy) -> tuple[list[_Event], int, HistoryFigures]:
    """The events from a generation on, the last one of the stretch, and its figures: as long as playing gives what is
    recorded."""
    cluster, events = begin(life[first], own), list[_Event]()
    held = held_by(cluster)
    found, place = (0, first, HistoryFigures()), first
    while place + 1 < len(life) and readable(life[place + 1]):
        before, number = life[place], len(cluster.rounds)
        if not _delay_is_over(cluster, before, life[place + 1]):
            event = _event(life[place + 1])
            if not _known(before, life[place + 1]):
                break
            events.append(event)
            _happens(cluster, event)
        fresh = cluster.rounds[number:]
        played = life[place : place + 1 + len(fresh)]
        if not _consecutive(played) or not _as_recorded(fresh, played[1:]):
            break
        place += len(fresh)
        if calm(life[place]):
            found = len(events), place, figures_of(cluster, held)
    return events[: found[0]], found[1], found[2]


def begin(generation: Published, rules: PlayedBy) -> Cluster:
    """The group as it stands after a generation."""
    made = Cluster(
        connectors=configured(generation),
        era=rules.era,
        max_delay_ms=rules.delay_ms,
        protocol=rules.protocol or generation["protocol"],
        leader=generation["leader"],
        generation=generation["generation"],
        now_ms=generation["at_ms"],
        java_version=rules.java_version,
    )
    held = hands(generation, rules.java_version)
    number = generation["generation"]
    made.workers = {name: Worker(era=rules.era, held=own, last_completed=number) for name, own in held.items()}
    made.workers[generation["leader"]].memory = settled_memory(generation)
    if rules.workers is not None:
        _change(made, frozenset(rules.workers.of(made.workers)))
        made.settle()
        made.now_ms, made.last = generation["at_ms"], None
        made.rounds.clear()
        made.waited_ms.clear()
    return made


def _event(generation: Published) -> _Event:
    return _Event(generation["at_ms"], generation["leader"], _members(generation), configured(generation))


def _members(generation: Published) -> frozenset[str]:
    return frozenset(one["member_id"] for one in generation["members"])


def _known(before: Published, now: Published) -> bool:
    """Whether those that came hold nothing yet: what they would hold under another delay is not known."""
    there = {one["member_id"] for one in before["members"]}
    return not any(
        jobs.connectors or jobs.tasks
        for jobs in (jobs_of(one["owned"]) for one in now["members"] if one["member_id"] not in there)
    )


def _delay_is_over(cluster: Cluster, before: Published, now: Published) -> bool:
    """The rebalance that a delay was announced for, if this is one: it is played."""
    same = {one["member_id"] for one in before["members"]} == {one["member_id"] for one in now["members"]}
    if not cluster.delay_ms or not same or configured(before) != configured(now):
        return False
    if now["at_ms"] < cluster.rounds[-1].at_ms + cluster.delay_ms:
        return False
    cluster.wait(cluster.delay_ms)
    return True


def _happens(cluster: Cluster, event: _Event) -> None:
    """What falls due before it happens first."""
    cluster.wait(max(0, event.at_ms - cluster.now_ms))
    cluster.connectors = dict(event.counts)
    if event.leader in event.members:
        cluster.leader = event.leader
    _change(cluster, event.members)


def _change(cluster: Cluster, members: frozenset[str]) -> None:
    """These are the workers from now on. Where the leader is none of them, the first of them leads."""
    for gone in cluster.workers.keys() - members:
        del cluster.workers[gone]
    for name in sorted(members - cluster.workers.keys()):
        cluster.workers[name] = Worker(era=cluster.era)
    if cluster.workers:
        cluster.rebalance()


def _consecutive(generations: Sequence[Published]) -> bool:
    return all(now["generation"] == before["generation"] + 1 for before, now in pairwise(generations))


def _as_recorded(rounds: Iterable[PlayedRound], generations: Sequence[Published]) -> bool:
    played = list(rounds)
    return 0 < len(played) == len(generations) and all(
        recorded(one.result, generation) for one, generation in zip(played, generations, strict=True)
    )
