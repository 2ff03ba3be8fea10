"""Verdicts by an application's own assignor: what it looked at decides what must be known, and failures end in time."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from uuid import UUID

import pytest

from rebalance_monitor.assignors.streams.application_state import ApplicationState
from rebalance_monitor.assignors.streams.assignment import (
    AssignedTask,
    AssignmentError,
    KafkaStreamsAssignment,
    TaskAssignment,
    TaskType,
)
from rebalance_monitor.assignors.streams.task_assignor import (
    GroupAssignment,
    GroupSubscription,
    TaskAssignmentException,
)
from rebalance_monitor.assignors.streams.tasks import TaskId, task_of
from rebalance_monitor.streaming.core.fold import fold
from rebalance_monitor.streaming.core.fold.fold import FoldOutcome
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import registry
from rebalance_monitor.streaming.core.model.records import Row, Tick
from rebalance_monitor.streaming.core.model.results import Generation, Incident, Verdict
from rebalance_monitor.streaming.core.model.settings import PlugIn, StreamsSettings
from rebalance_monitor.streaming.core.streams.plug_ins import (
    Assigned,
    AssignOutcome,
    FailureKind,
    NoAssignment,
    PlugInFailed,
    PlugIns,
    Threw,
)
from rebalance_monitor.streaming.plug_ins.watching import WatchedState
from tests.streaming.core.rules.builders import GROUP, Story
from tests.streaming.core.rules.streams import Thread, group, record

A, B = UUID(int=ord("a")), UUID(int=ord("b"))
KNOWN = StreamsSettings(
    release="4.3.1", standbys=0, warm_ups=2, acceptable_lag=10_000, plug_in=PlugIn(name="own:Assignor")
)
SHARED = (Thread(id="a1", active="0_0"), Thread(id="b1", active="0_1"))
Assign = Callable[[ApplicationState], TaskAssignment]


def given(**tasks: str) -> TaskAssignment:
    """`given(a="0_0", b="0_1")`."""
    made = []
    for process, names in tasks.items():
        ids = list(map(task_of, names.split()))
        made.append(
            KafkaStreamsAssignment.of(UUID(int=ord(process)), [AssignedTask(one, TaskType.ACTIVE) for one in ids])
        )
    return TaskAssignment(tuple(made))


def fixed(_state: ApplicationState) -> TaskAssignment:
    return given(a="0_0", b="0_1")


class InThisProcess:
    """Runs an assignor as the process of a plug-in does, and keeps what the callback is told."""

    def __init__(self, assign: Assign) -> None:
        self._assign = assign
        self.told: list[tuple[dict[str, tuple[TaskId, ...]], set[str], AssignmentError]] = []
        self.calls = 0

    def begin(self, plug_in: PlugIn) -> None:
        """Nothing is timed."""

    def assign(self, plug_in: PlugIn, state: ApplicationState) -> AssignOutcome:
        self.calls += 1
        watched = WatchedState(state)
        try:
            return Assigned(self._assign(watched), frozenset(watched.read))
        except TaskAssignmentException as why:
            return NoAssignment(str(why), frozenset(watched.read))
        except TimeoutError as why:
            return PlugInFailed(FailureKind.TIMED_OUT, str(why))
        except Exception as why:
            return Threw(type(why).__name__, str(why), frozenset(watched.read))

    def computed(
        self, plug_in: PlugIn, assignment: GroupAssignment, subscription: GroupSubscription, error: AssignmentError
    ) -> PlugInFailed | None:
        active = {member: one.active for member, one in assignment.group_assignment.items()}
        self.told.append((active, set(subscription.group_subscription), error))
        return None


def folded(story: Story, runs: PlugIns, state: Saved | None = None, rows: list[Row] | None = None) -> FoldOutcome:
    run = partial(fold.fold_group, registry(runs))
    return run(story.settings, GROUP, state, story.rows if rows is None else rows, Tick(story.now_ms + 100))


def verdict(
    assign: Assign, *threads: Thread, known: StreamsSettings = KNOWN, runs: InThisProcess | None = None
) -> Verdict:
    """On one generation."""
    outcome = folded(group(threads or SHARED, known=known), runs or InThisProcess(assign))
    (only,) = [one.verdict for one in outcome.results if isinstance(one, Generation)]
    return only


def test_the_same_answer_is_a_match_and_another_one_is_not() -> None:
    assert verdict(fixed).grade.value == "match"
    found = verdict(lambda _: given(a="0_1", b="0_0"))
    assert found.grade.value == "unexplained"
    assert found.expected is not None
    assert {member: share.assigned for member, share in found.expected.items()}.keys() == {"a1", "b1"}


def read_standbys(state: ApplicationState) -> TaskAssignment:
    return fixed(state) if state.assignment_configs.num_standby_replicas >= 0 else given()


def read_lags(state: ApplicationState) -> TaskAssignment:
    state.kafka_streams_states(True)
    return fixed(state)


def read_racks(state: ApplicationState) -> TaskAssignment:
    for info in state.all_tasks.values():
        for partition in info.topic_partitions:
            partition.rack_ids()
    return fixed(state)


@pytest.mark.parametrize(
    ("assign", "kind"),
    [
        (fixed, None),
        (read_standbys, "unknown_settings"),
        (read_lags, "unknown_end_offsets"),
        (read_racks, "unknown_racks"),
    ],
)
def test_only_what_it_looked_at_must_be_known(assign: Assign, kind: str | None) -> None:
    found = verdict(assign, known=replace(KNOWN, standbys=None, warm_ups=None, acceptable_lag=None))
    assert (found.grade.value, found.reason and found.reason.kind.value) == (
        "explainable" if kind else "match",
        kind,
    )


@pytest.mark.parametrize("read", [read_standbys, read_lags, read_racks])
def test_another_answer_is_not_judged_where_it_looked_at_what_is_unknown(read: Assign) -> None:
    def other(state: ApplicationState) -> TaskAssignment:
        read(state)
        return given(a="0_1", b="0_0")

    found = verdict(other, known=replace(KNOWN, standbys=None))
    assert found.grade.value == "not_judged"


def test_settings_that_it_does_not_look_at_cost_no_call() -> None:
    runs = InThisProcess(lambda _: given(a="0_1", b="0_0"))
    verdict(fixed, known=replace(KNOWN, standbys=None, warm_ups=None, acceptable_lag=None), runs=runs)
    sets_of_stateful_parts = 2
    searches, callbacks = 2, 1
    assert runs.calls <= searches * sets_of_stateful_parts + callbacks


def test_the_callback_is_called_once_with_the_assignment_that_is_compared() -> None:
    runs = InThisProcess(fixed)
    verdict(fixed, runs=runs)
    told = {"a1": (TaskId(0, 0),), "b1": (TaskId(0, 1),)}
    assert runs.told == [(told, {"a1", "b1"}, AssignmentError.NONE)]


def test_an_unknown_task_gives_the_callback_an_empty_assignment() -> None:
    runs = InThisProcess(lambda _: given(a="0_0 7_7", b="0_1"))
    found = verdict(fixed, runs=runs)
    assert "Kafka refuses its assignment with UNKNOWN_TASK_ID" in found.why
    assert runs.told == [({}, {"a1", "b1"}, AssignmentError.UNKNOWN_TASK_ID)]


def test_no_assignment_by_its_own_word_is_the_error_in_the_record() -> None:
    def nothing(_state: ApplicationState) -> TaskAssignment:
        raise TaskAssignmentException("there is none")

    story = group(SHARED, known=KNOWN)
    record(story, *(replace(one, active="", tasks="", owned="0_0" * (one.id == "a1"), told_error=3) for one in SHARED))
    first, second = [
        one.verdict for one in folded(story, InThisProcess(nothing)).results if isinstance(one, Generation)
    ]
    assert first.grade.value == "unexplained"
    assert second.grade.value == "match", second.why


def test_a_failure_is_one_incident_until_it_answers() -> None:
    story = group(SHARED, known=KNOWN)
    for _ in range(3):
        record(story, *(replace(one, owned=one.active) for one in SHARED))

    def late(_state: ApplicationState) -> TaskAssignment:
        raise TimeoutError("it did not answer")

    *before, last = story.rows
    broken = InThisProcess(late)
    first = folded(story, broken, rows=before)
    assert broken.calls == len(before)  # after a call that was lost there is no other one for this generation
    second = folded(story, InThisProcess(fixed), first.state, rows=[last])
    incidents = [one for one in (*first.results, *second.results) if isinstance(one, Incident)]
    assert {one.code for one in incidents} == {"STREAMS-S32"}
    assert [one.transition for one in incidents if one.transition != "updated"] == ["opened", "resolved"]


def test_without_its_plug_in_the_finding_ends() -> None:
    story = group(SHARED, known=KNOWN)
    first = folded(story, InThisProcess(lambda _: given(a="0_0 0_1")))
    record(story, *(replace(one, owned=one.active) for one in SHARED))
    story.settings = replace(story.settings, streams={GROUP: replace(KNOWN, plug_in=None)})
    second = folded(story, InThisProcess(fixed), first.state, rows=story.rows[-1:])
    ended = [one.code for one in second.results if isinstance(one, Incident) and one.transition == "resolved"]
    assert ended == ["STREAMS-S32"]


def test_a_release_that_runs_no_plug_ins_is_not_judged() -> None:
    found = verdict(fixed, known=replace(KNOWN, release="3.7.1"))
    assert "older than 3.8" in found.why
