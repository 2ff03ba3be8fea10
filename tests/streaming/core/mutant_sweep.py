"""Every record of a group answered wrongly in every way: what is noticed, and when.

Noticed: unexplained, or a rule breaks above info that the right record does not break; at once, by the next record, or
once every time-out of the group is over and nothing came. What is not noticed must be the bytes of a right leader:
`legitimate` says of which, and the verdict's run, equal to the byte, is the proof.
"""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from rebalance_monitor.schemas.connect_protocol import ConnectAssignment
from rebalance_monitor.streaming.core.connect.configured import configured_at
from rebalance_monitor.streaming.core.connect.observed import Observed
from rebalance_monitor.streaming.core.connect.reasons import CLOCKS_APART, COMPACTED, CONFIG_BEHIND, UNKNOWN_MAXIMUM
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import fold_group, route
from rebalance_monitor.streaming.core.model.records import GroupGeneration, MemberRow, Row, Tick
from rebalance_monitor.streaming.core.model.results import ConnectShare, Generation, Grade, Result, Verdict
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import RawRecord, decode
from tests.streaming.core.mutant_kinds import Answered, whole_answers
from tests.streaming.core.test_mutants import mutants, violations
from tests.streaming.states import connect_of

LATER_MS = 400_000
"""Beyond every time-out, and the longest delay."""
WHEN = ("at once", "by timer", "by the next", "legitimate", "missed")


@dataclass(slots=True)
class Swept:
    """How many mutants of each kind were noticed when; the missed ones, and why others are right answers."""

    how: Counter[tuple[str, str]] = field(default_factory=Counter)
    missed: list[tuple[str, int, str | None]] = field(default_factory=list)
    proofs: set[tuple[str, int, str]] = field(default_factory=set)

    def lines(self) -> list[str]:
        """The table, one kind a line, and the proofs."""
        table = [
            f"{kind}: " + ", ".join(f"{self.how[kind, when]} {when}" for when in WHEN if self.how[kind, when])
            for kind in sorted({kind for kind, _ in self.how})
        ]
        return [
            *table,
            *(f"generation {at}, {kind}: a right leader, if {why}" for kind, at, why in sorted(self.proofs)),
        ]


@dataclass(frozen=True, slots=True)
class _Mutant:
    kind: str
    wrong: Verdict
    right: Verdict
    now: Observed
    before: Observed | None
    quiet_ms: int | None
    timeouts_ms: int


def legitimate(mutant: _Mutant, *, known: bool) -> str:
    """Which right leader gives these bytes; "" for none. `known`: the cluster's settings are."""
    kind, verdict = mutant.kind, mutant.wrong
    if kind.startswith("rest of a delay") and verdict.grade is Grade.MATCH:
        return "its clock reads another time between the two that the record shows"
    if kind.startswith("rest of a delay") and verdict.reason == CLOCKS_APART:
        return "its clock, or the coordinator's, was set between the two records"
    if verdict.reason == CONFIG_BEHIND and mutant.quiet_ms is not None and mutant.quiet_ms < mutant.timeouts_ms:
        return "it had not applied the last config record, and its rebalance follows in time"
    if kind == "delay skipped" and verdict.grade is Grade.MATCH and _reports_the_same(mutant.now, mutant.before):
        return "the answer to its last sync was lost: it reports the same as in the record before"
    if not known and verdict.grade is Grade.MATCH and verdict.eras != mutant.right.eras:
        return "it runs another release, and no record before excludes that"
    if not known and kind.startswith("delay") and verdict.reason == UNKNOWN_MAXIMUM:
        return "it has this maximum delay, and has shown no other"
    return ""


def _reports_the_same(now: Observed, before: Observed | None) -> bool:
    """Whether the leader's report would be the same without the record before."""
    leader = now.leader or ""
    if before is None or leader not in before.views:
        return False
    after, other = now.views[leader], before.views[leader]
    return (after.shown, after.held) == (other.shown, other.held)


def rows_of(records: Iterable[RawRecord], known: ClusterSettings, group: str) -> tuple[list[Row], list[Row]]:
    """The group's own records, and those of its topics."""
    rows = [row for record in records if (row := decode(record, known)) is not None]
    routed = route(rows, known)[group]
    own = [row for row in routed if row.topic == "__consumer_offsets"]
    return own, [row for row in routed if row.topic != "__consumer_offsets"]


