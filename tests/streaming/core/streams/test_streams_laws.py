"""The laws of Streams groups: Kafka's own leaders break none, changed answers do; what is not known ends nothing."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from lab.attack.streams_vectors import Case, cases
from rebalance_monitor.assignors.streams.tasks import sorted_partitions
from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row
from rebalance_monitor.streaming.core.model.results import Evidence, Grade, Incident, Severity, Verdict
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import decode
from rebalance_monitor.streaming.core.streams.facts import Facts
from rebalance_monitor.streaming.core.streams.grading import Judged
from rebalance_monitor.streaming.core.streams.laws import examined
from rebalance_monitor.streaming.core.streams.members import StreamsThread, UnreadableThread, threads_of
from rebalance_monitor.streaming.core.streams.observed import observed
from rebalance_monitor.streaming.core.streams.past import Past
from rebalance_monitor.streaming.core.streams.topology import learnt
from tests.streaming.core.rules.builders import incidents
from tests.streaming.core.rules.cases_streams_placement import THREE_AND_ONE, moving
from tests.streaming.core.rules.cases_streams_record import KNOWN
from tests.streaming.core.rules.streams import Thread, group, of_release
from tests.streaming.folded_group import FoldedGroup
from tests.vector_files import GROUP_CAPTURES

CAPTURE = GROUP_CAPTURES / "streams-classic-4.3.1"
ERROR = "STREAMS-S26"
UNKNOWN = Judged(verdict=Verdict(grade=Grade.NOT_JUDGED))


def opened(case: Case) -> list[Incident]:
    """What is opened while the case's rounds are folded one by one."""
    settings = ClusterSettings(name="c", streams={"app": case.settings})
    group = FoldedGroup(settings, "app")
    for offset, (at_ms, body) in enumerate(case.rounds):
        row = Row(topic="__consumer_offsets", partition=0, offset=offset, timestamp_ms=at_ms, group="app", body=body)
        group.fold([row])
    return [one for one in group.results if isinstance(one, Incident) and one.transition == "opened"]


def test_kafkas_own_leaders_break_no_law() -> None:
    """But those that hand out an error: then nothing is handled, and people are to know."""
    broken: Counter[tuple[str, str]] = Counter()
    for case in cases():
        for finding in opened(case):
            if finding.code != ERROR and finding.severity is not Severity.INFO:
                broken[case.name, f"{finding.code} {finding.message}"] += 1
    assert broken == {}


def test_an_error_assignment_is_one_incident() -> None:
    missing = [case for case in cases() if "missing-topic" in case.tags]
    assert missing
    assert {one.code for case in missing for one in opened(case)} == {ERROR}


def mutants(threads: tuple[StreamsThread, ...]) -> Iterator[tuple[str, tuple[StreamsThread, ...]]]:
    """The answer with one thing changed, and the rule that must see it."""
    for at, thread in enumerate(threads):
        other = threads[(at + 1) % len(threads)]
        if thread.pairs:
            tasks = dict([*other.pairs, thread.pairs[0]])
            partitions = tuple(sorted_partitions(tasks))
            told = replace(other.told, active=tuple(tasks[part][:2] for part in partitions))
            twice = replace(other, given=replace(other.given, partitions=partitions), told=told)
            yield "STREAMS-S01", tuple(twice if one is other else one for one in threads)
            both = replace(
                thread, told=replace(thread.told, standby=((thread.pairs[0][1][:2], (thread.pairs[0][0],)),))
            )
            yield "STREAMS-S05", tuple(both if one is thread else one for one in threads)
            short = replace(thread, told=replace(thread.told, active=thread.told.active[1:]))
            yield "STREAMS-S27", tuple(short if one is thread else one for one in threads)
        failed = replace(thread, told=replace(thread.told, error=3))
        yield ERROR, tuple(failed if one is thread else one for one in threads)
        older = replace(thread, told=replace(thread.told, version=9))
        yield "STREAMS-S25", tuple(older if one is thread else one for one in threads)


