"""Ways in which a leader may answer wrongly, each applied to the answer of a record that is right.

An answer is changed for all members at once, as a leader with this mistake would have sent it. The kinds of
`test_mutants` change one connector or task; those here change the delay, a whole connector, or a revocation.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rebalance_monitor.assignors.connect.wire_entries import wire_entries_assigned, wire_entries_revoked
from rebalance_monitor.schemas.connect_protocol import ConnectAssignment, encode_assignment
from rebalance_monitor.streaming.core.connect.observed import EAGER, ConnectorOrTask, Observed
from rebalance_monitor.streaming.core.model.records import GroupGeneration, MemberRow

Members = tuple[MemberRow, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """A right answer: its record, what that shows, the record before, the configured jobs, the maximum delay in ms."""

    body: GroupGeneration
    observed: Observed
    before: Observed | None
    configured: frozenset[ConnectorOrTask]
    max_delay_ms: int

    @property
    def delay(self) -> str:
        """What the announced delay is: one that begins, or the rest of one."""
        before = self.before
        same = before is not None and before.leader == self.observed.leader
        return (
            "rest of a delay" if same and before is not None and before.delay_ms > self.observed.delay_ms else "delay"
        )


def given(member: MemberRow) -> ConnectAssignment:
    assert isinstance(member.assignment, ConnectAssignment)
    return member.assignment


def with_assignment(member: MemberRow, changed: ConnectAssignment) -> MemberRow:
    """The member with this assignment, written as Java 17 writes it."""
    blob = encode_assignment(
        changed,
        wire_entries_assigned(changed.connectors, changed.tasks, 17),
        wire_entries_revoked(changed.revoked_connectors, changed.revoked_tasks),
    )
    return replace(member, assignment=changed, assignment_bytes=blob)


def with_jobs(member: MemberRow, jobs: Sequence[ConnectorOrTask]) -> MemberRow:
    """The same answer with these jobs handed out."""
    connectors = tuple(job for job in jobs if isinstance(job, str))
    tasks = tuple(job for job in jobs if not isinstance(job, str))
    return with_assignment(member, replace(given(member), connectors=connectors, tasks=tasks))


def with_revoked(member: MemberRow, jobs: Sequence[ConnectorOrTask]) -> MemberRow:
    """The same answer with these jobs to stop."""
    connectors = tuple(job for job in jobs if isinstance(job, str))
    tasks = tuple(job for job in jobs if not isinstance(job, str))
    return with_assignment(member, replace(given(member), revoked_connectors=connectors, revoked_tasks=tasks))


def handed_out(member: MemberRow) -> list[ConnectorOrTask]:
    return [*given(member).connectors, *given(member).tasks]


def taken_away(member: MemberRow) -> list[ConnectorOrTask]:
    return [*given(member).revoked_connectors, *given(member).revoked_tasks]


def connector_of(job: ConnectorOrTask) -> str:
    return job if isinstance(job, str) else job[0]


def whole_answers(answered: Answered, dice: random.Random) -> Iterator[tuple[str, Members]]:
    """Every mistake of this answer as a whole: (kind, the members with the wrong answer)."""
    yield from _delays(answered, dice)
    yield from _connectors(answered, dice)
    yield from _revocations(answered, dice)


def _with_delay(members: Sequence[MemberRow], delay_ms: int) -> Members:
    return tuple(with_assignment(member, replace(given(member), delay_ms=delay_ms)) for member in members)


def _delays(answered: Answered, dice: random.Random) -> Iterator[tuple[str, Members]]:
    members, delay_ms = answered.body.members, answered.observed.delay_ms
    if answered.body.protocol == EAGER:
        return
    if not delay_ms:
        yield "delay invented", _with_delay(members, answered.max_delay_ms)
        return
    yield f"{answered.delay} halved", _with_delay(members, delay_ms // 2)
    yield f"{answered.delay} one less", _with_delay(members, delay_ms - 1)
    yield f"{answered.delay} one more", _with_delay(members, delay_ms + 1)
    yield f"{answered.delay} doubled", _with_delay(members, delay_ms * 2)
    yield f"{answered.delay} left out", _with_delay(members, 0)
    held = {job for view in answered.observed.views.values() for job in view.holds}
    waiting = sorted(answered.configured - held - answered.observed.revoked(), key=str)
    if waiting:
        skipped = list(_with_delay(members, 0))
        for number, job in enumerate(waiting):
            place = number % len(skipped)
            skipped[place] = with_jobs(skipped[place], [*handed_out(skipped[place]), job])
        yield f"{answered.delay} skipped", tuple(skipped)
        target = dice.randrange(len(members))
        early = list(members)
        early[target] = with_jobs(early[target], [*handed_out(early[target]), *waiting])
        yield "lost jobs handed out too early", tuple(early)


def _connectors(answered: Answered, dice: random.Random) -> Iterator[tuple[str, Members]]:
    members = answered.body.members
    names = sorted({connector_of(job) for member in members for job in handed_out(member)})
    for name in dice.sample(names, min(1, len(names))):
        without = [[job for job in handed_out(member) if connector_of(job) != name] for member in members]
        yield "connector left out", tuple(map(with_jobs, members, without))
        tasks = [job for member in members for job in handed_out(member) if not isinstance(job, str) and job[0] == name]
        owners = [member.member_id for member in members if set(tasks) & set(handed_out(member))]
        if len(owners) > 1:
            target = dice.randrange(len(members))
            rest = [[job for job in handed_out(member) if job not in tasks] for member in members]
            rest[target] += sorted(tasks)
            yield "new tasks on one worker", tuple(map(with_jobs, members, rest))


def _revocations(answered: Answered, dice: random.Random) -> Iterator[tuple[str, Members]]:
    members = answered.body.members
    revoking = [place for place, member in enumerate(members) if taken_away(member)]
    if revoking:
        place = dice.choice(revoking)
        job = dice.choice(taken_away(members[place]))
        spared, moved = list(members), list(members)
        spared[place] = with_revoked(members[place], [each for each in taken_away(members[place]) if each != job])
        yield "revocation left out", tuple(spared)
        target = dice.randrange(len(members))
        moved[target] = with_jobs(members[target], [*handed_out(members[target]), job])
        yield "revoked and handed out", tuple(moved)
    if answered.body.protocol == EAGER:
        return
    keeping = [
        (place, job)
        for place, member in enumerate(members)
        for job in sorted(answered.observed.views[member.member_id].held - set(taken_away(member)), key=str)
    ]
    if keeping:
        place, job = dice.choice(keeping)
        more = list(members)
        more[place] = with_revoked(members[place], [*taken_away(members[place]), job])
        yield "revoked without need", tuple(more)