def sweep(
    settings: ClusterSettings,
    group: str,
    rows: tuple[list[Row], list[Row]],
    max_delay_ms: int,
    *,
    known: bool,
    single_jobs: bool,
    share: float = 1.0,
) -> Swept:
    """Mutants of this share of the records that match. `single_jobs`: also those that change one job only."""
    own, rest = rows
    state = fold_group(settings, group, None, rest, Tick(0)).state
    dice, swept, before = random.Random(11), Swept(), None
    for row, following in zip(own, [*own[1:], None], strict=True):
        right = fold_group(settings, group, state, [row], Tick(0))
        body, after, right_later = row.body, connect_of(right.state), _Later(settings, group, right.state)
        if isinstance(body, GroupGeneration) and body.members and dice.random() < share:
            verdict = verdict_of(right.results)
            if verdict is not None and verdict.grade is Grade.MATCH and after.last is not None:
                configured = configured_at(after.history, after.last) or frozenset()
                answered = Answered(body, after.last, before, configured, max_delay_ms)
                for kind, members in [*(mutants(body, dice) if single_jobs else ()), *whole_answers(answered, dice)]:
                    if members == body.members:
                        continue
                    wrong = fold_group(
                        settings, group, state, [replace(row, body=replace(body, members=members))], Tick(0)
                    )
                    judged = verdict_of(wrong.results)
                    assert judged is not None
                    if judged.reason == COMPACTED:  # of this record nothing is known with another answer
                        continue
                    quiet_ms = None if following is None else following.timestamp_ms - row.timestamp_ms
                    when = "at once"
                    if judged.grade is not Grade.UNEXPLAINED and not (
                        violations(wrong.results) - violations(right.results)
                    ):
                        when = _noticed(_Later(settings, group, wrong.state), right_later, row, following)
                    mutant = _Mutant(kind, judged, verdict, after.last, before, quiet_ms, after.timeouts_ms)
                    if when == "missed" and (why := legitimate(mutant, known=known)):
                        when = "legitimate"
                        swept.proofs.add((kind, body.generation, why))
                    if when == "missed":
                        swept.missed.append((kind, body.generation, judged.why))
                    swept.how[kind, when] += 1
        before, state = after.last, right.state
    return swept


def verdict_of(results: Sequence[Result]) -> Verdict | None:
    """The verdict on the record that was folded; None where it had no members."""
    return next((one.verdict for one in results if isinstance(one, Generation)), None)


@dataclass
class _Later:
    """What comes after a record, wrong or right; folded once, for all mutants are compared with the right one."""

    settings: ClusterSettings
    group: str
    state: Saved
    _found: dict[tuple[int, int], Sequence[Result]] = field(default_factory=dict)

    def after(self, rows: Sequence[Row], now_ms: int) -> Sequence[Result]:
        place = (len(rows), now_ms)
        if place not in self._found:
            self._found[place] = fold_group(self.settings, self.group, self.state, rows, Tick(now_ms)).results
        return self._found[place]


def _noticed(wrong: _Later, right: _Later, row: Row, following: Row | None) -> str:
    """When a wrong record is noticed after it."""
    until_ms = row.timestamp_ms + LATER_MS if following is None else following.timestamp_ms
    if violations(wrong.after([], until_ms)) - violations(right.after([], until_ms)):
        return "by timer"
    if following is None:
        return "missed"
    results = wrong.after([following], 0)
    verdict = verdict_of(results)
    unexplained = verdict is not None and verdict.grade is Grade.UNEXPLAINED
    return "by the next" if unexplained or violations(results) - violations(right.after([following], 0)) else "missed"


def some_leader_gives(members: Sequence[MemberRow], results: Sequence[Result]) -> bool:
    """Whether the answer is the one of the verdict's run: the same jobs, and each connector's tasks in the same order.
    The order of names is Java's."""
    (generation,) = [one for one in results if isinstance(one, Generation)]
    expected = generation.verdict.expected or {}
    return all(
        (share := expected.get(member.member_id)) is not None
        and isinstance(given := member.assignment, ConnectAssignment)
        and isinstance(told := share.assigned, ConnectShare)
        and isinstance(stopped := share.revoked, ConnectShare)
        and listed(given.connectors, given.tasks) == listed(told.connectors, told.tasks)
        and frozenset((*given.revoked_connectors, *given.revoked_tasks))
        == frozenset((*stopped.connectors, *stopped.tasks))
        for member in members
    )


def listed(connectors: Sequence[str], tasks: Sequence[tuple[str, int]]) -> tuple[frozenset[str], dict[str, list[int]]]:
    numbers: dict[str, list[int]] = {}
    for name, number in tasks:
        numbers.setdefault(name, []).append(number)
    return frozenset(connectors), numbers