def test_changed_answers_of_the_capture_break_the_law_that_was_hurt() -> None:
    settings = settings_of(CAPTURE)
    tried: Counter[str] = Counter()
    for record in records_of(CAPTURE):
        row = decode(record, settings)
        if row is None or not isinstance(row.body, GroupGeneration) or not row.body.members:
            continue
        threads = threads_of(row.body)
        assert not isinstance(threads, UnreadableThread)
        for code, mutant in mutants(threads):
            mutated = observed("app-4.3.1", row.body.leader, mutant, learnt((), mutant))
            known = settings.streams["app-4.3.1"]
            facts = Facts(record=mutated, judged=UNKNOWN, settings=known, here=Evidence(text="here"))
            assert examined(facts, Past(), Past()).grades[code] == "violated"
            tried[code] += 1
    assert tried.total() > 700


def test_what_is_not_known_neither_opens_nor_ends() -> None:
    """While tasks move nobody can say whether they will be evenly shared."""
    moves = (
        Thread(id="a1", active="0_0 2_0 3_0", owned="0_0 0_1 2_0 3_0"),
        Thread(id="b1", active="4_0", next_ms=0),
    )
    even = (Thread(id="a1", active="0_0 2_0"), Thread(id="b1", active="3_0 4_0"))
    transitions = [
        (one.transition, one.opened_generation)
        for one in group(THREE_AND_ONE, moves, even, known=KNOWN).fold()
        if isinstance(one, Incident) and one.code == "STREAMS-S11" and one.transition in ("opened", "resolved")
    ]
    assert transitions == [("opened", 1), ("resolved", 1)]
    assert not [one for one in moving().fold() if isinstance(one, Incident) and one.code == "STREAMS-S11"]


@pytest.mark.parametrize(
    ("threads", "says"),
    [
        (
            (Thread(id="a1", told_version=11), Thread(id="b1", version=10, told_version=11)),
            "a1 was given version 11, the leader's own newest; members use 10 at least",
        ),
        (
            (Thread(id="a1", told_version=9), Thread(id="b1", version=10, told_version=9)),
            "a1 was given version 9; members use 10 at least",
        ),
        (
            (Thread(id="a1"), Thread(id="b1", told_common=10)),
            "b1 was told that all members support version 10; one supports 11 at most",
        ),
        (
            (Thread(id="a1", told_version=10), Thread(id="b1", version=10, latest=10, told_common=11)),
            "a1 was told that all members support version 11, the leader's own newest; one supports 10 at most",
        ),
    ],
)
def test_a_wrong_version_is_told_with_what_bounds_it(threads: tuple[Thread, ...], says: str) -> None:
    (first, other) = threads
    placed = (replace(first, active="0_0"), replace(other, active="0_1"))
    (opened,) = incidents(group(placed, known=replace(KNOWN, release=None)).fold(), "STREAMS-S25")
    assert says in opened.message


@pytest.mark.parametrize(("release", "named"), [("2.6.0", True), ("2.6.1", False), ("4.3.1", False)])
def test_a_bug_is_named_only_where_the_leader_can_have_it(release: str, named: bool) -> None:
    warms_up = (Thread(id="a1", active="1_0", standby="1_1"), Thread(id="b1", active="1_1"))
    (opened,) = incidents(
        group(of_release(release, warms_up), known=replace(KNOWN, release=release)).fold(), "STREAMS-S16"
    )
    assert ("KAFKA-10455" in opened.message) == named


@pytest.mark.parametrize(
    ("hosts", "says"),
    [
        (({"h:1": "0_0", "h:2": "0_1"}, {"h:1": "0_0 0_1", "h:2": ""}), "threads were given different host maps"),
        (({"h:1": "0_0"}, {"h:1": "0_0"}), "the host maps lack h:2"),
    ],
)
def test_host_maps_that_contradict_each_other_or_the_members(hosts: tuple[dict[str, str], ...], says: str) -> None:
    threads = tuple(
        Thread(id=f"{name}1", active=f"0_{at}", end_point=f"h:{at + 1}", hosts=hosts[at])
        for at, name in enumerate("ab")
    )
    (found,) = incidents(group(threads, known=KNOWN).fold(), "STREAMS-S23")
    assert says in found.message
