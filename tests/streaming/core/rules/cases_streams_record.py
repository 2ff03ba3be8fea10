"""Cases of the laws about one record of a Streams group: STREAMS-S01 to S06, S22 to S27, S33."""

from collections.abc import Mapping
from dataclasses import replace

from rebalance_monitor.streaming.core.model.results import Severity
from rebalance_monitor.streaming.core.model.settings import StreamsSettings
from tests.streaming.core.rules.builders import GROUP, Story
from tests.streaming.core.rules.cases import Broken, Case, NearMiss
from tests.streaming.core.rules.streams import Thread, group, of_release

C, H, M, L, INFO = Severity
THE_GROUP = (f"group {GROUP}",)
TEXT = "Topologies:\n   Sub-topology: 0\n    Source: S (topics: [t0])\n      --> none\n\n" + "".join(
    f"  Sub-topology: {number}\n    Source: S{number} (topics: [t{number}])\n      --> P{number}\n"
    f"    Processor: P{number} (stores: [store{number}])\n      <-- S{number}\n\n"
    for number in range(1, 5)
)
KNOWN = StreamsSettings(
    release="4.3.1", assignor="high_availability", standbys=0, warm_ups=2, acceptable_lag=100, topology=TEXT
)
ONE_COPY = replace(KNOWN, standbys=1)
OWN = replace(KNOWN, assignor="com.example.Pinned")
OWN_ASSIGNOR = "an assignor of the application's own"
Threads = tuple[Thread, ...]
NO_HOSTS: Mapping[str, str] = {}


# -- S01 to S03: who runs what -----------------------------------------------------------------------------------------


def two_actives() -> Story:
    return group((Thread(id="a1", active="0_0 0_1"), Thread(id="b1", active="0_1 0_2")), known=KNOWN)


FOUR: Threads = (Thread(id="a1", active="0_0 0_2"), Thread(id="b1", active="0_1 0_3"))
THREE: Threads = (
    Thread(id="a1", active="0_0", owned="0_0", generation=1),
    Thread(id="b1", active="0_1 0_3", owned="0_1 0_3", generation=1),
)


def forgotten() -> Story:
    return group(FOUR, THREE, known=KNOWN)


def forgotten_by_another_assignor() -> Story:
    return group(FOUR, THREE, known=OWN)


def nothing_with_an_error() -> Story:
    return group(FOUR, (Thread(id="a1", told_error=3), Thread(id="b1", told_error=3)), known=KNOWN)


def another_topic() -> Story:
    return group(FOUR, (Thread(id="a1", active="2_0"), Thread(id="b1", active="2_1")), known=KNOWN)


def owned(older: int) -> Threads:
    return (
        Thread(id="a1", active="0_1", owned="0_0 0_1", generation=older),
        Thread(id="b1", active="0_0", generation=2),
    )


def taken_early() -> Story:
    return group(owned(2), known=KNOWN)


def owned_in_an_older_generation() -> Story:
    return group(owned(1), known=KNOWN)


# -- S04 to S06: hand-over and copies ----------------------------------------------------------------------------------


def handed_over(version: int = 11) -> Threads:
    return (
        Thread(id="a1", active="0_0", owned="0_0 0_1", version=version),
        Thread(id="b1", version=version),
    )


def hand_over_untold() -> Story:
    return group(handed_over(), known=KNOWN)


def hand_over_of_old_members() -> Story:
    return group(handed_over(version=6), known=KNOWN)


def at_once_for_a_topic_that_was_never_shown() -> Story:
    threads = (Thread(id="a1", active="0_0", owned="0_0 1_0 1_1"), Thread(id="b1", active="0_1", next_ms=0))
    return group(threads, known=KNOWN)


def at_once_by_another_assignor() -> Story:
    return group((Thread(id="a1", active="0_0", next_ms=0), Thread(id="b1", active="0_1")), known=OWN)


def active_and_standby() -> Story:
    threads = (
        Thread(id="a1", active="1_0"),
        Thread(id="a2", standby="1_0 1_1"),
        Thread(id="b1", active="1_1"),
    )
    return group(threads, known=ONE_COPY)


STATELESS_COPIES: Threads = (
    Thread(id="a1", active="0_0", standby="0_1"),
    Thread(id="b1", active="0_1", standby="0_0"),
)


def copies_without_a_store() -> Story:
    return group(STATELESS_COPIES, known=ONE_COPY)


def copies_of_an_old_leader() -> Story:
    return group(of_release("2.5.1", STATELESS_COPIES), known=replace(ONE_COPY, release="2.5.1"))


# -- S22 to S27: reports and payloads ----------------------------------------------------------------------------------


def reports(older: int) -> Threads:
    return (
        Thread(id="a1", active="1_0", sums="1_0:-2", generation=2),
        Thread(id="b1", active="1_1", sums="1_0:-2 1_1:-2", generation=older),
    )


def two_runners() -> Story:
    return group(reports(2), known=KNOWN)


