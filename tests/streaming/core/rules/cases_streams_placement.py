"""Cases of the laws about the high-availability assignor: STREAMS-S07 to S17 and S28."""

from dataclasses import replace

from rebalance_monitor.streaming.core.model.results import Severity
from rebalance_monitor.streaming.core.model.settings import StreamsSettings
from tests.streaming.core.rules.builders import START_MS, Story
from tests.streaming.core.rules.cases import Broken, Case, NearMiss
from tests.streaming.core.rules.cases_streams_record import KNOWN, ONE_COPY, OWN, OWN_ASSIGNOR, THE_GROUP, Threads
from tests.streaming.core.rules.streams import Thread, group, of_release, record

C, H, M, L, INFO = Severity
LATER_MS = START_MS + 600_000
OWN_WITH_COPIES = replace(OWN, standbys=1)
ON_THE_MOVE = "tasks are still on the move"
OTHER_THREADS = "processes with different numbers of threads"


# -- S07, S08: how many copies -----------------------------------------------------------------------------------------

ONE_OF_TWO_COPIED: Threads = (Thread(id="a1", active="1_0", standby="1_1"), Thread(id="b1", active="1_1"))


def copy_missing() -> Story:
    return group(ONE_OF_TWO_COPIED, known=ONE_COPY)


def copy_missing_under_another_assignor() -> Story:
    return group(ONE_OF_TWO_COPIED, known=OWN_WITH_COPIES)


def one_process() -> Story:
    return group((Thread(id="a1", active="1_0 1_1", sums="1_0:-2 1_1:-2"),), known=ONE_COPY)


TWO_WARM_UPS: Threads = (
    Thread(id="a1", active="1_0", standby="1_1", next_ms=LATER_MS),
    Thread(id="b1", active="1_1", standby="1_0"),
)


def too_many_warm_ups() -> Story:
    return group(TWO_WARM_UPS, known=replace(KNOWN, warm_ups=1))


def warm_ups_of_another_assignor() -> Story:
    return group(TWO_WARM_UPS, known=replace(OWN, warm_ups=1))


def copies_of_withheld_tasks() -> Story:
    threads = (
        Thread(id="a1", active="1_2", owned="1_0 1_1 1_2"),
        Thread(id="b1", standby="1_0 1_1", next_ms=0),
    )
    return group(threads, known=replace(KNOWN, warm_ups=1))


# -- S09, S10: who has the state ---------------------------------------------------------------------------------------

RUN_BY_NOBODYS_STATE: Threads = (
    Thread(id="a1", active="1_0"),
    Thread(id="b1", active="1_1", sums="1_0:-2 1_1:-2"),
    Thread(id="c1", active="1_2", sums="1_0:5000 1_2:-2"),
)


def run_without_state() -> Story:
    return group(RUN_BY_NOBODYS_STATE, known=KNOWN)


def run_without_state_by_another_assignor() -> Story:
    return group(RUN_BY_NOBODYS_STATE, known=OWN)


def run_where_it_was() -> Story:
    """The fallback assignor ran: everybody keeps what it had, and a probing rebalance comes."""
    threads = (
        Thread(id="a1", active="1_0", owned="1_0", sums="1_0:10", generation=1, next_ms=LATER_MS),
        Thread(id="b1", active="1_1", owned="1_1", sums="1_0:5000 1_1:-2", generation=1),
    )
    return group(threads, known=KNOWN)


COPIED_FAR_BEHIND: Threads = (
    Thread(id="a1", active="1_0", standby="1_2", sums="1_0:-2"),
    Thread(id="b1", active="1_1", standby="1_0", sums="1_1:-2"),
    Thread(id="c1", active="1_2", standby="1_1", sums="1_0:5000 1_2:-2"),
)


def copied_far_behind() -> Story:
    return group(COPIED_FAR_BEHIND, known=ONE_COPY)


def copied_far_behind_by_another_assignor() -> Story:
    return group(COPIED_FAR_BEHIND, known=OWN_WITH_COPIES)


# -- S11 to S13, S28: balance ------------------------------------------------------------------------------------------

THREE_AND_ONE: Threads = (Thread(id="a1", active="0_0 2_0 3_0"), Thread(id="b1", active="4_0"))


def three_and_one() -> Story:
    return group(THREE_AND_ONE, known=KNOWN)


def three_and_one_by_another_assignor() -> Story:
    return group(THREE_AND_ONE, known=OWN)


def moving() -> Story:
    threads = (
        Thread(id="a1", active="0_0 2_0 3_0", owned="0_0 0_1 2_0 3_0"),
        Thread(id="b1", active="4_0", next_ms=0),
    )
    return group(threads, known=KNOWN)


