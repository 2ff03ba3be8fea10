"""When brokers are asked for all groups, and which of them are folded. The clock is the test's."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import pytest
from confluent_kafka import KafkaError

from rebalance_monitor.streaming.core.model.records import POLLED, GroupDeleted, GroupGeneration, Sampled
from rebalance_monitor.streaming.core.reading.snapshots import EMPTY, STABLE, Snapshot, SnapshotMember, SnapshotPoll
from rebalance_monitor.streaming.polling import asking_snapshots
from rebalance_monitor.streaming.polling.asking_snapshots import (
    DIFFERENT,
    GroupsAnswer,
    KafkaSnapshots,
    not_described,
    snapshots_of,
)
from rebalance_monitor.streaming.polling.poller import HANGS_S, LOOK_EVERY_S
from rebalance_monitor.streaming.polling.seen_groups import GONE_AFTER, SeenGroups
from rebalance_monitor.streaming.polling.snapshots import HIDDEN_AFTER, MOST_KEPT, PART, SnapshotPoller
from rebalance_monitor.streaming.supervision import PartFailed
from tests.streaming.polling.observed_poller import ObservedPoller

EVERY_S, ALLOWED_S = 10.0, 10.0
ONE = SnapshotMember("c-1", "c", "/h", b"wants", b"given")
GROUP = Snapshot("g", STABLE, "consumer", "range", (ONE,))


class AskedForGroups(ObservedPoller):
    """A poller of a cluster whose answers the test sets; what it said of itself."""

    part_name = PART
    poller: SnapshotPoller

    def __init__(self) -> None:
        super().__init__()
        self.wall_ms: int | None = None
        self.answer: Callable[[], GroupsAnswer] = lambda: GroupsAnswer({"g": GROUP}, complete=True, requests=7)
        self.asked = 0
        self.expected = frozenset[str]()
        self.poller = SnapshotPoller(self.ask, self, EVERY_S, now_ms=self.now_ms, clock_s=lambda: self.now_s)

    def now_ms(self) -> int:
        return super().now_ms() if self.wall_ms is None else self.wall_ms

    def ask(self, expected: Collection[str]) -> GroupsAnswer:
        self.asked, self.expected = self.asked + 1, frozenset(expected)
        return self.answer()


def refuse() -> GroupsAnswer:
    raise PartFailed("the brokers did not describe their groups (_TIMED_OUT)")


def test_it_asks_once_each_interval_and_counts_its_requests() -> None:
    asked = AskedForGroups()
    asked.passes(60)
    assert asked.asked == 6
    assert asked.requests == 6 * 7
    assert None not in asked.answered


def test_what_no_batch_takes_is_bounded() -> None:
    asked = AskedForGroups()
    asked.passes(600)
    assert len(asked.poller.since(None)) == MOST_KEPT


def test_an_answer_after_a_clock_that_was_set_back_is_newer_than_the_one_before() -> None:
    asked = AskedForGroups()
    asked.passes(1)
    (first,) = asked.poller.since(None)
    asked.wall_ms = 1
    asked.passes(10)
    (second,) = asked.poller.since(first.answered_ms)
    assert second.answered_ms == first.answered_ms + 1


def test_a_failure_is_counted_and_raised_to_be_stated_and_after_a_while_the_job_is_blind() -> None:
    asked = AskedForGroups()
    asked.passes(1)
    asked.answer = refuse
    asked.now_s += EVERY_S
    with pytest.raises(PartFailed):
        asked.poller.step()
    assert asked.answered[-1] is None
    assert asked.poller.problem(ALLOWED_S) is None
    asked.now_s += EVERY_S + ALLOWED_S
    assert str(asked.poller.problem(ALLOWED_S)).startswith("blind: no answer about the groups for ")
    asked.answer = AskedForGroups().answer
    asked.passes(1)
    assert asked.poller.problem(ALLOWED_S) is None


def test_a_question_that_does_not_end_is_stated() -> None:
    asked = AskedForGroups()

    def hang() -> GroupsAnswer:
        asked.now_s += HANGS_S + 1
        asked.poller.look()
        return GroupsAnswer({}, complete=True, requests=1)

    asked.answer = hang
    asked.passes(0.1)
    assert str(asked.problems[0]).startswith("no answer and no error from the brokers for ")


def test_a_batch_is_due_when_the_next_answer_may_be_there() -> None:
    asked = AskedForGroups()
    asked.passes(1)
    assert abs(asked.poller.due_ms() - (1_000 + EVERY_S) * 1_000) <= LOOK_EVERY_S * 1_000


def test_a_group_that_is_not_described_any_more_is_named_and_the_others_go_on() -> None:
    asked = AskedForGroups()
    asked.passes(1)
    hidden = GroupsAnswer({}, complete=True, requests=7, unclear={"g": "not allowed", "never": "not allowed"})
    asked.answer = lambda: hidden
    for _ in range(HIDDEN_AFTER - 1):
        asked.now_s += EVERY_S
        asked.poller.step()
    asked.now_s += EVERY_S
    with pytest.raises(PartFailed, match=r"did not describe g \(not allowed\), so nothing") as told:
        asked.poller.step()
    assert told.value.again_in_s == EVERY_S
    assert len(asked.poller.since(None)) == HIDDEN_AFTER + 1
    assert asked.answered[-1] is not None
    asked.answer = AskedForGroups().answer
    asked.now_s += EVERY_S
    asked.poller.step()


def test_a_group_that_was_described_is_expected_until_its_coordinator_said_several_times_that_it_is_gone() -> None:
    asked = AskedForGroups()
    asked.poller.expect(["of a job before"])
    asked.passes(1)
    assert asked.expected == {"of a job before"}
    answers = [
        GroupsAnswer({}, complete=False, requests=1),
        GroupsAnswer({}, complete=True, requests=1, unclear={"of a job before": "no coordinator"}),
        GroupsAnswer({}, complete=True, requests=1, others={"of a job before": "Stable"}),
        *[GroupsAnswer({}, complete=True, requests=1)] * HIDDEN_AFTER,
    ]
    expected = []
    for answer in (*answers, answers[-1]):
        asked.answer = lambda answer=answer: answer  # type: ignore[misc]
        asked.now_s += EVERY_S
        asked.poller.step()
        expected.append("of a job before" in asked.expected)
    assert expected == [True] * len(answers) + [False]


@dataclass
class Listed:
    """A group as librdkafka hands it over."""

    id: str
    state: str = STABLE
    error: KafkaError | None = None
    protocol_type: str = "consumer"
    protocol: str = "range"
    members: tuple[object, ...] = ()


MOVED, REFUSED = KafkaError(KafkaError.NOT_COORDINATOR), KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED)


def test_what_brokers_list_is_a_group_or_unclear_or_gone() -> None:
    groups, unclear = snapshots_of([Listed("a"), Listed("b", error=REFUSED), Listed("c", state="Dead")])
    assert (set(groups), unclear) == ({"a"}, {"b": REFUSED.str()})


@pytest.mark.parametrize("turned", [False, True])
def test_a_group_that_moves_between_brokers_is_what_one_of_them_says(turned: bool) -> None:
    listed = [Listed("a", error=MOVED), Listed("a")]
    groups, unclear = snapshots_of(reversed(listed) if turned else listed)
    assert (set(groups), unclear) == ({"a"}, {})


@pytest.mark.parametrize("turned", [False, True])
def test_a_group_of_which_two_brokers_say_different_things_is_unclear(turned: bool) -> None:
    listed = [Listed("a"), Listed("a", state="PreparingRebalance"), Listed("b"), Listed("b")]
    groups, unclear = snapshots_of(reversed(listed) if turned else listed)
    assert (set(groups), unclear) == ({"b"}, {"a": DIFFERENT})


def test_a_sentence_names_some_groups_and_counts_the_others() -> None:
    text = not_described({f"g{number}": "why" for number in range(7)})
    assert "g0 (why), " in text
    assert " and 2 more, " in text


# -- which groups are folded ---------------------------------------------------------------------------------------


def poll(at_s: int, *groups: Snapshot, complete: bool = True, unclear: frozenset[str] = frozenset()) -> SnapshotPoll:
    return SnapshotPoll(at_s * 1000 - 100, at_s * 1000, {one.group: one for one in groups}, complete, unclear)


def rows_of(*polls: SnapshotPoll, seen: SeenGroups | None = None) -> list[list[object]]:
    """What is to be folded after each of them."""
    seen, found = seen or SeenGroups(), list[list[object]]()
    for poll in polls:
        seen, rows = seen.with_poll(poll)
        assert all(row.topic == POLLED and row.timestamp_ms == poll.answered_ms for row in rows)
        found.append([row.body for row in rows])
    return found


def test_a_group_is_folded_when_it_is_another_than_before() -> None:
    other = replace(GROUP, members=(replace(ONE, assignment=b"other"),))
    first, second, third = rows_of(poll(10, GROUP), poll(20, GROUP), poll(30, other))
    assert second == []
    sampled = [one.sampled for one in (*first, *third) if isinstance(one, GroupGeneration)]
    assert sampled == [Sampled(None, 10_000), Sampled(19_900, 30_000)]


def test_a_rebalance_between_two_polls_is_no_assignment_and_what_follows_is_folded_though_it_be_the_same() -> None:
    moving = replace(GROUP, state="PreparingRebalance", members=(replace(ONE, subscription=b"", assignment=b""),))
    first, second, third = rows_of(poll(10, GROUP), poll(20, moving), poll(30, GROUP))
    assert (len(first), second, len(third)) == (1, [], 1)
    (again,) = third
    assert isinstance(again, GroupGeneration)
    assert again.sampled == Sampled(9_900, 30_000)


def test_an_answer_shows_that_a_rebalance_went_on_if_the_group_is_settled_or_has_other_members() -> None:
    moving = replace(GROUP, state="PreparingRebalance", members=(replace(ONE, subscription=b"", assignment=b""),))
    others = replace(moving, members=(*moving.members, replace(moving.members[0], member_id="c-2")))
    seen, anew = SeenGroups(), []
    for at_s, one in enumerate((GROUP, GROUP, moving, moving, others, others, moving, GROUP), 1):
        seen, _ = seen.with_poll(poll(at_s, one))
        anew.append(seen.shown.anew_ms["g"])
    assert anew == [1_000, 2_000, 2_000, 2_000, 5_000, 5_000, 7_000, 8_000]


def test_the_order_of_members_says_nothing() -> None:
    two = replace(GROUP, members=(ONE, replace(ONE, member_id="c-2")))
    turned = replace(two, members=tuple(reversed(two.members)))
    assert [len(one) for one in rows_of(poll(10, two), poll(20, turned), poll(30, two))] == [1, 0, 0]


def test_an_empty_group_has_no_members_whatever_its_members_were() -> None:
    ((body,),) = rows_of(poll(10, replace(GROUP, state=EMPTY, protocol="")))
    assert isinstance(body, GroupGeneration)
    assert (body.members, body.protocol) == ((), None)


def test_a_group_is_gone_after_several_complete_answers_without_it() -> None:
    gone = rows_of(poll(10, GROUP), *(poll(20 + number) for number in range(GONE_AFTER + 1)))
    assert gone[1:] == [[]] * (GONE_AFTER - 1) + [[GroupDeleted()], []]


@pytest.mark.parametrize("missing", [poll(20, complete=False), poll(20, unclear=frozenset({"g"}))])
def test_nothing_is_gone_that_may_only_be_hidden(missing: SnapshotPoll) -> None:
    later = [replace(missing, answered_ms=20_000 + number) for number in range(2 * GONE_AFTER)]
    assert rows_of(poll(10, GROUP), *later)[1:] == [[]] * len(later)


def test_a_group_of_a_job_before_this_one_is_gone_too() -> None:
    polls = (poll(20 + number) for number in range(GONE_AFTER))
    assert rows_of(*polls, seen=SeenGroups.known(["g"]))[-1] == [GroupDeleted()]


def test_rows_of_one_answer_have_places_of_their_own() -> None:
    _, rows = SeenGroups().with_poll(poll(10, *(replace(GROUP, group=f"g{number}") for number in range(2_000))))
    assert len({row.offset for row in rows}) == 2_000
    _, later = SeenGroups().with_poll(poll(12, GROUP))
    assert later[0].offset > max(row.offset for row in rows)


def test_rows_of_an_answer_after_a_clock_that_was_set_back_have_places_of_their_own() -> None:
    """The next answer counts as one millisecond later; the one before has more rows than a millisecond has places."""
    many = [replace(GROUP, group=f"g{number}") for number in range(2_000)]
    seen, rows = SeenGroups().with_poll(poll(10, *many))
    back = SnapshotPoll(1, 10_001, {one.group: replace(one, protocol="roundrobin") for one in many}, complete=True)
    _, later = seen.with_poll(back)
    assert len(later) == len(many)
    assert min(row.offset for row in later) > max(row.offset for row in rows)


def test_a_group_whose_coordinator_does_not_answer_is_unclear_and_not_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens at this address, so there is no coordinator either."""
    monkeypatch.setattr(asking_snapshots, "BY_NAME_TIMEOUT_S", 0.2)
    states, silent = KafkaSnapshots({"bootstrap.servers": "127.0.0.1:1"}).by_name(["g"])
    assert (states, set(silent)) == ({}, {"g"})