def an_older_report() -> Story:
    return group(reports(1), known=KNOWN)


def hosted(active: Mapping[str, str], standby: Mapping[str, str] = NO_HOSTS) -> Story:
    """a and b have addresses, and all threads get these host maps."""
    threads = (
        Thread(id="a1", active="0_0", end_point="h:1", hosts=active, standby_hosts=standby),
        Thread(id="b1", active="0_1", end_point="h:2", hosts=active, standby_hosts=standby),
    )
    return group(threads, known=KNOWN)


def host_that_nobody_has() -> Story:
    return hosted({"h:1": "0_0", "h:2": "0_1", "h:3": "0_1"})


def standby_host_that_nobody_has() -> Story:
    return hosted({"h:1": "0_0", "h:2": "0_1"}, {"h:3": "0_1"})


def host_without_tasks() -> Story:
    """c joins, and gets nothing yet."""
    hosts = {"h:1": "0_0", "h:2": "0_1", "h:3": ""}
    threads = (
        Thread(id="a1", active="0_0", end_point="h:1", hosts=hosts),
        Thread(id="b1", active="0_1", end_point="h:2", hosts=hosts),
        Thread(id="c1", end_point="h:3", hosts=hosts),
    )
    return group(threads, known=KNOWN)


def hosts_of_old_members() -> Story:
    """Of version 1, payloads have no host maps."""
    threads = (
        Thread(id="a1", active="0_0", version=1, end_point="h:1"),
        Thread(id="b1", active="0_1", version=1, end_point="h:2"),
    )
    return group(threads, known=KNOWN)


def one_address_for_two() -> Story:
    return group(
        (Thread(id="a1", active="0_0", end_point="h:1"), Thread(id="b1", active="0_1", end_point="h:1")), known=KNOWN
    )


def no_addresses() -> Story:
    return group((Thread(id="a1", active="0_0"), Thread(id="b1", active="0_1")), known=KNOWN)


def one_id_for_two() -> Story:
    threads = (
        Thread(id="a1", active="0_0", tags={"zone": "x"}),
        Thread(id="a2", active="0_1", tags={"zone": "y"}),
    )
    return group(threads, known=KNOWN)


def behind_a_proxy() -> Story:
    threads = (
        Thread(id="a1", active="1_0", sums="1_0:-2", host="/10.0.0.1"),
        Thread(id="a2", active="1_1", sums="1_1:-2", host="/10.0.0.2"),
    )
    return group(threads, known=KNOWN)


def wrong_version() -> Story:
    threads = (Thread(id="a1", active="0_0", told_version=10), Thread(id="b1", active="0_1", told_version=10))
    return group(threads, known=KNOWN)


def rolling_upgrade() -> Story:
    threads = (Thread(id="a1", active="0_0", told_version=10), Thread(id="b1", active="0_1", version=10))
    return group(threads, known=KNOWN)


def error() -> Story:
    return group((Thread(id="a1", told_error=3), Thread(id="b1", told_error=3)), known=KNOWN)


def shutdown() -> Story:
    return group((Thread(id="a1", error=4, told_error=4), Thread(id="b1", told_error=4)), known=KNOWN)


def nobody_asked() -> Story:
    return group((Thread(id="a1", told_error=4), Thread(id="b1", told_error=4)), known=KNOWN)


def more_partitions_than_tasks() -> Story:
    return group((Thread(id="a1", active="x-0 x-1", tasks="0_0"), Thread(id="b1", active="0_1")), known=KNOWN)


NO_TEXT = replace(ONE_COPY, topology=None)


def copy_of_another_topic() -> Story:
    threads = (
        Thread(id="a1", active="x-0", tasks="0_0", standby="x-1", copied="0_1"),
        Thread(id="b1", active="x-1", tasks="0_1", standby="0_0"),
    )
    return group(threads, known=NO_TEXT)


def copy_of_another_number() -> Story:
    threads = (
        Thread(id="a1", active="0_0", standby="0_1"),
        Thread(id="b1", active="0_1", standby="t0-1", copied="0_0"),
    )
    return group(threads, known=NO_TEXT)


def topics_of_the_second_task_alone() -> Story:
    threads = (Thread(id="a1", active="0_0"), Thread(id="b1", active="t0-1 x-1", tasks="0_1 0_1"))
    return group(threads, known=NO_TEXT)


def topic_with_one_partition() -> Story:
    threads = (Thread(id="a1", active="t0-0 x-0", tasks="0_0 0_0"), Thread(id="b1", active="0_1"))
    return group(threads, known=NO_TEXT)


def another_applications_text() -> Story:
    """By the text, sub-topology 0 reads another topic."""
    text = TEXT.replace("[t0]", "[orders]")
    threads = (Thread(id="a1", active="0_0"), Thread(id="b1", active="0_1"))
    return group(threads, known=replace(KNOWN, topology=text))


def part_of_the_text() -> Story:
    return group((Thread(id="a1", active="0_0"), Thread(id="b1", active="0_1")), known=KNOWN)


