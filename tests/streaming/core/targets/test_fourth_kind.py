"""A new kind of group with targets is one value, an assignor and words: nothing of the product is touched for it."""

from functools import partial

from rebalance_monitor.schemas.group_records import GroupRecord, Value
from rebalance_monitor.schemas.group_values import (
    AssignmentEpoch,
    Current,
    GroupEpoch,
    MemberState,
    PartitionMetadata,
    ShareMember,
    Target,
    TopicMetadata,
    TopicPartitions,
)
from rebalance_monitor.streaming.core.fold.fold import FoldOutcome, fold_group
from rebalance_monitor.streaming.core.fold.registry import Registry
from rebalance_monitor.streaming.core.fold.state import read
from rebalance_monitor.streaming.core.lifecycles import REGISTRY
from rebalance_monitor.streaming.core.model.records import OtherGroup, Row, Tick
from rebalance_monitor.streaming.core.model.results import Generation, Grade, Incident, Standing
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.targets.lifecycle import TargetsLifecycle
from rebalance_monitor.streaming.core.targets.member_laws import SESSION_MS, SLACK_MS
from tests.streaming.core.targets.leases import ASSIGNOR, LAGGING, LEASES, TWO_LESSEES

T0_MS = 1_700_000_000_000
TOPIC = bytes(16)
WITH_LEASES = Registry((TargetsLifecycle(LEASES), *REGISTRY.lifecycles))
fold = partial(fold_group, WITH_LEASES, ClusterSettings(name="c"), "g")
MEMBER = ShareMember(rack=None, client_id="c", client_host="/h", names=("t",))


class Leases:
    """Records of a group of two, `a` and `b`, and a topic of two partitions."""

    def __init__(self, **targets: tuple[int, ...]) -> None:
        self.rows: list[Row] = []
        self.write(104, PartitionMetadata((TopicMetadata(TOPIC, "t", 2),)))
        for name in "ab":
            self.write(105, MEMBER, name)
        self.write(103, GroupEpoch(1))
        for name in "ab":
            self.write(107, Target(self.of(*targets.get(name, ()))), name)
        self.write(106, AssignmentEpoch(1))

    @staticmethod
    def of(*numbers: int) -> tuple[TopicPartitions, ...]:
        return (TopicPartitions(TOPIC, numbers),) if numbers else ()

    def write(self, type_: int, value: Value, member: str | None = None) -> None:
        body = OtherGroup("lease", record=GroupRecord(type=type_, group="g", member=member, value=value))
        at = len(self.rows)
        self.rows.append(
            Row(topic="__consumer_offsets", partition=0, offset=at, timestamp_ms=T0_MS, group="g", body=body)
        )

    def holds(self, name: str, epoch: int, *numbers: int, previous: int = 0) -> "Leases":
        held = self.of(*numbers)
        self.write(108, Current(epoch=epoch, previous_epoch=previous, state=MemberState.STABLE, assigned=held), name)
        return self

    def folded(self) -> FoldOutcome:
        """Up to the end of the input, which closes the moment of these records."""
        return fold(None, self.rows, Tick(T0_MS), end_of_input=True)


def incidents(outcome: FoldOutcome) -> list[tuple[str, str, str]]:
    return [(one.code, one.transition, one.message) for one in outcome.results if isinstance(one, Incident)]


def test_its_targets_are_judged_by_its_assignor_and_its_state_is_kept() -> None:
    outcome = Leases(a=(0, 1)).holds("a", 1, 0, 1).holds("b", 1).folded()
    (target,) = (one for one in outcome.results if isinstance(one, Generation))
    assert (target.verdict.grade, target.verdict.eras) == (Grade.MATCH, (">=1.0",))
    assert (target.protocol_type, target.protocol) == ("lease", ASSIGNOR)
    assert [one.state for one in outcome.results if isinstance(one, Standing)] == ["Stable"]
    envelope, bodies = read(outcome.state)
    assert (envelope.lifecycle, list(bodies)) == ("lease_targets", ["lease_targets"])
    assert incidents(outcome) == []


def test_another_target_is_unexplained() -> None:
    (target,) = (one for one in Leases(a=(0,), b=(1,)).folded().results if isinstance(one, Generation))
    assert target.verdict.grade is Grade.UNEXPLAINED
    assert target.verdict.why == f"a was given other partitions than {ASSIGNOR} computes"


def test_a_broken_law_is_an_incident_of_its_own_rule() -> None:
    outcome = Leases(a=(0, 1)).holds("a", 1, 0, 1).holds("b", 1, 1).folded()
    assert incidents(outcome) == [(TWO_LESSEES.code, "opened", "t-1 is held by a and b")]


def test_a_law_without_a_rule_does_not_hold_of_it() -> None:
    """Of a consumer group a previous epoch above the member's own is a finding."""
    assert incidents(Leases(a=(0, 1)).holds("a", 1, 0, 1, previous=5).holds("b", 1).folded()) == []


def test_its_timers_run_and_speak_in_its_words() -> None:
    first = Leases(a=(0, 1)).holds("a", 0).holds("b", 1).folded()
    due_ms = T0_MS + SESSION_MS + SLACK_MS + 1
    assert (incidents(first), first.due_ms) == ([], due_ms)
    assert incidents(fold(first.state, [], Tick(due_ms - 1))) == []
    (opened, *_) = incidents(fold(first.state, [], Tick(due_ms)))
    assert opened == (LAGGING.code, "opened", "a has not come for its leases of epoch 1 since 2023-11-14 22:13:20 UTC")
