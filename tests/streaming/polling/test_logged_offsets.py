"""Committed offsets by the log: whatever happens, what a sample tells of a group is what brokers told at a moment of
the sample. A coordinator of this test keeps both, and the job's batches read it whenever the test lets them."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.cluster.progress import NO_PROGRESS_KNOWN, ProgressOfGroups, ProgressSample
from rebalance_monitor.streaming.core.reading.coordinators import home_partition
from rebalance_monitor.streaming.polling.asking_progress import EndsAnswer, NamedPartition
from rebalance_monitor.streaming.polling.logged_offsets import DOUBTED_MS, FRESH_MS, LoggedOffsets, ReadOfLog
from rebalance_monitor.streaming.polling.progress import PART, ProgressPoller
from tests.profile import size
from tests.streaming.polling.observed_poller import ObservedPoller

LOG, HOMES, EVERY_S = "__consumer_offsets", 2, 30.0
GROUPS = ("a", "b", "c")
T0, T1 = ("t", 0), ("t", 1)
END = 1_000
MARKER = None
Step: TypeAlias = tuple[Any, ...]
Committed = Mapping[NamedPartition, int]


class Coordinator(ObservedPoller):
    """Groups with their log, and a job that reads it. A record is (group, partition, offset, ms) or a marker."""

    part_name = PART
    poller: ProgressPoller

    def __init__(self, *, by_log: bool = True) -> None:
        super().__init__()
        self.log: list[list[tuple[str, NamedPartition, int | None, int] | None]] = [[] for _ in range(HOMES)]
        self.stable: dict[str, dict[NamedPartition, int]] = {group: {} for group in GROUPS}
        self.told: dict[str, list[tuple[int, dict[NamedPartition, int]]]] = defaultdict(list)
        self.open: dict[int, tuple[int, str, dict[NamedPartition, int]]] = {}
        self.read_ends = [0] * HOMES
        self.asked: list[str] = []
        self.from_log: list[int] = []
        self.meanwhile: list[Sequence[Step]] = []
        self.logged = LoggedOffsets(LOG, ("[ab]",), self.now_ms)
        self.poller = ProgressPoller(
            self, self, EVERY_S, self.now_ms, lambda: self.now_s, self.logged if by_log else None
        )
        self.poller.watch(GROUPS)
        self.logged.restart(dict(enumerate(self.read_ends)))
        self._note()

    # -- what the group's members do ---------------------------------------------------------------------------

    def commit(self, group: str, place: NamedPartition, offset: int | None) -> None:
        self._write(group, place, offset)
        if offset is None:
            self.stable[group].pop(place, None)
        else:
            self.stable[group][place] = offset
        self._note()

    def pending(self, group: str, place: NamedPartition, offset: int) -> None:
        """A commit in a transaction that is not over yet; one at a time in each partition of the log."""
        home = home_partition(group, HOMES)
        first, of, offsets = self.open.get(home, (len(self.log[home]), group, {}))
        if of == group:
            self._write(group, place, offset)
            self.open[home] = (first, group, {**offsets, place: offset})

    def over(self, home: int, *, committed: bool) -> None:
        if home in self.open:
            _, group, offsets = self.open.pop(home)
            self.log[home].append(MARKER)
            if committed:
                self.stable[group].update(offsets)
        self._note()

    def _write(self, group: str, place: NamedPartition, offset: int | None) -> None:
        self.log[home_partition(group, HOMES)].append((group, place, offset, self.now_ms()))

    def _note(self) -> None:
        for group, offsets in self.stable.items():
            self.told[group].append((self.now_ms(), dict(offsets)))

    # -- what the job does -------------------------------------------------------------------------------------

    def read(self, most: int | None = None) -> None:
        """A batch: all that is there, or so many records of each partition."""
        read: dict[int, ReadOfLog] = {}
        for home, records in enumerate(self.log):
            begin = self.read_ends[home]
            fresh = records[begin : len(records) if most is None else begin + most]
            groups: dict[str, dict[NamedPartition, tuple[int, int] | None]] = defaultdict(dict)
            for record in fresh:
                if record is not MARKER and record[0] in "ab":
                    group, place, offset, at_ms = record
                    groups[group][place] = None if offset is None else (offset, at_ms)
            if fresh:
                self.read_ends[home] = begin + len(fresh)
                read[home] = ReadOfLog(self.read_ends[home], MARKER not in fresh, groups)
        self.logged.take(read)

    def reads_on(self) -> None:
        """A batch, after which the reader says until when all is read."""
        at_ms = self.now_ms()
        self.read()
        self.now_s += 0.001
        self.logged.read_to(at_ms)

    def restart(self) -> None:
        self.logged.restart(dict(enumerate(self.read_ends)))

    # -- what brokers say --------------------------------------------------------------------------------------

    def committed(self, group: str) -> Committed:
        self.asked.append(group)
        self._goes_on()
        told = dict(self.stable[group])
        self._goes_on()
        return told

    def ends(self, partitions: Collection[NamedPartition]) -> EndsAnswer:
        self._goes_on()
        ends = {one: self._stable_end(one[1]) if one[0] == LOG else END for one in partitions}
        self._goes_on()
        return EndsAnswer(ends, 1)

    def _goes_on(self) -> None:
        """What happens while brokers are asked."""
        self.now_s += 0.001
        if self.meanwhile:
            for step in self.meanwhile.pop(0):
                self.now_s += 0.001
                self.do(*step)
        self.now_s += 0.001

    def do(self, name: str, *given_: Any) -> None:
        """One step of a history."""
        match name, *given_:
            case "passes", float(seconds):
                self.now_s += seconds
            case "over", int(home), bool(committed):
                self.over(home, committed=committed)
            case ("step",):
                self.poller.step()
            case _:
                getattr(self, name)(*given_)

    def _stable_end(self, home: int) -> int:
        return self.open[home][0] if home in self.open else len(self.log[home])

    def progress_turn(self, seconds: float, from_log: int) -> None:
        assert round(seconds, 3) >= EVERY_S
        self.from_log.append(from_log)

    def was(self, group: str, sample: ProgressSample) -> list[dict[NamedPartition, int]]:
        """What was true at some moment of the sample."""
        before = [offsets for at_ms, offsets in self.told[group] if at_ms <= sample.asked_ms]
        return [
            *before[-1:],
            *(now for at_ms, now in self.told[group] if sample.asked_ms <= at_ms <= sample.answered_ms),
        ]

    def turn(self, *, for_s: float = EVERY_S) -> list[ProgressSample]:
        """So long, while the job reads all the time; the samples that came."""
        known = self.poller.since(None)
        until_s = self.now_s + for_s
        while self.now_s < until_s:
            self.reads_on()
            self.poller.step()
            self.now_s += 0.2
        return [one for one in self.poller.since(None) if one not in known]


PLACES, OFFSETS = st.sampled_from([T0, T1]), st.integers(0, 99)
MEMBERS_STEPS = st.one_of(
    st.tuples(st.just("commit"), st.sampled_from(GROUPS), PLACES, st.none() | OFFSETS),
    st.tuples(st.just("pending"), st.sampled_from(GROUPS), PLACES, OFFSETS),
    st.tuples(st.just("over"), st.integers(0, HOMES - 1), st.booleans()),
    st.tuples(st.just("reads_on")),
    st.tuples(st.just("read"), st.sampled_from([None, 1])),
)
STEPS = st.one_of(
    MEMBERS_STEPS,
    st.tuples(st.just("restart")),
    st.tuples(st.just("step")),
    st.tuples(st.just("passes"), st.sampled_from([0.1, 1.0, FRESH_MS / 1000, EVERY_S, DOUBTED_MS / 1000])),
    st.tuples(st.just("turn")),
)


WHILE_ASKED = st.lists(st.lists(MEMBERS_STEPS, max_size=4), max_size=30)
"""What happens while brokers are asked: before and after each look at what they have."""
TURNS = st.lists(st.one_of(st.tuples(st.just("turn")), MEMBERS_STEPS), min_size=3, max_size=6)


@settings(max_examples=size(400, 5_000), deadline=None)
@given(st.one_of(st.lists(STEPS, max_size=60), TURNS), WHILE_ASKED)
def test_a_sample_tells_what_was_true_at_a_moment_of_it(steps: list[Step], meanwhile: list[list[Step]]) -> None:
    cluster = Coordinator()
    cluster.meanwhile += meanwhile
    for step in steps:
        cluster.now_s += 0.001
        cluster.do(*step)
    for sample in cluster.poller.since(None):
        for group, told in sample.groups.items():
            offsets = {(name[:-2], int(name[-1])): one.committed for name, one in told.items()}
            assert offsets in cluster.was(group, sample), (group, sample)


def played(*, by_log: bool) -> tuple[Coordinator, ProgressOfGroups]:
    """A group that commits between samples, one that stands, one that is not followed."""
    cluster, known = Coordinator(by_log=by_log), NO_PROGRESS_KNOWN
    for number in range(12):
        cluster.commit("a", T0, 10 * number)
        cluster.commit("b", T1, 5)
        cluster.commit("c", T0, number)
        if number == 8:
            cluster.commit("a", T1, 3)
        for sample in cluster.turn():
            known = known.with_sample(sample)
    return cluster, known


def test_both_sources_tell_the_same_lag_at_the_times_of_samples() -> None:
    (asked, polled), (spared, logged) = played(by_log=False), played(by_log=True)
    assert {name: one.partitions.keys() for name, one in polled.groups.items()} == {
        "a": {"t-0", "t-1"}, "b": {"t-1"}, "c": {"t-0"}
    }  # fmt: skip
    for name, one in polled.groups.items():
        other = logged.groups[name]
        assert [total.lag for total in one.totals] == [total.lag for total in other.totals]
        assert {place: (at.committed, at.end, at.samples) for place, at in one.partitions.items()} == {
            place: (at.committed, at.end, at.samples) for place, at in other.partitions.items()
        }
        assert (one.commits, one.trend) == (other.commits, other.trend)
    assert asked.asked.count("a") == 12
    assert [spared.asked.count(one) for one in GROUPS] == [1, 1, 12], "c fits no pattern"
    assert (set(asked.from_log), spared.from_log) == ({0}, [0, *[2] * 11])


def test_the_time_of_the_last_change_is_that_of_its_commit() -> None:
    cluster = Coordinator()
    cluster.commit("a", T0, 1)
    cluster.turn()
    cluster.now_s += 7
    committed_ms = cluster.now_ms()
    cluster.commit("a", T0, 2)
    cluster.read()
    cluster.now_s += 1
    cluster.commit("a", T0, 2)
    (sample,) = cluster.turn()
    assert sample.changed_ms == {"a": committed_ms}


def test_brokers_are_asked_again_where_the_log_may_not_tell() -> None:
    cluster = Coordinator()
    cluster.commit("a", T0, 1)
    cluster.turn(for_s=2 * EVERY_S)
    assert cluster.asked.count("a") == 1
    cluster.now_s += EVERY_S
    cluster.poller.step()  # nothing is read all the time
    assert cluster.asked.count("a") == 2
    cluster.turn()
    cluster.pending("a", T0, 7)
    told = {name: one for sample in cluster.turn() for name, one in sample.groups.items()}
    assert cluster.asked.count("a") == 3, "a transaction is open"
    assert told["a"]["t-0"].committed == 1
    cluster.over(home_partition("a", HOMES), committed=False)
    cluster.turn()
    assert cluster.asked.count("a") == 4, "it is over, and nobody knows how"
    cluster.turn(for_s=DOUBTED_MS / 1000 + 2 * EVERY_S)
    asked = cluster.asked.count("a")
    cluster.turn(for_s=3 * EVERY_S)
    assert cluster.asked.count("a") == asked, "none came for a while"


def test_a_group_whose_commits_come_from_elsewhere_is_asked_for() -> None:
    """Not all partitions of the log are known."""
    cluster = Coordinator()
    cluster.turn()
    other = next(one for one in "ab" if home_partition(one, HOMES) == 1)
    cluster.logged.take({0: ReadOfLog(1, True, {other: {T0: (1, 1)}})})
    assert cluster.logged.of(other) is None
    cluster.logged.restart({1: 0})
    assert cluster.logged.begin("a" if other == "b" else "b") is None, "its home is not known"


def test_a_commit_elsewhere_than_at_home_counts_in_a_batch_with_a_hole_too() -> None:
    """A partition of the log that has no leader was never read, so nobody knows how many there are."""
    logged = LoggedOffsets(LOG, ("*",), lambda: 1_000)
    logged.restart({0: 0, 1: 0})
    followed = logged.begin("ab")
    assert followed is not None
    logged.asked(followed, {T0: 1})
    assert (home_partition("ab", 2), home_partition("ab", 3)) == (1, 0)
    logged.take({0: ReadOfLog(3, False, {"ab": {T0: (2, 1_000)}})})
    logged.read_to(1_000)
    assert logged.of("ab") is None


def test_a_group_that_is_not_watched_any_more_is_forgotten() -> None:
    cluster = Coordinator()
    cluster.turn()
    assert cluster.logged.of("a") is not None
    cluster.poller.watch(["b"])
    cluster.turn(for_s=2 * EVERY_S)
    assert cluster.logged.of("a") is None


def committed_of_a(samples: Sequence[ProgressSample]) -> list[int]:
    return [sample.groups["a"]["t-0"].committed for sample in samples if "a" in sample.groups]


def test_a_commit_while_the_group_is_asked_for_counts_over_the_answer() -> None:
    cluster = Coordinator()
    cluster.commit("a", T0, 1)
    cluster.read()
    cluster.meanwhile = [[], [("commit", "a", T0, 2), ("read",)]]  # the answer is on its way
    assert cluster.poller.step() > 0
    assert cluster.asked[0] == "a"
    assert committed_of_a(cluster.turn(for_s=2 * EVERY_S))[-1] == 2
    assert cluster.asked.count("a") == 1


def test_commits_that_were_made_before_the_question_are_read_first() -> None:
    cluster = Coordinator()
    cluster.reads_on()
    cluster.commit("a", T0, 1)
    cluster.commit("a", T0, 2)
    cluster.poller.step()
    cluster.read(1)
    assert cluster.logged.of("a") is None
    cluster.reads_on()
    told = cluster.logged.of("a")
    assert told is not None
    assert told.offsets == {T0: 2}


def test_a_transaction_that_ends_while_ends_are_asked_for_is_seen_before_the_sample_counts() -> None:
    cluster = Coordinator()
    cluster.commit("a", T0, 1)
    cluster.turn()
    cluster.pending("a", T0, 7)
    cluster.reads_on()
    cluster.now_s += EVERY_S - 1
    cluster.logged.read_to(cluster.now_ms())
    cluster.now_s += 1
    cluster.meanwhile = [[], [], [("over", home_partition("a", HOMES), False)]]  # those before are about group c
    before = len(cluster.poller.since(None))
    cluster.poller.step()
    cluster.poller.step()
    assert cluster.asked.count("a") == 1, "the log told"
    assert len(cluster.poller.since(None)) == before, "not yet sure"
    assert committed_of_a(cluster.turn()) == [1]
    assert cluster.asked.count("a") == 2
