"""Wrong answers of consumers' leaders: one thing in one answer changed; how many the monitor notices, by assignor.

drop              a partition is given to nobody
duplicate         a partition is given to another member, too
move              a partition is given to another member instead
swap              two members have a partition of each other
foreign topic     a member is given a topic that nobody subscribes to
no such number    a member is given a number that the topic has never had

Noticed is what is unexplained, or breaks a rule above info that the right answer does not break, in this record. What
Kafka could have answered as well is proved by the verdict's run, which gives the same shares, and is not counted.

Answers of `range` and `roundrobin` are recomputed whoever leads; those of sticky leaders where their client is Kafka's
own: as configured, by what the records show, or as is likely. All others are held against the laws alone; of these it
is also said how many are noticed if the answer stays for an hour. A record that may repeat one that was lost shows no
assignor's input (`written_again`): its mutants stand in a row of their own.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from lab.attack.life import Life
from lab.attack.mutants import loud
from lab.attack.pieces import Done, Outcome, Piece, table
from lab.paths import ROOT
from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment, TopicPartition, encode_assignment
from rebalance_monitor.streaming.cli.captures import knowledge_of, records_of, settings_of
from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.consumer.assignors import ASSIGNORS, KEEPING
from rebalance_monitor.streaming.core.consumer.client_library import leaders_library
from rebalance_monitor.streaming.core.consumer.presumed_client import presumed_java
from rebalance_monitor.streaming.core.consumer.state import ConsumerState
from rebalance_monitor.streaming.core.fold.state import Saved, read
from rebalance_monitor.streaming.core.fold.written_again import first_may_be_missing
from rebalance_monitor.streaming.core.lifecycles import fold_group, route
from rebalance_monitor.streaming.core.model.codec import loads
from rebalance_monitor.streaming.core.model.records import GroupGeneration, MemberRow, Row, Tick
from rebalance_monitor.streaming.core.model.results import (
    ConsumerShare,
    Generation,
    Grade,
    Result,
    Verdict,
)
from rebalance_monitor.streaming.core.model.settings import ClientLibrary, ClusterSettings
from rebalance_monitor.streaming.core.replay import decode

SWEEP = "consumer-mutants"
CAPTURES = ROOT / "tests" / "vectors" / "captures-groups"
JAVA, OTHERS = ("java-classic", "java-releases"), ("foreign-clients", "python-clients")
CONFIGURED, NOT_CONFIGURED = "Java is configured", "nothing is configured"
RECOMPUTED, LAWS_ALONE, MAY_REPEAT = "recomputed", "laws alone", "may repeat a lost record"
KINDS = ("drop", "duplicate", "move", "swap", "foreign topic", "no such number")
AN_HOUR_MS = 3_600_000
Shares = tuple[tuple[TopicPartition, ...], ...]


@dataclass(frozen=True, slots=True)
class _Make:
    path: Path
    configured: bool

    def __call__(self) -> Outcome:
        return attack(self.path, configured=self.configured)


def pieces(_lives: Sequence[Life]) -> Iterator[Piece]:
    """One piece for each capture of consumer groups, twice for those of Kafka's own client."""
    for name in JAVA:
        yield Piece(SWEEP, CONFIGURED, name, _Make(CAPTURES / name, configured=True))
    for name in (*JAVA, *OTHERS):
        yield Piece(SWEEP, NOT_CONFIGURED, name, _Make(CAPTURES / name, configured=False))


def attack(path: Path, *, configured: bool, every: int = 1) -> Outcome:
    """Mutants of every generation of a capture that is right, one of each kind, or of every so many generations.
    `configured`: the settings say that all clients are Java's."""
    settings, knowledge = settings_of(path), knowledge_of(path)
    if configured:
        settings = replace(settings, client_libraries={"*": ClientLibrary.JAVA})
    rows = [row for one in records_of(path) if (row := decode(one, settings)) is not None]
    counts, examples = Counter[str](), list[str]()
    for group, own in route(rows, settings).items():
        sweep = _Sweep(settings, knowledge, group, Random(f"{path.name} {group}"), counts, examples)
        sweep.over(sorted(own, key=lambda row: row.offset), every)
    return {"counts": dict(counts), "examples": examples}