def uneven_copies() -> Story:
    threads = (
        Thread(id="a1", active="1_0", standby="1_1 1_2"),
        Thread(id="b1", active="1_1", standby="1_0"),
        Thread(id="c1", active="1_2"),
    )
    return group(threads, known=ONE_COPY)


def more_copies_with_more_threads() -> Story:
    threads = (
        Thread(id="a1", active="1_0", standby="1_1"),
        Thread(id="a2", standby="1_2"),
        Thread(id="b1", active="1_1", standby="1_0"),
        Thread(id="c1", active="1_2"),
    )
    return group(threads, known=ONE_COPY)


def copies_by_tags() -> Story:
    threads = (
        Thread(id="a1", active="1_0", standby="1_1 1_2", tags={"zone": "x"}),
        Thread(id="b1", active="1_1", standby="1_0", tags={"zone": "y"}),
        Thread(id="c1", active="1_2", tags={"zone": "y"}),
    )
    return group(threads, known=replace(ONE_COPY, rack_tags=("zone",)))


def one_part_each() -> Story:
    return group((Thread(id="a1", active="0_0 0_1"), Thread(id="b1", active="2_0 2_1")), known=KNOWN)


def one_part_with_more_threads() -> Story:
    threads = (Thread(id="a1", active="0_0"), Thread(id="a2", active="0_1"), Thread(id="b1", active="2_0"))
    return group(threads, known=KNOWN)


def many_threads() -> Story:
    few = tuple(Thread(id=f"a{at}", active=f"{10 + at}_0") for at in range(1, 5))
    many = tuple(Thread(id=f"b{at}", active=f"{20 + at}_0 {30 + at}_0") for at in range(1, 5))
    return group((*few, *many), known=replace(KNOWN, topology=None))


# -- S14, S15: threads -------------------------------------------------------------------------------------------------

ALL_ON_ONE: Threads = (Thread(id="a1", active="1_0 1_1 1_2", sums="1_0:-2 1_1:-2 1_2:-2"), Thread(id="a2"))


def all_on_one_thread() -> Story:
    return group(ALL_ON_ONE, known=KNOWN)


def all_on_one_thread_of_old() -> Story:
    return group(of_release("3.1.2", ALL_ON_ONE), known=replace(KNOWN, release="3.1.2"))


def threads_that_hand_over() -> Story:
    threads = (
        Thread(id="a1", active="1_0 1_1 1_2", owned="1_0 1_1 1_2 1_3", sums="1_0:-2 1_1:-2 1_2:-2 1_3:-2"),
        Thread(id="a2", next_ms=0),
    )
    return group(threads, known=KNOWN)


def threads_swapped() -> Story:
    threads = (Thread(id="a1", active="1_1", sums="1_0:-2"), Thread(id="a2", active="1_0", sums="1_1:-2"))
    return group(threads, known=KNOWN)


def more_than_its_share() -> Story:
    threads = (Thread(id="a1", active="1_0", sums="1_0:-2 1_1:-2"), Thread(id="a2", active="1_1"))
    return group(threads, known=KNOWN)


# -- S16, S17: probing -------------------------------------------------------------------------------------------------

WARMS_UP: Threads = (Thread(id="a1", active="1_0", standby="1_1"), Thread(id="b1", active="1_1"))


def no_probing() -> Story:
    return group(WARMS_UP, known=KNOWN)


def no_probing_by_another_assignor() -> Story:
    return group(WARMS_UP, known=OWN)


OTHER_CARRIER: Threads = (Thread(id="a1", active="0_0"), Thread(id="b1", active="0_1", next_ms=LATER_MS))


def another_thread_has_the_deadline() -> Story:
    return group(OTHER_CARRIER, known=KNOWN)


def _probing(*aheads_ms: int, known: StreamsSettings) -> Story:
    """The leader's deadlines, each so much after the time of its record."""
    story = group(known=known)
    for ahead_ms in aheads_ms:
        at_ms = story.now_ms + 5_000 + ahead_ms
        record(story, Thread(id="a1", active="1_0", standby="1_1", next_ms=at_ms), Thread(id="b1", active="1_1"))
    return story


TEN_MINUTES = replace(KNOWN, probing_interval_ms=600_000)


def half_the_interval() -> Story:
    return _probing(300_000, known=TEN_MINUTES)


def deadline_of_the_generation_before() -> Story:
    return _probing(600_000, 595_000, known=TEN_MINUTES)


def years_ago() -> Story:
    return _probing(-START_MS - 4_000, known=KNOWN)


