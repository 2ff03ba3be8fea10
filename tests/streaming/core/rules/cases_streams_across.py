"""Cases of the laws across generations of a Streams group: STREAMS-S18 to S21 and S29."""

from dataclasses import replace

from rebalance_monitor.streaming.core.cluster.changelogs import ChangelogEnds
from rebalance_monitor.streaming.core.model.results import Severity
from tests.streaming.core.rules.builders import GROUP, Story
from tests.streaming.core.rules.cases import Broken, Case, NearMiss
from tests.streaming.core.rules.cases_streams_record import KNOWN, OWN, OWN_ASSIGNOR, THE_GROUP, Threads
from tests.streaming.core.rules.streams import Thread, group

C, H, M, L, INFO = Severity
ANOTHER_LEADER = "another leader"
OTHER_TOPICS = "topics or partitions changed"
COME_AND_GO = "members come and go"
CHANGELOG = f"{GROUP}-store1-changelog"


# -- S18, S20: needless moves ------------------------------------------------------------------------------------------


def two(first: str, second: str, sums: tuple[str, str] = ("1_0:-2", "1_1:-2")) -> Threads:
    return Thread(id="a1", active=first, sums=sums[0]), Thread(id="b1", active=second, sums=sums[1])


def swapped() -> Story:
    return group(two("1_0", "1_1"), two("1_1", "1_0"), known=KNOWN)


def swapped_by_another_leader() -> Story:
    return group(two("1_0", "1_1"), tuple(reversed(two("1_1", "1_0"))), known=KNOWN)


def swapped_with_a_new_partition() -> Story:
    return group(two("1_0", "1_1"), two("1_1 1_2", "1_0"), known=KNOWN)


def swapped_under_another_assignor() -> Story:
    return group(two("1_0", "1_1"), two("1_1", "1_0"), known=OWN)


def stateless_swapped() -> Story:
    return group(two("1_0 0_0", "1_1 0_1"), two("1_0 0_1", "1_1 0_0"), known=KNOWN)


def stateless_swapped_by_another_leader() -> Story:
    return group(two("1_0 0_0", "1_1 0_1"), tuple(reversed(two("1_0 0_1", "1_1 0_0"))), known=KNOWN)


def stateless_swapped_with_a_new_partition() -> Story:
    return group(two("1_0 0_0", "1_1 0_1"), two("1_0 0_1 0_2", "1_1 0_0"), known=KNOWN)


def stateless_swapped_under_another_assignor() -> Story:
    return group(two("1_0 0_0", "1_1 0_1"), two("1_0 0_1", "1_1 0_0"), known=OWN)


# -- S19: probing that does not converge -------------------------------------------------------------------------------


def probing(sum_: int, joined: str = "b1") -> Threads:
    """a runs both tasks, b shall run 1_1 and lags: one copy warms up."""
    return (
        Thread(id="a1", active="1_0 1_1", owned="1_0 1_1", sums="1_0:-2 1_1:-2", generation=1, probing=True),
        Thread(id=joined, standby="1_1", sums=f"1_1:{sum_}", generation=1),
    )


ONE_WARM_UP = replace(KNOWN, warm_ups=1)


def never_nearer() -> Story:
    return group(*(probing(5) for _ in range(6)), known=ONE_WARM_UP)


def grows(restored: int, written: int | None) -> Story:
    """The copy restores so many records in each round, while so many are written, if that is known."""
    sums = [5 + restored * at for at in range(30)]
    story = group(*map(probing, sums), known=ONE_WARM_UP)
    samples = tuple(
        ChangelogEnds(row.timestamp_ms - 1_100, row.timestamp_ms - 1_000, {f"{CHANGELOG}-1": 100_000 + written * at})
        for at, row in enumerate(story.rows if written is not None else ())
        if written is not None
    )
    story.knowledge = replace(story.knowledge, changelogs={GROUP: samples})
    return story


def written_faster() -> Story:
    return grows(restored=10, written=25)


def at_a_steady_distance() -> Story:
    return grows(restored=1000, written=1000)


def slowly_nearer() -> Story:
    return grows(restored=30, written=25)


def nobody_says_how_fast() -> Story:
    return grows(restored=10, written=None)


def other_members_meanwhile() -> Story:
    return group(*(probing(5, joined="b1" if at < 4 else "b2") for at in range(8)), known=ONE_WARM_UP)


def nearer(left: int) -> Threads:
    """a runs the tasks that b does not have yet: of 1_1, 1_3 and 1_5 b shall run all in the end."""
    b = ("1_1", "1_3", "1_5")[: 3 - left]
    a = ["1_0", "1_2", "1_4", *("1_1", "1_3", "1_5")[3 - left :]]
    copy = ("1_1", "1_3", "1_5")[3 - left] if left else ""
    mine, others = " ".join(sorted(a)), " ".join(b)
    return (
        Thread(
            id="a1",
            active=mine,
            owned=mine,
            sums=" ".join(f"{one}:-2" for one in sorted(a)),
            generation=1,
            probing=bool(left),
        ),
        Thread(
            id="b1",
            active=others,
            owned=others,
            standby=copy,
            sums=" ".join([*(f"{one}:-2" for one in b), *([f"{copy}:5"] if copy else [])]),
            generation=1,
        ),
    )