@dataclass(slots=True)
class _Sweep:
    """Over one group. `counts`: by assignor, who recomputes, kind, and what came of it."""

    settings: ClusterSettings
    knowledge: Knowledge
    group: str
    dice: Random
    counts: Counter[str]
    examples: list[str]

    def over(self, rows: Sequence[Row], every: int) -> None:
        state, before = None, None
        for number, row in enumerate(rows):
            right = fold_group(self.settings, self.group, state, [row], None, knowledge=self.knowledge)
            body, verdict = row.body, _verdict(right.results)
            if isinstance(body, GroupGeneration) and body.protocol in ASSIGNORS and body.members:
                again = before == (body.generation, len(body.members))
                before = body.generation, len(body.members)
                if verdict.grade in (Grade.MATCH, Grade.EXPLAINABLE) and not again and number % every == 0:
                    self._of(row, body, state, (right.state, right.results))
            state = right.state

    def _of(self, row: Row, body: GroupGeneration, state: Saved | None, right: tuple[Saved, Sequence[Result]]) -> None:
        who = self._who(row, body, state)
        numbers = {
            topic: max(len(one.content or ()) for one in changes)
            for topic, changes in self.knowledge.topics.topics.items()
        }
        for kind, shares in mutants(given(body), numbers, self.dice):
            members = tuple(map(_with, body.members, shares))
            made = replace(row, body=replace(body, members=members))
            wrong = fold_group(self.settings, self.group, state, [made], None, knowledge=self.knowledge)
            verdict = _verdict(wrong.results)
            if verdict.grade is Grade.UNEXPLAINED or loud(wrong.results) - loud(right[1]):
                came = "noticed"
            elif _gives(verdict, members):
                came = "right"
            elif self._stays(wrong.state, row) - self._stays(right[0], row):
                came = "later"
            else:
                came = "missed"
            self.counts[f"{body.protocol}|{who}|{kind}|{came}"] += 1
            if came in ("later", "missed") and who == RECOMPUTED:
                self.examples.append(f"{kind}, {self.group} {body.generation}: {came}, {verdict.why or verdict.grade}")

    def _who(self, row: Row, body: GroupGeneration, state: Saved | None) -> str:
        """What this answer is held against."""
        envelope, bodies = read(state)
        if first_may_be_missing(envelope, row):
            return MAY_REPEAT
        if body.protocol not in KEEPING:
            return RECOMPUTED
        libraries, text = self.settings.client_libraries, bodies.get("consumer")
        library = leaders_library(body, libraries)
        answers = (ConsumerState() if text is None else loads(ConsumerState, text)).answers
        presumed = library is None and presumed_java(body, answers, libraries)
        return RECOMPUTED if library is ClientLibrary.JAVA or presumed else LAWS_ALONE

    def _stays(self, state: Saved, row: Row) -> set[tuple[object, ...]]:
        """What is found where nothing follows for an hour."""
        tick = Tick(row.timestamp_ms + AN_HOUR_MS)
        return loud(fold_group(self.settings, self.group, state, [], tick, knowledge=self.knowledge).results)


