"""From broken laws of share groups to findings: whom each names, and what it says to people.

A law about the state of one moment is certain: the records show it. How long something may last depends on the
broker's session time-out, which no record shows, so what breaks a law about time is likely.
"""

from collections.abc import Iterable, Iterator

from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.model.moments import utc
from rebalance_monitor.streaming.core.model.results import Certainty, Evidence, Subject
from rebalance_monitor.streaming.core.share import catalogue
from rebalance_monitor.streaming.core.share.breaches import ShareBreach
from rebalance_monitor.streaming.core.share.group import ShareGroup
from rebalance_monitor.streaming.core.targets.group import TopicPartition
from rebalance_monitor.streaming.core.targets.published import MOST_PARTITIONS, NameOf, listed, shown

_CERTAIN = frozenset({catalogue.UNLIKE_TARGET.code, catalogue.WITHOUT_MEMBER.code})


def evaluated(group: ShareGroup) -> frozenset[str]:
    """Codes of which a closed moment says whether they are broken: which partition no member has is not known while a
    target is due."""
    codes = frozenset(rule.code for rule in catalogue.RULES)
    return codes - {catalogue.WITHOUT_MEMBER.code} if group.behind else codes


def findings_of(
    group_id: str, group: ShareGroup, breaches: Iterable[ShareBreach], name_of: NameOf, here: Evidence
) -> tuple[Finding, ...]:
    """What is found, one finding for each member or partition that a law names."""
    found = (one for breach in breaches for one in _findings(group_id, group, breach, name_of, here))
    return tuple(found)


def _findings(
    group_id: str, group: ShareGroup, breach: ShareBreach, name_of: NameOf, here: Evidence
) -> Iterator[Finding]:
    if breach.rule is catalogue.WITHOUT_MEMBER:
        for partition in sorted(breach.partitions)[:MOST_PARTITIONS]:
            (name,) = shown(frozenset({partition}), name_of)
            text = f"{name} is in no member's target (epoch {group.assignment_epoch}){_state(group, partition)}"
            yield _finding(breach, Subject("partition", name), text, here)
        return
    subject = Subject("group", group_id) if breach.member is None else Subject("member", breach.member)
    who = "the group" if breach.member is None else breach.member
    yield _finding(breach, subject, f"{who} {_text(group, breach, name_of)}", here)


def _finding(breach: ShareBreach, subject: Subject, message: str, here: Evidence) -> Finding:
    rule = breach.rule
    # An epoch that went back may be one of a group whose tombstone was not read.
    certainty = Certainty.CERTAIN if rule.code in _CERTAIN else Certainty.LIKELY
    return Finding(
        rule=rule, severity=rule.severity, certainty=certainty, subjects=(subject,), message=message, evidence=(here,)
    )


def _state(group: ShareGroup, partition: TopicPartition) -> str:
    if group.states is None or partition[1] in group.initialized().get(partition[0], ()):
        return ""
    return ": its share state was never initialized"


def _text(group: ShareGroup, breach: ShareBreach, name_of: NameOf) -> str:
    """What is wrong in this very group."""
    since = utc(breach.since_ms or 0)
    member = None if breach.member is None else group.members.get(breach.member)
    epoch = None if member is None else member.epoch
    if breach.rule is catalogue.UNLIKE_TARGET:
        return f"is at epoch {epoch} and does not hold exactly its target: {_some(breach.partitions, name_of)}"
    if breach.rule is catalogue.LAGGING:
        return f"is at epoch {epoch}, behind target {group.assignment_epoch} since {since}"
    if breach.rule is catalogue.NO_TARGET:
        return f"has been at epoch {group.epoch} since {since}, with a target of epoch {group.assignment_epoch}"
    if member is not None:
        return f"is at epoch {epoch}, with a target of epoch {group.assignment_epoch}: it went back or is ahead"
    return f"has a target of epoch {group.assignment_epoch} at group epoch {group.epoch}: one went back or is ahead"


def _some(partitions: frozenset[TopicPartition], name_of: NameOf) -> str:
    return listed(shown(partitions, name_of))