CASES: tuple[Case, ...] = (
    Broken(code="STREAMS-S01", story=two_actives, subjects=THE_GROUP, severity=C, says="0_1"),
    Broken(code="STREAMS-S02", story=forgotten, subjects=THE_GROUP, severity=C, says="0_2 given to no thread"),
    NearMiss(code="STREAMS-S02", exception="the leader handed out an error", story=nothing_with_an_error),
    NearMiss(code="STREAMS-S02", exception="the topic is not read any more", story=another_topic),
    NearMiss(code="STREAMS-S02", exception=OWN_ASSIGNOR, story=forgotten_by_another_assignor),
    Broken(code="STREAMS-S03", story=taken_early, subjects=THE_GROUP, severity=C, says="while a1 still owned it"),
    NearMiss(code="STREAMS-S03", exception="the report is of an older generation", story=owned_in_an_older_generation),
    Broken(code="STREAMS-S04", story=hand_over_untold, subjects=THE_GROUP, severity=H, says="0_1 withheld"),
    NearMiss(code="STREAMS-S04", exception="members of versions below 7", story=hand_over_of_old_members),
    NearMiss(
        code="STREAMS-S04",
        exception="no record shows yet which task reads what an owner is to give up",
        story=at_once_for_a_topic_that_was_never_shown,
    ),
    NearMiss(code="STREAMS-S04", exception=OWN_ASSIGNOR, story=at_once_by_another_assignor),
    Broken(code="STREAMS-S05", story=active_and_standby, subjects=THE_GROUP, severity=H, says="1_0"),
    Broken(code="STREAMS-S06", story=copies_without_a_store, subjects=THE_GROUP, severity=H, says="0_0, 0_1"),
    NearMiss(code="STREAMS-S06", exception="a leader up to 2.5", story=copies_of_an_old_leader),
    Broken(code="STREAMS-S22", story=two_runners, subjects=THE_GROUP, severity=M, says="a1 and b1"),
    NearMiss(code="STREAMS-S22", exception="a report of an older generation", story=an_older_report),
    Broken(code="STREAMS-S23", story=one_address_for_two, subjects=THE_GROUP, severity=H, says="h:1"),
    NearMiss(code="STREAMS-S23", exception="processes without an application.server", story=no_addresses),
    Broken(
        code="STREAMS-S23",
        story=host_that_nobody_has,
        subjects=THE_GROUP,
        severity=M,
        says="the host maps name h:3, which is no member's application.server",
    ),
    Broken(code="STREAMS-S23", story=standby_host_that_nobody_has, subjects=THE_GROUP, severity=M, says="h:3"),
    NearMiss(code="STREAMS-S23", exception="a process that has no task yet", story=host_without_tasks),
    NearMiss(code="STREAMS-S23", exception="payloads of version 1 have no host maps", story=hosts_of_old_members),
    Broken(code="STREAMS-S24", story=one_id_for_two, subjects=THE_GROUP, severity=H, says="client tags"),
    NearMiss(
        code="STREAMS-S24", exception="threads of one process that a proxy shows with two hosts", story=behind_a_proxy
    ),
    Broken(code="STREAMS-S25", story=wrong_version, subjects=THE_GROUP, severity=L, says="version 10"),
    NearMiss(code="STREAMS-S25", exception="a rolling upgrade: members use different versions", story=rolling_upgrade),
    Broken(code="STREAMS-S26", story=error, subjects=THE_GROUP, severity=C, says="error 3"),
    Broken(code="STREAMS-S26", story=shutdown, subjects=THE_GROUP, severity=C, says="a1 (10.0.0.1) asked for it"),
    Broken(code="STREAMS-S26", story=nobody_asked, subjects=THE_GROUP, severity=C, says="no member asked for it"),
    Broken(code="STREAMS-S27", story=more_partitions_than_tasks, subjects=THE_GROUP, severity=C, says="2 partitions"),
    Broken(
        code="STREAMS-S27",
        story=copy_of_another_topic,
        subjects=THE_GROUP,
        severity=C,
        says="b1 was given a copy of task 0_0 with t0-0",
    ),
    Broken(
        code="STREAMS-S27",
        story=copy_of_another_number,
        subjects=THE_GROUP,
        severity=C,
        says="b1 was given a copy of task 0_0 with t0-1",
    ),
    Broken(
        code="STREAMS-S27",
        story=topics_of_the_second_task_alone,
        subjects=THE_GROUP,
        severity=C,
        says="task 0_1 reads x, task 0_0 of its sub-topology does not",
    ),
    NearMiss(code="STREAMS-S27", exception="a source topic with fewer partitions", story=topic_with_one_partition),
    Broken(
        code="STREAMS-S33",
        story=another_applications_text,
        subjects=THE_GROUP,
        severity=L,
        says="records show that sub-topology 0 reads t0, in the text it does not",
    ),
    NearMiss(code="STREAMS-S33", exception="a sub-topology that no record has shown yet", story=part_of_the_text),
)