def another_interval_than_before() -> Story:
    return _probing(600_000, 900_000, known=KNOWN)


def interval_that_nobody_says() -> Story:
    return _probing(690_000, 690_000, known=KNOWN)


def deadline_of_another_assignor() -> Story:
    return group(OTHER_CARRIER, known=OWN)


CASES: tuple[Case, ...] = (
    Broken(code="STREAMS-S07", story=copy_missing, subjects=THE_GROUP, severity=H, says="1_0 with fewer than 1"),
    NearMiss(code="STREAMS-S07", exception="fewer processes than copies", story=one_process),
    NearMiss(code="STREAMS-S07", exception=OWN_ASSIGNOR, story=copy_missing_under_another_assignor),
    Broken(code="STREAMS-S08", story=too_many_warm_ups, subjects=THE_GROUP, severity=M, says="2 copies"),
    NearMiss(code="STREAMS-S08", exception="copies of withheld tasks", story=copies_of_withheld_tasks),
    NearMiss(code="STREAMS-S08", exception=OWN_ASSIGNOR, story=warm_ups_of_another_assignor),
    Broken(code="STREAMS-S09", story=run_without_state, subjects=THE_GROUP, severity=C, says="1_0"),
    NearMiss(code="STREAMS-S09", exception="the leader could not read end offsets", story=run_where_it_was),
    NearMiss(code="STREAMS-S09", exception=OWN_ASSIGNOR, story=run_without_state_by_another_assignor),
    Broken(code="STREAMS-S10", story=copied_far_behind, subjects=THE_GROUP, severity=M, says="1_0"),
    NearMiss(code="STREAMS-S10", exception=OWN_ASSIGNOR, story=copied_far_behind_by_another_assignor),
    Broken(code="STREAMS-S11", story=three_and_one, subjects=THE_GROUP, severity=M, says="1 to 3"),
    NearMiss(code="STREAMS-S11", exception=ON_THE_MOVE, story=moving),
    NearMiss(code="STREAMS-S11", exception=OWN_ASSIGNOR, story=three_and_one_by_another_assignor),
    Broken(code="STREAMS-S12", story=uneven_copies, subjects=THE_GROUP, severity=M, says="1 to 3"),
    NearMiss(code="STREAMS-S12", exception=OTHER_THREADS, story=more_copies_with_more_threads),
    NearMiss(code="STREAMS-S12", exception="client tags", story=copies_by_tags),
    Broken(code="STREAMS-S13", story=one_part_each, subjects=THE_GROUP, severity=L, says="0, 2"),
    NearMiss(code="STREAMS-S13", exception=OTHER_THREADS, story=one_part_with_more_threads),
    Broken(code="STREAMS-S14", story=all_on_one_thread, subjects=THE_GROUP, severity=M, says="0 to 3"),
    NearMiss(code="STREAMS-S14", exception="tasks change hands", story=threads_that_hand_over),
    NearMiss(code="STREAMS-S14", exception="a leader up to 3.1", story=all_on_one_thread_of_old),
    Broken(code="STREAMS-S15", story=threads_swapped, subjects=THE_GROUP, severity=L, says="1_0 taken from a1"),
    NearMiss(code="STREAMS-S15", exception="a thread that has more than its share", story=more_than_its_share),
    Broken(code="STREAMS-S16", story=no_probing, subjects=THE_GROUP, severity=H, says="1 copies warm up"),
    NearMiss(code="STREAMS-S16", exception=OWN_ASSIGNOR, story=no_probing_by_another_assignor),
    Broken(code="STREAMS-S17", story=another_thread_has_the_deadline, subjects=THE_GROUP, severity=M, says="b1"),
    *(
        Broken(code="STREAMS-S17", story=story, subjects=THE_GROUP, severity=M, says=says)
        for story, says in (
            (half_the_interval, "300 s earlier"),
            (deadline_of_the_generation_before, "the time of the generation before"),
            (years_ago, "earlier than the leader's time"),
            (another_interval_than_before, "300 s later"),
        )
    ),
    NearMiss(
        code="STREAMS-S17",
        exception="the monitor does not know the interval: the leader's deadlines agree with each other",
        story=interval_that_nobody_says,
    ),
    NearMiss(code="STREAMS-S17", exception=OWN_ASSIGNOR, story=deadline_of_another_assignor),
    Broken(code="STREAMS-S28", story=many_threads, subjects=THE_GROUP, severity=INFO, says="runs 4 tasks"),
    NearMiss(code="STREAMS-S28", exception=ON_THE_MOVE, story=moving),
)