def nearer_one_by_one() -> Story:
    rounds = [nearer(left) for left in (3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1)]
    return group(*rounds, known=ONE_WARM_UP)


# -- S21: ping-pong ----------------------------------------------------------------------------------------------------


def turn(owner: str, other: str = "b1") -> Threads:
    mine, others = ("1_0 1_2", "1_1") if owner == "a" else ("1_2", "1_0 1_1")
    return (
        Thread(id="a1", active=mine, sums="1_2:-2", probing=True),
        Thread(id=other, active=others, sums="1_1:-2"),
    )


def back_and_forth() -> Story:
    return group(*map(turn, "abab"), known=KNOWN)


def one_return() -> Story:
    return group(*map(turn, "aba"), known=KNOWN)


def back_and_forth_with_new_members() -> Story:
    return group(turn("a"), turn("b"), turn("a", "b2"), turn("b", "b2"), known=KNOWN)


# -- S29: state that is gone -------------------------------------------------------------------------------------------


def won(total: str, others: str = "") -> Story:
    """a is given 1_0 because it reports most of it, and then reports `total`."""
    threads = [
        (
            Thread(id="a1", active="1_2", sums="1_0:49000 1_2:-2", probing=True),
            Thread(id="b1", active="1_0 1_1", sums="1_0:-2 1_1:-2"),
            Thread(id="c1", active="1_3", sums="1_3:-2"),
        ),
        (
            Thread(id="a1", active="1_0 1_2", sums="1_0:50000 1_2:-2"),
            Thread(id="b1", active="1_1", sums="1_0:-2 1_1:-2"),
            Thread(id="c1", active="1_3", sums="1_3:-2"),
        ),
        (
            Thread(id="a1", active="1_0 1_2", sums=f"1_0:{total} 1_2:-2"),
            Thread(id="b1", active="1_1", sums="1_1:-2"),
            Thread(id="c1", active="1_3", sums=f"1_3:-2{others}"),
        ),
    ]
    return group(*threads, known=KNOWN)


def state_lost() -> Story:
    return won("300")


def changelog_made_anew() -> Story:
    return won("300", others=" 1_0:200")


def nothing_restored_yet() -> Story:
    return won("0")


CASES: tuple[Case, ...] = (
    Broken(code="STREAMS-S18", story=swapped, subjects=THE_GROUP, severity=M, says="1_0, 1_1"),
    NearMiss(code="STREAMS-S18", exception=ANOTHER_LEADER, story=swapped_by_another_leader),
    NearMiss(code="STREAMS-S18", exception=OTHER_TOPICS, story=swapped_with_a_new_partition),
    NearMiss(code="STREAMS-S18", exception=OWN_ASSIGNOR, story=swapped_under_another_assignor),
    Broken(
        code="STREAMS-S19",
        story=never_nearer,
        subjects=THE_GROUP,
        severity=H,
        says="5 → 5; what fits: a copy does not restore",
    ),
    NearMiss(code="STREAMS-S19", exception="copies that catch up one after another", story=nearer_one_by_one),
    Broken(
        code="STREAMS-S19",
        story=written_faster,
        subjects=THE_GROUP,
        severity=H,
        says="what fits: copies restore more slowly than",
    ),
    Broken(
        code="STREAMS-S19",
        story=at_a_steady_distance,
        subjects=THE_GROUP,
        severity=H,
        says="is below the lag at which a copy stays",
    ),
    NearMiss(
        code="STREAMS-S19",
        exception="a copy that restores faster than its changelog is written, however slowly",
        story=slowly_nearer,
        at_most=INFO,
    ),
    NearMiss(
        code="STREAMS-S19",
        exception="nobody says how fast the changelogs of growing copies are written",
        story=nobody_says_how_fast,
        at_most=INFO,
    ),
    NearMiss(code="STREAMS-S19", exception=COME_AND_GO, story=other_members_meanwhile),
    Broken(code="STREAMS-S20", story=stateless_swapped, subjects=THE_GROUP, severity=L, says="0_0, 0_1"),
    NearMiss(code="STREAMS-S20", exception=ANOTHER_LEADER, story=stateless_swapped_by_another_leader),
    NearMiss(code="STREAMS-S20", exception=OTHER_TOPICS, story=stateless_swapped_with_a_new_partition),
    NearMiss(code="STREAMS-S20", exception=OWN_ASSIGNOR, story=stateless_swapped_under_another_assignor),
    Broken(code="STREAMS-S21", story=back_and_forth, subjects=THE_GROUP, severity=M, says="1_0"),
    NearMiss(code="STREAMS-S21", exception="one return, after a copy has caught up", story=one_return),
    NearMiss(code="STREAMS-S21", exception=COME_AND_GO, story=back_and_forth_with_new_members),
    Broken(code="STREAMS-S29", story=state_lost, subjects=THE_GROUP, severity=H, says="50000"),
    NearMiss(code="STREAMS-S29", exception="the changelog was made anew", story=changelog_made_anew),
    NearMiss(code="STREAMS-S29", exception="nothing is restored yet", story=nothing_restored_yet),
)
