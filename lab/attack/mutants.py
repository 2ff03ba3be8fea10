"""Wrong answers: one thing in one leader's answer changed; how many the monitor notices.

dropped, doubled, moved, swapped    a job that is handed out
kept                                a revocation left out
delay halved, delay + 1 ms          the announced delay
no delay                            the delay left out

Noticed is what is unexplained, or breaks a rule above info that the right answer does not break, in this record or in
the next. Some of the others are the very answers of a right leader: the verdict's run gives them from a clock, or a
config snapshot, that a right leader may have had (`right_for`). The rest is missed.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from lab.attack.life import Life
from lab.attack.pieces import Done, Outcome, Piece, table
from lab.simulated_group.protocol import Job
from rebalance_monitor.assignors.connect.wire_entries import wire_entries_assigned, wire_entries_revoked
from rebalance_monitor.schemas.connect_protocol import ConnectAssignment, encode_assignment
from rebalance_monitor.streaming.core.connect.reasons import CLOCKS_APART, CONFIG_BEHIND
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import fold_group, route
from rebalance_monitor.streaming.core.model.records import GroupGeneration, MemberRow, Row, Tick
from rebalance_monitor.streaming.core.model.results import Generation, Grade, Part, Result, Severity, Verdict
from rebalance_monitor.streaming.core.replay import OFFSETS_TOPIC, decode

SWEEP = "mutants"
FOLLOWS_MS = 30_000
"""The least of both time-outs together in the simulated clusters: by then a leader has asked for its next round."""
Members = tuple[MemberRow, ...]


@dataclass(frozen=True, slots=True)
class _Make:
    life: Life

    def __call__(self) -> Outcome:
        return attack(self.life)


def pieces(lives: Sequence[Life]) -> Iterator[Piece]:
    for life in lives:
        yield Piece(SWEEP, "all kinds", life.name, _Make(life))


def attack(life: Life) -> Outcome:
    """Every kind of mutant of every generation that is a match, one of each."""
    rows = [row for one in life.records if (row := decode(one.stamped(), life.settings)) is not None]
    routed = route(rows, life.settings)[life.group]
    own = sorted((row for row in routed if row.topic == OFFSETS_TOPIC), key=lambda row: row.offset)
    rest = [row for row in routed if row.topic != OFFSETS_TOPIC]
    fold = _folding(life)
    state = fold(None, rest)[0]
    random = Random(f"mutants of {life.name}")
    made: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    right: Counter[str] = Counter()
    examples: list[str] = []
    before: GroupGeneration | None = None
    for row, following in zip(own, [*own[1:], None], strict=True):
        after, results = fold(state, [row])
        body = row.body
        if isinstance(body, GroupGeneration) and body.members and _grade(results) is Grade.MATCH:
            for kind, members in mutants(body, random):
                made[kind] += 1
                wrong_state, wrong = fold(state, [replace(row, body=replace(body, members=members))])
                noticed = _grade(wrong) is Grade.UNEXPLAINED or bool(loud(wrong) - loud(results))
                if not noticed and following is not None:
                    noticed = bool(loud(fold(wrong_state, [following])[1]) - loud(fold(after, [following])[1]))
                if noticed:
                    continue
                quiet_ms = None if following is None else following.timestamp_ms - row.timestamp_ms
                running = _is_rest(body, before)
                if right_for(_verdict(wrong), rest=running and kind.startswith("delay"), quiet_ms=quiet_ms):
                    right[kind] += 1
                else:
                    missed[kind] += 1
                    why = _verdict(wrong).why or _verdict(wrong).grade
                    examples.append(f"{kind}: generation {body.generation}, {why}")
        state = after
        before = body if isinstance(body, GroupGeneration) else None
    return {"made": dict(made), "missed": dict(missed), "right": dict(right), "examples": examples}


def right_for(verdict: Verdict, *, rest: bool, quiet_ms: int | None) -> str:
    """Which right leader gives the answer with this verdict; "" for none. `rest`: it announces another rest of a delay
    that runs; `quiet_ms`: the time to the next record."""
    if rest and verdict.grade is Grade.MATCH:
        return "one whose clock reads another time between the two that the record shows"
    if rest and verdict.reason == CLOCKS_APART:
        return "one whose clock, or the coordinator's, was set between the two records"
    if verdict.reason == CONFIG_BEHIND and quiet_ms is not None and quiet_ms < FOLLOWS_MS:
        return "one that had not applied the last config record, and whose rebalance follows in time"
    return ""


def _is_rest(body: GroupGeneration, before: GroupGeneration | None) -> bool:
    """Whether the answer announces the rest of the delay that its leader announced in the record before."""
    if before is None or not before.members or before.leader != body.leader:
        return False
    known = before.members[0].assignment
    return isinstance(known, ConnectAssignment) and known.delay_ms > _answer(body.members[0]).delay_ms > 0


Fold = Callable[[Saved | None, Sequence[Row]], tuple[Saved, Sequence[Result]]]


def _folding(life: Life) -> Fold:
    def fold(state: Saved | None, rows: Sequence[Row]) -> tuple[Saved, Sequence[Result]]:
        outcome = fold_group(life.settings, life.group, state, rows, Tick(0))
        return outcome.state, outcome.results

    return fold


def _verdict(results: Sequence[Result]) -> Verdict:
    return next(one.verdict for one in results if isinstance(one, Generation))


def _grade(results: Sequence[Result]) -> Grade | None:
    return next((one.verdict.grade for one in results if isinstance(one, Generation)), None)


def loud(results: Sequence[Result]) -> set[tuple[object, ...]]:
    """What is open of the findings above info."""
    return {
        (one.code, one.subjects, one.severity)
        for one in results
        if isinstance(one, Part) and one.resolved_at_ms is None and one.severity is not Severity.INFO
    }


def mutants(body: GroupGeneration, random: Random) -> Iterator[tuple[str, Members]]:
    """One mutant of each kind for which the answer has an opportunity."""
    members = body.members
    if not all(isinstance(one.assignment, ConnectAssignment) for one in members):
        return
    given = [(at, job) for at, one in enumerate(members) for job in _given(one)]
    if given:
        yield from _of_given(members, *random.choice(given), random)
    revoked = [(at, job) for at, one in enumerate(members) for job in _revoked(one)]
    if revoked:
        at, job = random.choice(revoked)
        yield "kept", _with(members, at, revoked=[one for one in _revoked(members[at]) if one != job])
    answer = _answer(members[0])
    if answer.delay_ms > 1:
        yield "delay halved", _delayed(members, answer.delay_ms // 2)
        yield "delay + 1 ms", _delayed(members, answer.delay_ms + 1)
        yield "no delay", _delayed(members, 0)


def _of_given(members: Members, source: int, job: Job, random: Random) -> Iterator[tuple[str, Members]]:
    mine = _given(members[source])
    dropped = _with(members, source, given=[one for one in mine if one != job])
    yield "dropped", dropped
    others = [at for at in range(len(members)) if at != source]
    if not others:
        return
    target = random.choice(others)
    theirs = _given(members[target])
    yield "doubled", _with(members, target, given=[*theirs, job])
    yield "moved", _with(dropped, target, given=[*theirs, job])
    same = [one for one in theirs if type(one) is type(job)]
    if same:
        back = random.choice(same)
        swapped = _with(members, source, given=[back if one == job else one for one in mine])
        yield "swapped", _with(swapped, target, given=[job if one == back else one for one in theirs])


def _with(
    members: Members, at: int, *, given: Sequence[Job] | None = None, revoked: Sequence[Job] | None = None
) -> Members:
    member = members[at]
    answer = _answer(member)
    jobs = _given(member) if given is None else given
    taken = _revoked(member) if revoked is None else revoked
    changed = replace(
        answer,
        connectors=tuple(job for job in jobs if isinstance(job, str)),
        tasks=tuple(job for job in jobs if not isinstance(job, str)),
        revoked_connectors=tuple(job for job in taken if isinstance(job, str)),
        revoked_tasks=tuple(job for job in taken if not isinstance(job, str)),
    )
    return (*members[:at], _encoded(member, changed), *members[at + 1 :])


def _delayed(members: Members, delay_ms: int) -> Members:
    return tuple(_encoded(one, replace(_answer(one), delay_ms=delay_ms)) for one in members)


def _encoded(member: MemberRow, answer: ConnectAssignment) -> MemberRow:
    blob = encode_assignment(
        answer,
        wire_entries_assigned(answer.connectors, answer.tasks, 17),
        wire_entries_revoked(answer.revoked_connectors, answer.revoked_tasks),
    )
    return replace(member, assignment=answer, assignment_bytes=blob)


def _answer(member: MemberRow) -> ConnectAssignment:
    assert isinstance(member.assignment, ConnectAssignment)
    return member.assignment


def _given(member: MemberRow) -> list[Job]:
    return [*_answer(member).connectors, *_answer(member).tasks]


def _revoked(member: MemberRow) -> list[Job]:
    return [*_answer(member).revoked_connectors, *_answer(member).revoked_tasks]


def tables(done: Sequence[Done]) -> list[str]:
    """Mutants per life and kind, and how many of them are not noticed."""
    kinds = list(dict.fromkeys(kind for one in done for kind in one.outcome["made"]))
    rows = []
    total: tuple[Counter[str], ...] = (Counter(), Counter(), Counter())
    for piece in done:
        counts: list[Counter[str]] = [Counter(piece.outcome[name]) for name in ("made", "missed", "right")]
        for of_all, of_one in zip(total, counts, strict=True):
            of_all.update(of_one)
        rows.append((piece.life, [_share(*(count[kind] for count in counts)) for kind in kinds]))
    rows.append(("all", [_share(*(count[kind] for count in total)) for kind in kinds]))
    return [table("Mutants: noticed of made (+ answers of some right leader)", kinds, rows)]


def _share(made: int, missed: int, right: int) -> str:
    if not made:
        return "-"
    return f"{made - missed - right}/{made}" + (f" (+{right})" if right else "")
