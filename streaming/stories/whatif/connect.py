"""The rebalances that a change of a Connect group brings: its workers as the last record shows them, played in memory
by the leader's own assignor (`core/connect/advice/cluster.py`).

    leave w3       round 1   the leader misses 3 tasks and waits; after the delay they go to the others      round 2
    add w4         round 1   others give up tasks                                 at once they go to w4       round 2
    w1 (leads)     round 1   another worker leads, which knows nothing of the loss: all is given out at once

Each course is played for every release family that the verdicts allow, every member that may lead next, and several ids
that Kafka may make up. Rebalances take no time here; only delays and absences do.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rebalance_monitor.assignors.connect.eras import ERAS, Era
from rebalance_monitor.assignors.connect.model import LeaderMemory
from rebalance_monitor.assignors.java_table import rests_on_java
from rebalance_monitor.streaming.core.connect.advice.cluster import Cluster, PlayedRound, Worker
from rebalance_monitor.streaming.core.connect.advice.words import releases
from rebalance_monitor.streaming.core.connect.leader.hypotheses import DEFAULT_MAX_DELAY_MS
from rebalance_monitor.streaming.core.connect.leader.rounds import JAVA_BEFORE_19, JAVA_FROM_19
from rebalance_monitor.streaming.core.connect.observed import EAGER, STATIC, ConnectorOrTask, job_name
from rebalance_monitor.streaming.core.model.messages import listed
from rebalance_monitor.streaming.stories.durations import exact
from rebalance_monitor.streaming.stories.holdings import CONNECTOR
from rebalance_monitor.streaming.stories.known import Published
from .change import BY_ID, TRIED, CannotPredict, Concerned, GroupChange, Ids, WrongChange, concerned, ids_to_come
from .connect_past import Mind, configured, hands, mind_of, readable, shown_max_delay_ms
from .outcome import Course, Prediction, ToCome, cases_of

MOST_JOBS, MOST_WORKERS = 20_000, 500
_REVOKED = "the rebalance that follows a revocation"
DEFAULT_PRESUMED = (
    f"scheduled.rebalance.max.delay.ms is presumed to be Kafka's default, {exact(DEFAULT_MAX_DELAY_MS)}:"
    " no known rebalance shows it"
)
_DELAY_OVER = "the delay is over"


@dataclass(frozen=True, slots=True)
class _Start:
    """What every course begins with."""

    generations: Sequence[Published]
    who: Concerned
    change: GroupChange
    now_ms: int
    max_delay_ms: int
    presumes_delay: bool
    counts: Mapping[str, int]

    @property
    def generation(self) -> Published:
        return self.generations[0]


def predict(change: GroupChange, generations: Sequence[Published], now_ms: int, ids: Ids = ids_to_come) -> Prediction:
    """`generations`: the newest first, all of one life of the group. CannotPredict, WrongChange."""
    start, notes = _start(change, generations, now_ms)
    generation, eager = start.generation, start.generation["protocol"] == EAGER
    eras = [ERAS[name] for name in ERAS if name in generation["verdict"]["eras"]] or list(ERAS.values())
    courses: list[tuple[str, Course]] = []
    unknown: dict[str, None] = {}
    # Java's release shows in the order of many connectors alone.
    javas = (JAVA_BEFORE_19, JAVA_FROM_19) if rests_on_java(range(len(start.counts) + 1)) else (JAVA_BEFORE_19,)
    for era in eras[-1:] if eager else reversed(eras):
        for java_version in javas:
            minds = _minds(start, era, java_version)
            for mind, leaders in minds:
                given = [] if len(eras) == 1 or eager else [f"leaders of Kafka {releases(era)}"]
                if len(minds) > 1:
                    given.append(f"{listed([start.who.names[one] for one in leaders])} leads")
                if mind.doubt and not eager:
                    unknown[mind.doubt] = None
                for joining, back in ids(change, start.who, generation):
                    cluster = _cluster(start, era, java_version, mind.memory, leaders[0] if leaders else "")
                    courses.append((", ".join(given), _course(start, cluster, joining, back)))
    cases = cases_of(courses)
    if start.presumes_delay and any(
        one.delay_ms for case in cases for course in case.courses for one in course.to_come
    ):
        notes.append(f"{DEFAULT_PRESUMED} (--max-delay says another one).")
    if any(len(case.courses) > 1 for case in cases):
        unknown[BY_ID] = None
    if change.join or start.who.bouncing:
        unknown[TRIED] = None
    return Prediction(cases=cases, eager=eager, presumed=tuple(notes), unknown=tuple(unknown))


def _start(change: GroupChange, generations: Sequence[Published], now_ms: int) -> tuple[_Start, list[str]]:
    generation = generations[0]
    if generation["protocol"] == STATIC:
        raise CannotPredict(
            "what workers declare (protocol static) is not published, so its rebalances are not predicted"
        )
    if not readable(generation):
        raise CannotPredict("not all of the last record's members could be read")
    verdict = generation["verdict"]
    if verdict["grade"] in ("unexplained", "not_judged"):
        raise CannotPredict(f"the last verdict is {verdict['grade'].replace('_', ' ')}: {verdict['reason']}")
    counts = configured(generation)
    if sum(counts.values()) > MOST_JOBS or len(generation["members"]) > MOST_WORKERS:
        raise CannotPredict(f"the group has more than {MOST_JOBS:,} tasks or {MOST_WORKERS} workers")
    for name, tasks in change.scale.items():
        if name not in counts:
            raise WrongChange(
                f"no connector {name} is held in the group; it has {listed(sorted(counts), 20) or 'none'}"
            )
        if tasks == counts[name]:
            raise WrongChange(
                f"connector {name} has {tasks} tasks already, so no rebalance comes of that; leave it out"
            )
    who = concerned(change, generation)
    if not generation["members"] and not change.join:
        raise WrongChange("nobody is in the group")
    notes = ["What is configured is what the last record shows: what members hold, and what nobody has."]
    known_ms = shown_max_delay_ms(generations) if change.max_delay_ms is None else change.max_delay_ms
    if change.scale:
        notes.append("The connector makes as many tasks as are said; tasks.max is only their upper bound.")
    max_delay_ms = DEFAULT_MAX_DELAY_MS if known_ms is None else known_ms
    at_ms = max(now_ms, generation["at_ms"])
    return _Start(generations, who, change, at_ms, max_delay_ms, known_ms is None, counts), notes


def _minds(start: _Start, era: Era, java_version: int) -> list[tuple[Mind, list[str]]]:
    """What the next leader may remember, with the members that would remember this. A leader leads on until it leaves;
    who follows it, no record tells."""
    gone = {*start.who.leaving, *start.who.bouncing}
    leader = start.generation["leader"]
    stays = [one["member_id"] for one in start.generation["members"] if one["member_id"] not in gone]
    leads = [leader] if leader in stays else stays
    found: list[tuple[Mind, list[str]]] = []
    for one in leads:
        mind = mind_of(one, start.generations, era, start.max_delay_ms, java_version)
        same = next((members for known, members in found if known == mind), None)
        if same is None:
            found.append((mind, [one]))
        else:
            same.append(one)
    return found or [(Mind(LeaderMemory()), [])]


def _cluster(start: _Start, era: Era, java_version: int, memory: LeaderMemory, leader: str) -> Cluster:
    generation = start.generation
    made = Cluster(
        connectors=dict(start.counts),
        era=era,
        max_delay_ms=start.max_delay_ms,
        protocol=generation["protocol"],
        leader=leader,
        generation=generation["generation"],
        now_ms=start.now_ms,
        java_version=java_version,
    )
    number = generation["generation"]
    held = hands(generation, java_version)
    made.workers = {name: Worker(era=era, held=own, last_completed=number) for name, own in held.items()}
    if leader:
        made.workers[leader].memory = memory
    return made


def _course(start: _Start, cluster: Cluster, joining: Mapping[str, str], back: Mapping[str, str]) -> Course:
    """Plays the change until the group is at rest."""
    names = {**start.who.names, **joining, **{new: start.who.names[old] for old, new in back.items()}}
    before = {names[name]: _names(worker.jobs) for name, worker in cluster.workers.items()}
    for gone in (*start.who.leaving, *back):
        del cluster.workers[gone]
    for name in joining:
        cluster.workers[name] = Worker(era=cluster.era)
    cluster.connectors.update(start.change.scale)
    if cluster.workers:
        cluster.rebalance()
    if back:
        cluster.wait(start.change.away_ms)
        for name in back.values():
            cluster.workers[name] = Worker(era=cluster.era)
        cluster.rebalance()
    cluster.settle()
    holds = {names[name]: _names(worker.jobs) for name, worker in cluster.workers.items()}
    return Course(
        to_come=tuple(_to_come(start, cluster.rounds, names, before)),
        holds=dict(sorted(holds.items())),
        idle_ms=None if cluster.unheld() else sum(cluster.waited_ms.values()),
    )


def _to_come(
    start: _Start,
    rounds: Sequence[PlayedRound],
    names: Mapping[str, str],
    before: Mapping[str, tuple[str, ...]],
) -> Iterator[ToCome]:
    number, last = int(start.generation["generation"]), None
    gets: _Shares
    up: _Shares
    for one in rounds:
        number += 1
        shares = one.result.shares
        gets = {names[member]: _names((*s.assigned.connectors, *s.assigned.tasks)) for member, s in shares.items()}
        up = {names[member]: _names((*s.revoked.connectors, *s.revoked.tasks)) for member, s in shares.items()}
        if start.generation["protocol"] == EAGER:
            gets, up, before = _changes(before, gets)
        yield ToCome(
            generation=number,
            why=_why(start, one, last),
            after_ms=one.at_ms - start.now_ms,
            gets={name: own for name, own in sorted(gets.items()) if own},
            gives_up={name: own for name, own in sorted(up.items()) if own},
            idle=_names(one.unheld),
            delay_ms=one.result.delay_ms,
        )
        last = one


_Shares = Mapping[str, tuple[str, ...]]


def _changes(before: _Shares, after: _Shares) -> tuple[_Shares, _Shares, _Shares]:
    """What each gets and gives up where everybody is told all that it has."""
    gets = {name: tuple(one for one in own if one not in before.get(name, ())) for name, own in after.items()}
    up = {name: tuple(one for one in before.get(name, ()) if one not in own) for name, own in after.items()}
    return gets, up, after


def _why(start: _Start, one: PlayedRound, last: PlayedRound | None) -> str:
    if last is None and one.at_ms == start.now_ms:
        return start.change.begins()
    if last is None:
        return _back(start)
    if any(share.revoked for share in last.result.shares.values()):
        return _REVOKED
    if last.result.delay_ms and one.at_ms == last.at_ms + last.result.delay_ms:
        return _DELAY_OVER
    return _back(start)


def _back(start: _Start) -> str:
    return f"{listed([start.who.names[name] for name in start.who.bouncing])} is back"


def _names(jobs: Iterator[ConnectorOrTask] | Sequence[ConnectorOrTask] | frozenset[ConnectorOrTask]) -> tuple[str, ...]:
    named = sorted(jobs, key=lambda one: (one, -1) if isinstance(one, str) else one)
    return tuple(f"{one}{CONNECTOR}" if isinstance(one, str) else job_name(one) for one in named)