def mutants(right: Shares, numbers: Mapping[str, int], dice: Random) -> Iterator[tuple[str, Shares]]:
    """One mutant of each kind that these shares allow. `numbers`: the most partitions that topics have ever had."""
    places = [(at, one) for at, share in enumerate(right) for one in share]
    if not places:
        return
    giver, partition = dice.choice(places)
    less = _changed(right, giver, tuple(one for one in right[giver] if one != partition))
    yield "drop", less
    member = dice.randrange(len(right))
    yield "foreign topic", _changed(right, member, (*right[member], (f"{partition[0]}-of-others", 0)))
    if partition[0] in numbers:
        yield "no such number", _changed(right, member, (*right[member], (partition[0], numbers[partition[0]])))
    if len(right) > 1:
        taker = dice.choice([at for at in range(len(right)) if at != giver])
        yield "duplicate", _changed(right, taker, (*right[taker], partition))
        yield "move", _changed(less, taker, (*right[taker], partition))
        if right[taker]:
            back = dice.choice(right[taker])
            swapped = _changed(right, giver, tuple(back if one == partition else one for one in right[giver]))
            yield "swap", _changed(swapped, taker, tuple(partition if one == back else one for one in right[taker]))


def _changed(shares: Shares, at: int, share: tuple[TopicPartition, ...]) -> Shares:
    return (*shares[:at], share, *shares[at + 1 :])


def given(body: GroupGeneration) -> Shares:
    """What each member was given."""
    return tuple(_answer(one).partitions for one in body.members)


def _answer(member: MemberRow) -> ConsumerAssignment:
    return (
        member.assignment
        if isinstance(member.assignment, ConsumerAssignment)
        else ConsumerAssignment(version=0, partitions=())
    )


def _with(member: MemberRow, share: tuple[TopicPartition, ...]) -> MemberRow:
    changed = replace(_answer(member), partitions=share)
    return replace(member, assignment=changed, assignment_bytes=encode_assignment(changed))


def _verdict(results: Sequence[Result]) -> Verdict:
    return next((one.verdict for one in results if isinstance(one, Generation)), Verdict(grade=Grade.NOT_JUDGED))


def _gives(verdict: Verdict, members: Sequence[MemberRow]) -> bool:
    """Whether the verdict's run gives these shares, whatever their order."""
    expected = verdict.expected
    if verdict.grade not in (Grade.MATCH, Grade.EXPLAINABLE) or expected is None:
        return False
    return all(
        isinstance(share := expected[one.member_id].assigned, ConsumerShare)
        and sorted(share.partitions) == sorted(_answer(one).partitions)
        for one in members
    )


def summed(done: Sequence[Done]) -> dict[tuple[str, str, str], Counter[str]]:
    """What came of the mutants, by assignor, by cell and who recomputes, and by kind."""
    found: dict[tuple[str, str, str], Counter[str]] = {}
    for piece in done:
        for key, count in piece.outcome["counts"].items():
            assignor, who, kind, came = key.split("|")
            row = piece.cell if who == RECOMPUTED else who
            found.setdefault((assignor, row, kind), Counter())[came] += count
    return found


def tables(done: Sequence[Done]) -> list[str]:
    """One table where the leader's client is recomputed, one for the laws alone."""
    found = summed(done)
    rows = sorted({(assignor, row) for assignor, row, _ in found})
    listed = [
        [
            (f"{assignor}, {row}", _cells([found.get((assignor, row, kind), Counter()) for kind in KINDS]))
            for assignor, row in rows
            if (row in (LAWS_ALONE, MAY_REPEAT)) == alone
        ]
        for alone in (False, True)
    ]
    titles = (
        "Mutants of consumers, recomputed: noticed of made (+ right answers of Kafka)",
        "Mutants of consumers, not recomputed: noticed at once of made (+ noticed if they stay for an hour)",
    )
    return [table(title, (*KINDS, "all"), rows) for title, rows in zip(titles, listed, strict=True) if rows]


def _cells(counts: Sequence[Counter[str]]) -> list[str]:
    return [*map(_share, counts), _share(sum(counts, Counter()))]


def _share(count: Counter[str]) -> str:
    made = count.total() - count["right"]
    beside = [f"+{count['right']} right"] if count["right"] else []
    beside += [f"+{count['later']} later"] if count["later"] else []
    return f"{count['noticed']}/{made}" + (f" ({', '.join(beside)})" if beside else "") if count else "-"
