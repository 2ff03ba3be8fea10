"""A recomputed answer beside the one in the record: equal to the byte, equal but for the order, or not.

Java's hash order shows in the bytes and differs between releases of Java, so where the leader's Java is not configured
both orders count as the same answer.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from rebalance_monitor.assignors.connect.model import ConnectResult, MemberShare
from rebalance_monitor.assignors.connect.wire_entries import wire_entries_assigned, wire_entries_revoked
from rebalance_monitor.schemas.connect_protocol import ConnectAssignment, encode_assignment
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.member_bytes import encode_share
from rebalance_monitor.streaming.core.connect.observed import ConnectorOrTask
from rebalance_monitor.streaming.core.model.records import GroupGeneration, MemberRow
from .hypotheses import DEFAULT_MAX_DELAY_MS, jobs
from .rounds import JAVA_FROM_19, Case, rounds_of
from .runs import Run, runs_of

REPLACED = "\ufffd"
"""What a decoder puts in place of bytes that are no text."""


def equal_bytes(case: Case, result: ConnectResult) -> bool:
    """Whether every member's bytes are exactly these, under one of the Java releases that the leader may have."""
    return any(_encoded_alike(case.body, result, java) for java in case.javas)


def _encoded_alike(body: GroupGeneration, result: ConnectResult, java: int) -> bool:
    header = _header(result)
    if any(isinstance(one.assignment, ConnectAssignment) and _header(one.assignment) != header for one in body.members):
        return False  # no need to write what already differs
    encoded: dict[MemberShare, bytes] = {}  # most members of most rounds are told the same: nothing new
    for member in body.members:
        share = result.shares.get(member.member_id)
        if share is None:
            return False
        if share not in encoded:
            encoded[share] = encode_share(result, share, java)
        if member.assignment_bytes != encoded[share]:
            return False
    return True


def fitting(case: Case, runs: Iterable[Run]) -> list[Run]:
    """The runs whose bytes are the record's; equal answers are encoded once."""
    told: list[tuple[ConnectResult, bool]] = []
    found = []
    for run in runs:
        fits = next((known for result, known in told if result is run.result or result == run.result), None)
        if fits is None:
            fits = equal_bytes(case, run.result)
            told.append((run.result, fits))
        if fits:
            found.append(run)
    return found


def answered_as(case: Case | None, protocol: str, lists: Mapping[str, frozenset[ConnectorOrTask]]) -> bool:
    """Whether the record's bytes, but for the version in them, are the answer of a leader of this protocol to whom the
    members declare these jobs. False where the round cannot be run again."""
    if case is None:
        return False
    exact = next(rounds_of(case), None)
    given = (member.assignment for member in case.body.members)
    version = next((one.version for one in given if isinstance(one, ConnectAssignment)), None)
    if exact is None or version is None:
        return False
    members = tuple(replace(one, static=jobs(lists.get(one.id, ()))) for one in exact.members)
    round_ = replace(exact, protocol=protocol, members=members)
    tries = [
        replace(one, max_delay_ms=case.observed.delay_ms or DEFAULT_MAX_DELAY_MS) if one.max_delay_ms is None else one
        for one in case.carried.hypotheses
    ]
    return any(equal_bytes(case, replace(run.result, version=version)) for run in runs_of(case, (round_,), tries))


def _beside(body: GroupGeneration, result: ConnectResult) -> list[tuple[MemberRow, ConnectAssignment, MemberShare]]:
    """Each member with what it was given and what it should have been; none where somebody's cannot be read or has
    another header."""
    found = []
    for member in body.members:
        share, given = result.shares.get(member.member_id), member.assignment
        if share is None or not isinstance(given, ConnectAssignment) or _header(given) != _header(result):
            return []
        found.append((member, given, share))
    return found


def same_sets(body: GroupGeneration, result: ConnectResult) -> bool:
    """Whether every member's bytes are these but for the order of jobs inside the arrays."""
    both = _beside(body, result)
    return bool(both) and all(
        _counted(given.connectors, given.tasks) == _counted(share.assigned.connectors, share.assigned.tasks)
        and _counted(given.revoked_connectors, given.revoked_tasks)
        == _counted(share.revoked.connectors, share.revoked.tasks)
        and _nothing_else(member, given)
        for member, given, share in both
    )


def same_but_for_names(body: GroupGeneration, result: ConnectResult) -> bool:
    """Whether the bytes are these but for the order that Java's hash sets give: of names, and of all that was revoked.

    Tasks are dealt out in the order of their numbers, so those of one connector stand in one order for one member.
    """
    return same_sets(body, result) and all(
        isinstance(member.assignment, ConnectAssignment)
        and _by_name(member.assignment.tasks) == _by_name(result.shares[member.member_id].assigned.tasks)
        for member in body.members
    )


