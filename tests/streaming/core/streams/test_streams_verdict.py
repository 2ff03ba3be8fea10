"""Verdicts on Streams groups: answers of Kafka's own leaders are never unexplained, changed ones never explained."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from lab.attack.streams_vectors import Case, cases
from rebalance_monitor.assignors.streams.tasks import TaskId, sorted_partitions, task_of
from rebalance_monitor.schemas.streams_assignment import AssignmentInfo, encode_assignment_info
from rebalance_monitor.schemas.streams_subscription import encode_subscription_info
from rebalance_monitor.schemas.streams_tasks import NO_REBALANCE_MS
from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.model.reasons import ReasonKind
from rebalance_monitor.streaming.core.model.records import GroupGeneration, MemberRow
from rebalance_monitor.streaming.core.model.results import Grade, Verdict
from rebalance_monitor.streaming.core.model.settings import NOTHING_SAID, StreamsSettings
from rebalance_monitor.streaming.core.replay import decode, replay
from rebalance_monitor.streaming.core.streams.generation import _floor
from rebalance_monitor.streaming.core.streams.hypotheses import Remembered, frames
from rebalance_monitor.streaming.core.streams.members import StreamsThread, UnreadableThread, thread_of, threads_of
from rebalance_monitor.streaming.core.streams.observed import ObservedRecord, observed
from rebalance_monitor.streaming.core.streams.search import FEWEST_RUNS, Search
from rebalance_monitor.streaming.core.streams.topology import Seen, learnt
from rebalance_monitor.streaming.core.streams.verdict import CANNOT_READ, judge
from tests.streaming.core.rules.builders import START_MS, generations
from tests.streaming.core.rules.cases_streams_record import TEXT
from tests.streaming.core.rules.streams import Thread, group
from tests.vector_files import GROUP_CAPTURES

CAPTURE = GROUP_CAPTURES / "streams-classic-4.3.1"
GROUP = "app-4.3.1"
KNOWN = Remembered(built_in=True)
ANSWERS = (Grade.MATCH, Grade.EXPLAINABLE)


def verdicts(case: Case, settings: StreamsSettings) -> Iterator[Verdict]:
    seen: Seen = ()
    floor: dict[str, int] = {}
    for at_ms, body in case.rounds:
        threads = threads_of(body)
        assert not isinstance(threads, UnreadableThread)
        seen = learnt(seen, threads)
        record = observed("app", body.leader, threads, seen)
        yield judge(settings, record, at_ms, KNOWN, {task_of(task): end for task, end in floor.items()}).verdict
        floor = _floor(floor, record)


def test_no_answer_of_kafkas_own_leaders_is_unexplained() -> None:
    grades: Counter[tuple[Grade, str]] = Counter()
    for case in cases():
        for number, verdict in enumerate(verdicts(case, case.settings)):
            kind = verdict.reason.kind.value if verdict.reason else ""
            grades[verdict.grade, kind] += 1
            assert verdict.grade is not Grade.UNEXPLAINED, (case.name, case.tags, number, verdict.why)
    assert sum(count for (grade, _), count in grades.items() if grade in ANSWERS) > 90
    assert grades[Grade.MATCH, ""] > 10


@pytest.mark.parametrize("known", [True, False])
def test_every_generation_of_the_capture_is_judged(known: bool) -> None:
    settings = settings_of(CAPTURE)
    grades = Counter(
        one["verdict"]["grade"]
        for one in replay(records_of(CAPTURE), settings if known else replace(settings, streams={})).objects
        if one["kind"] == "generation"
    )
    if known:
        assert set(grades) <= {"match", "explainable"}
        assert grades.total() == 39
        assert grades["match"] >= 1
    else:
        assert grades["unexplained"] == 0
        assert grades["explainable"] >= 37


def changed(threads: tuple[StreamsThread, ...], dice: random.Random) -> Iterator[tuple[StreamsThread, ...]]:
    """The answer with one active task, one copy or one deadline elsewhere."""
    giver, taker = dice.sample(range(len(threads)), 2)
    giving, other = threads[giver], threads[taker]

    def with_(*new: tuple[int, StreamsThread]) -> tuple[StreamsThread, ...]:
        return tuple(dict(new).get(at, thread) for at, thread in enumerate(threads))

    if giving.pairs:
        part, task = dice.choice(giving.pairs)
        less = [pair for pair in giving.pairs if pair[0] != part]
        yield with_((giver, given(giving, less)), (taker, given(other, [*other.pairs, (part, task)])))
    if giving.told.standby:
        copy = dice.choice(giving.told.standby)
        yield with_(
            (
                giver,
                replace(giving, told=replace(giving.told, standby=tuple(s for s in giving.told.standby if s != copy))),
            )
        )
    next_ms = NO_REBALANCE_MS if giving.told.next_rebalance_ms == 0 else 0
    yield with_((giver, replace(giving, told=replace(giving.told, next_rebalance_ms=next_ms))))


def given(thread: StreamsThread, pairs: Sequence[tuple[tuple[str, int], TaskId]]) -> StreamsThread:
    tasks = dict(pairs)
    partitions = tuple(sorted_partitions(tasks))
    told: AssignmentInfo = replace(thread.told, active=tuple(tasks[part][:2] for part in partitions))
    return replace(thread, given=replace(thread.given, partitions=partitions), told=told)


def test_a_changed_answer_is_never_explained() -> None:
    settings = settings_of(CAPTURE)
    dice = random.Random(3)
    seen: Seen = ()
    floor: dict[str, int] = {}
    grades: Counter[Grade] = Counter()
    for record in records_of(CAPTURE):
        row = decode(record, settings)
        if row is None or not isinstance(row.body, GroupGeneration) or not row.body.members:
            continue
        threads = threads_of(row.body)
        assert not isinstance(threads, UnreadableThread)
        known = {task_of(task): end for task, end in floor.items()}
        for mutant in changed(threads, dice):
            mutated = observed(GROUP, row.body.leader, mutant, learnt(seen, mutant))
            grades[judge(settings.streams[GROUP], mutated, row.timestamp_ms, KNOWN, known).verdict.grade] += 1
        seen = learnt(seen, threads)
        floor = _floor(floor, observed(GROUP, row.body.leader, threads, seen))
    assert grades[Grade.MATCH] + grades[Grade.EXPLAINABLE] == 0
    assert grades[Grade.UNEXPLAINED] > 50
    assert grades.total() > 100


def test_a_group_that_no_assignor_of_kafka_fits_is_not_judged_before_one_has_fitted() -> None:
    """Without a configured assignor the application may have one of its own."""
    case = next(one for one in cases() if "sticky-924" in one.tags and len(one.rounds) > 1)
    grades = {verdict.grade for verdict in verdicts(case, NOTHING_SAID)}
    assert Grade.UNEXPLAINED not in grades


def test_a_leader_up_to_2_5_had_the_sticky_assignor_whatever_is_configured() -> None:
    """What it answered bit by bit nobody has described: then there is no verdict instead of an alarm."""
    old = replace(cases_of("sticky-924"), release="2.5.1", assignor="high_availability")
    case = next(one for one in cases() if "two" in one.tags and len(one.rounds) > 1)
    case = replace(case, rounds=tuple((at_ms, of_2_5(body)) for at_ms, body in case.rounds))
    assert Grade.UNEXPLAINED not in {verdict.grade for verdict in verdicts(case, old)}


def of_2_5(body: GroupGeneration) -> GroupGeneration:
    """The record with the payloads of members and leaders of 2.5, which list tasks and no offsets."""
    return replace(body, members=tuple(map(_of_2_5, body.members)))


def _of_2_5(row: MemberRow) -> MemberRow:
    thread = thread_of(row)
    assert isinstance(thread, StreamsThread)
    said = replace(
        thread.said,
        version=6,
        latest_supported=6,
        previous_tasks=thread.said.was_active(),
        standby_tasks=thread.said.was_standby(),
        offset_sums=(),
        client_tags=(),
    )
    told = replace(thread.told, version=6, commonly_supported=6, next_rebalance_ms=NO_REBALANCE_MS)
    return replace(
        row,
        subscription=replace(thread.wanted, version=1, user_data=encode_subscription_info(said)),
        assignment=replace(thread.given, version=1, user_data=encode_assignment_info(told)),
    )


def cases_of(tag: str) -> StreamsSettings:
    return next(one.settings for one in cases() if tag in one.tags)


def large(unknown: int = 0) -> ObservedRecord:
    """40 processes, 1,200 tasks with state, and an answer that no leader gives; the first so many speak a version that
    the leader, which is the last, does not know."""
    ids = [f"{chr(97 + at % 26)}{at}" for at in range(40)]
    shares = [[f"1_{number}" for number in range(at, 1_200, 40)] for at in range(40)]
    rows = [
        Thread(
            id=name,
            process=chr(200 + at),
            active=" ".join(share if at else share[1:]),
            sums=" ".join(f"{task}:-2" for task in share) + f" 1_{(at + 1) % 1_200}:{at}",
            version=10 if 0 < unknown <= at else 11,
            latest=10 if 0 < unknown <= at else 11,
        )
        for at, (name, share) in enumerate(zip(ids, shares, strict=True))
    ]
    rows[1] = replace(rows[1], active=f"{rows[1].active} {shares[0][0]}")
    body = group((*rows[-1:], *rows[:-1])).rows[-1].body
    assert isinstance(body, GroupGeneration)
    threads = threads_of(body)
    assert not isinstance(threads, UnreadableThread)
    return observed("g", body.leader, threads, learnt((), threads))


LARGE = StreamsSettings(assignor="high_availability", standbys=0, warm_ups=2, acceptable_lag=1)


def test_a_large_group_costs_few_runs() -> None:
    record = large()
    search = Search(record, 0, {}, None)
    search.run(list(frames(replace(LARGE, release="4.3.1"), record, KNOWN)))
    assert search.made <= 3 * FEWEST_RUNS


def test_a_large_group_with_members_of_a_newer_version_is_not_tried_in_every_place() -> None:
    verdict = judge(replace(LARGE, release="3.1.2"), large(unknown=2), 0, KNOWN, {}).verdict
    assert verdict.grade is Grade.NOT_JUDGED
    assert verdict.reason is not None
    assert verdict.reason.kind is ReasonKind.TOO_MANY_POSSIBILITIES


@pytest.mark.parametrize(
    ("strategy", "rack", "grade"),
    [
        ("none", "r1", Grade.MATCH),
        (None, None, Grade.MATCH),
        (None, "r1", Grade.EXPLAINABLE),
    ],
)
def test_a_match_does_not_rest_on_an_unknown_rack_strategy(
    strategy: str | None, rack: str | None, grade: Grade
) -> None:
    """Where every member states its rack, the leader may look at racks."""
    threads = (Thread(id="a1", active="0_0", rack=rack), Thread(id="b1", active="0_1", rack=rack))
    known = replace(LARGE, release="4.3.1", rack_tags=(), rack_strategy=strategy, topology=TEXT)
    (generation,) = generations(group(threads, known=known).fold())
    assert generation.verdict.grade is grade, generation.verdict.why
    assert grade is Grade.MATCH or "rack.aware.assignment.strategy none" in generation.verdict.why


def test_an_answer_that_only_a_leader_without_end_offsets_gives_is_no_match() -> None:
    """It lets everybody keep what they ran, and warms nothing up. Whether it could read them, no record tells."""
    first = (Thread(id="a1", active="1_0 1_1 1_2 1_3"),)
    kept = (
        Thread(id="a1", active="1_0 1_1 1_2 1_3", sums="1_0:-2 1_1:-2 1_2:-2 1_3:-2", next_ms=START_MS + 600_000),
        Thread(id="b1"),
    )
    known = replace(LARGE, release="4.3.1", rack_tags=(), rack_strategy="none")
    verdict = generations(group(first, kept, known=known).fold())[-1].verdict
    assert (verdict.grade, verdict.why) == (Grade.EXPLAINABLE, CANNOT_READ)
