"""Verdicts on targets whose assignor shares out partitions: what is published of each grade."""

from collections.abc import Mapping

from rebalance_monitor.assignors.broker.model import BrokerResult, Outcome
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.results import ConsumerShare, ExpectedShare, Grade, Verdict
from rebalance_monitor.streaming.core.targets.expected import flat_target
from rebalance_monitor.streaming.core.targets.group import TopicPartition
from rebalance_monitor.streaming.core.targets.published import NameOf, share_of

Targets = Mapping[str, frozenset[TopicPartition]]
"""What each member is to have."""


def not_judged(assignor: str | None, why: Reason) -> Verdict:
    """Nothing can be told."""
    return Verdict(grade=Grade.NOT_JUDGED, assignor=assignor, reason=why)


def explained(assignor: str, eras: tuple[str, ...], why: Reason | None, given: Targets, name_of: NameOf) -> Verdict:
    """The assignor computes what was given; `why`: what is assumed by that."""
    shares = {name: ExpectedShare(assigned=share_of(of, name_of)) for name, of in given.items()}
    grade = Grade.MATCH if why is None else Grade.EXPLAINABLE
    return Verdict(grade=grade, assignor=assignor, eras=eras, reason=why, expected=shares)


def unexplained(assignor: str, outcome: Outcome | None, given: Targets, name_of: NameOf) -> Verdict:
    """The assignor computes something else (`outcome`)."""
    wanted = {name: flat_target(outcome, name) for name in given} if isinstance(outcome, BrokerResult) else {}
    other = next((name for name, of in wanted.items() if of != given[name]), "a member")
    shares = {name: ExpectedShare(assigned=share_of(of, name_of)) for name, of in wanted.items()}
    reason = Reason(ReasonKind.OTHER_ANSWER, f"{other} was given other partitions than {assignor} computes")
    empty = ExpectedShare(assigned=ConsumerShare())
    expected = {name: shares.get(name, empty) for name in given}
    return Verdict(grade=Grade.UNEXPLAINED, assignor=assignor, reason=reason, expected=expected)