def _by_name(tasks: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    numbers: dict[str, list[int]] = {}
    for name, number in tasks:
        numbers.setdefault(name, []).append(number)
    return numbers


def _counted(connectors: Iterable[str], tasks: Iterable[tuple[str, int]]) -> Counter[ConnectorOrTask]:
    """Jobs as the wire holds them: a connector once, a task as often as it is listed."""
    return Counter[ConnectorOrTask]([*frozenset(connectors), *tasks])


def same_but_for_choice(
    body: GroupGeneration, result: ConnectResult, lists: Mapping[str, frozenset[ConnectorOrTask]]
) -> bool:
    """Whether the answer differs only in which of several listers was given a job: any of them is right (S10)."""
    counts = Counter(job for jobs in lists.values() for job in jobs)
    open_ = {job for job, count in counts.items() if count > 1}
    if not open_:
        return False
    placed: list[ConnectorOrTask] = []
    wanted: list[ConnectorOrTask] = []
    both = _beside(body, result)
    for member, given, share in both:
        got: set[ConnectorOrTask] = {*given.connectors, *given.tasks}
        due: set[ConnectorOrTask] = {*share.assigned.connectors, *share.assigned.tasks}
        if got - open_ != due - open_ or not got & open_ <= lists.get(member.member_id, frozenset()):
            return False
        if {*given.revoked_connectors, *given.revoked_tasks} != {*share.revoked.connectors, *share.revoked.tasks}:
            return False
        if not _nothing_else(member, given):
            return False
        placed += got & open_
        wanted += due & open_
    return bool(both) and Counter(placed) == Counter(wanted)


def _nothing_else(member: MemberRow, given: ConnectAssignment) -> bool:
    """Whether the bytes hold this assignment as a leader writes it, in whatever order of jobs, and nothing more.

    Another order of entries or tasks keeps every byte; a byte behind the last field, a connector in two entries or null
    for an empty array does not. Of a text that is not UTF-8 the bytes are not known.
    """
    names = (given.leader, given.leader_url, *given.connectors, *given.revoked_connectors)
    if any(REPLACED in name for name in (*names, *(name for name, _ in (*given.tasks, *given.revoked_tasks)))):
        return True
    return sorted(member.assignment_bytes) == sorted(_written(given))


def _written(given: ConnectAssignment) -> bytes:
    assigned = wire_entries_assigned(given.connectors, given.tasks, JAVA_FROM_19)
    revoked = wire_entries_revoked(given.revoked_connectors, given.revoked_tasks)
    return encode_assignment(given, assigned, revoked)


def _header(header: ConnectAssignment | ConnectResult) -> tuple[int, int, str, str, int, int]:
    return (header.version, header.error, header.leader, header.leader_url, header.config_offset, header.delay_ms)


def difference(body: GroupGeneration, result: ConnectResult) -> str:
    """One sentence naming the first member whose assignment differs from the expected one."""
    for member in body.members:
        share, given = result.shares.get(member.member_id), member.assignment
        if not isinstance(given, ConnectAssignment):
            return f"{member.member_id} was given bytes that cannot be decoded"
        if share is None:
            return f"{member.member_id} is not in the expected assignment"
        if given.delay_ms != result.delay_ms:
            return f"delay is {given.delay_ms} ms, expected {result.delay_ms} ms"
        if {*given.connectors, *given.tasks} != {*share.assigned.connectors, *share.assigned.tasks}:
            return f"{member.member_id} was given other connectors or tasks than expected"
        if {*given.revoked_connectors, *given.revoked_tasks} != {*share.revoked.connectors, *share.revoked.tasks}:
            return f"{member.member_id} has to stop other connectors or tasks than expected"
        if len(given.tasks) > len(share.assigned.tasks) or len(given.revoked_tasks) > len(share.revoked.tasks):
            return f"{member.member_id} has a task listed more often than expected"
        if _header(given) == _header(result) and not _nothing_else(member, given):
            return f"{member.member_id} was given the expected connectors and tasks in {_odd_bytes(member, given)}"
    return "the headers or the order inside the arrays differ from the expected ones"


def _odd_bytes(member: MemberRow, given: ConnectAssignment) -> str:
    more = len(member.assignment_bytes) - len(_written(given))
    if more > 0:
        return f"{more} byte{'' if more == 1 else 's'} more than a leader writes for them"
    return "bytes that a leader does not write"
