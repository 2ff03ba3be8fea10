"""From broken laws to findings: which rule each law has, whom it names, and what it says to people.

A law about the state of one moment is certain: the records show it. How long something may last depends on the
broker's session time-out and heartbeat interval, which no record shows, so what breaks a law about time is likely.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from rebalance_monitor.streaming.core.epochs import catalogue, tasks_catalogue
from rebalance_monitor.streaming.core.epochs.breaches import Breach, Law
from rebalance_monitor.streaming.core.epochs.causes import named
from rebalance_monitor.streaming.core.epochs.chains import waiting_for
from rebalance_monitor.streaming.core.epochs.group import STREAMS, EpochGroup, MemberView
from rebalance_monitor.streaming.core.epochs.published import shown, state_word
from rebalance_monitor.streaming.core.epochs.units import HeldUnit, Units, partitions_in, tasks_in
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.model.moments import utc
from rebalance_monitor.streaming.core.model.results import Certainty, Evidence, Severity, Subject
from rebalance_monitor.streaming.core.targets.group import TopicPartition
from rebalance_monitor.streaming.core.targets.published import MOST_PARTITIONS, NameOf, listed

RULE_OF: Mapping[Law, Rule] = {
    Law.SEVERAL_HOLDERS: catalogue.TWO_HOLDERS,
    Law.SEVERAL_TARGETS: catalogue.TWO_TARGETS,
    Law.EPOCH_ORDER: catalogue.EPOCHS_FALL,
    Law.EPOCH_DECREASED: catalogue.EPOCHS_FALL,
    Law.PREVIOUS_AHEAD: catalogue.EPOCHS_FALL,
    Law.STABLE_UNLIKE_TARGET: catalogue.UNLIKE_TARGET,
    Law.PENDING_UNLIKE_STATE: catalogue.UNLIKE_STATE,
    Law.STATE_UNKNOWN: catalogue.UNLIKE_STATE,
    Law.UNLIKE_BEFORE: catalogue.UNLIKE_STATE,
    Law.UNRELEASED_HOLDS_ALL: catalogue.WAITS_FOR_NOTHING,
    Law.STUCK_REVOKING: catalogue.STUCK_REVOKING,
    Law.LAGGING: catalogue.LAGGING,
    Law.WAITING_LONG: catalogue.WAITING_LONG,
    Law.NO_TARGET: catalogue.NO_TARGET,
    Law.TARGET_INCOMPLETE: catalogue.WITHOUT_OWNER,
}
STREAMS_RULE_OF: Mapping[Law, Rule] = {
    Law.SEVERAL_HOLDERS: tasks_catalogue.TWO_HOLDERS,
    Law.SEVERAL_TARGETS: tasks_catalogue.TWO_TARGETS,
    Law.EPOCH_ORDER: tasks_catalogue.EPOCHS_FALL,
    Law.EPOCH_DECREASED: tasks_catalogue.EPOCHS_FALL,
    Law.PREVIOUS_AHEAD: tasks_catalogue.EPOCHS_FALL,
    Law.STABLE_UNLIKE_TARGET: tasks_catalogue.UNLIKE_TARGET,
    Law.PENDING_UNLIKE_STATE: tasks_catalogue.UNLIKE_STATE,
    Law.STATE_UNKNOWN: tasks_catalogue.UNLIKE_STATE,
    Law.UNLIKE_BEFORE: tasks_catalogue.UNLIKE_STATE,
    Law.UNRELEASED_HOLDS_ALL: tasks_catalogue.WAITS_FOR_NOTHING,
    Law.STUCK_REVOKING: tasks_catalogue.STUCK_REVOKING,
    Law.LAGGING: tasks_catalogue.LAGGING,
    Law.WAITING_LONG: tasks_catalogue.WAITING_LONG,
    Law.NO_TARGET: tasks_catalogue.NO_TARGET,
    Law.TARGET_INCOMPLETE: tasks_catalogue.WITHOUT_OWNER,
    Law.COPIES_TOGETHER: tasks_catalogue.COPIES_TOGETHER,
    Law.TARGET_COPIES_TOGETHER: tasks_catalogue.COPIES_TOGETHER,
    Law.WARM_UP_ALONE: tasks_catalogue.WARM_UP_ALONE,
}

_WITHOUT_OWNER = frozenset({catalogue.WITHOUT_OWNER.code, tasks_catalogue.WITHOUT_OWNER.code})
_UNSURE = frozenset({Law.STUCK_REVOKING, Law.LAGGING, Law.WAITING_LONG, Law.NO_TARGET, Law.EPOCH_DECREASED})
_OF_PARTITIONS = frozenset({Law.SEVERAL_HOLDERS, Law.SEVERAL_TARGETS, Law.TARGET_INCOMPLETE})
_OF_HOLDERS = frozenset({Law.SEVERAL_HOLDERS, Law.COPIES_TOGETHER})


def rules_of(group: EpochGroup) -> Mapping[Law, Rule]:
    """The rule of each law in this kind of group."""
    return STREAMS_RULE_OF if group.kind == STREAMS else RULE_OF


def evaluated(group: EpochGroup) -> frozenset[str]:
    """Codes of which a closed moment says whether they are broken: who has no owner is not known while a target is
    due."""
    codes = frozenset(rule.code for rule in rules_of(group).values())
    return codes - _WITHOUT_OWNER if group.behind else codes


def findings_of(
    group_id: str, group: EpochGroup, breaches: Iterable[Breach], name_of: NameOf, here: Evidence
) -> tuple[Finding, ...]:
    """What is found, one finding for each member or partition that a law names."""
    broken = list(breaches)
    chains = waiting_for(group) if any(breach.law is Law.WAITING_LONG for breach in broken) else {}
    found = (_findings(group_id, group, each, chains.get(each.member or "", {}), name_of, here) for each in broken)
    return tuple(chain.from_iterable(found))


def _findings(
    group_id: str, group: EpochGroup, breach: Breach, holders: Iterable[str], name_of: NameOf, here: Evidence
) -> Iterator[Finding]:
    """`holders`: whom the member waits for."""
    rule = rules_of(group)[breach.law]
    certainty = Certainty.LIKELY if breach.law in _UNSURE else Certainty.CERTAIN
    if group.kind == STREAMS and breach.member is None and breach.partitions:
        for holders, some in _by_holders(group, breach).items():
            subjects = tuple(Subject("member", one) for one in holders) or (Subject("group", group_id),)
            text = " and ".join(holders)
            yield Finding(
                rule=rule,
                severity=rule.severity,
                certainty=certainty,
                subjects=subjects,
                message=f"{_some(some, name_of)}: {_of_tasks(group, breach.law)}{text}",
                evidence=(here,),
            )
        return
    if breach.law in _OF_PARTITIONS:
        for partition in sorted(partitions_in(breach.partitions))[:MOST_PARTITIONS]:
            (name,) = shown(frozenset({partition}), name_of)
            yield Finding(
                rule=rule,
                severity=rule.severity,
                certainty=certainty,
                subjects=(Subject("partition", name),),
                message=f"{name} {_of_partition(group, breach.law, partition)}",
                evidence=(here,),
            )
        return
    member = None if breach.member is None else group.members.get(breach.member)
    subject = Subject("group", group_id) if member is None else Subject("member", named(breach.member or "", member))
    text, first = _text(group, breach, member, holders, name_of)
    yield Finding(
        rule=rule,
        severity=Severity.INFO if breach.law is Law.STATE_UNKNOWN else rule.severity,
        certainty=certainty,
        subjects=(subject,),
        message=f"{'the group' if member is None else subject.id} {text}",
        evidence=(here,),
        next_step=first,
    )


def _by_holders(group: EpochGroup, breach: Breach) -> dict[tuple[str, ...], Units]:
    """Tasks by those who have them, held or in their targets; nobody has the ones that are missing."""
    found: dict[tuple[str, ...], set[HeldUnit]] = {}
    having = {name: one.held() if breach.law in _OF_HOLDERS else one.wanted() for name, one in group.members.items()}
    for task in breach.partitions:
        who = sorted(named(name, group.members[name]) for name, of in having.items() if _concerns(breach.law, task, of))
        found.setdefault(tuple(who), set()).add(task)
    return {who: frozenset(some) for who, some in sorted(found.items())}


def _concerns(law: Law, task: HeldUnit, having: Units) -> bool:
    """Whether somebody with these tasks is concerned; of copies that are together, in whatever role."""
    if law in (Law.COPIES_TOGETHER, Law.TARGET_COPIES_TOGETHER):
        return any(one[1:] == task[1:] for one in tasks_in(having))
    return task in having


def _of_tasks(group: EpochGroup, law: Law) -> str:
    match law:
        case Law.TARGET_INCOMPLETE:
            return f"active in no member's target (epoch {group.assignment_epoch})"
        case Law.SEVERAL_HOLDERS:
            return "held by "
        case Law.COPIES_TOGETHER:
            return "in one process by the members "
        case Law.TARGET_COPIES_TOGETHER:
            return "in the targets of one process: "
        case Law.WARM_UP_ALONE:
            return "nobody is to run it until it is warm on "
        case _:
            return "in the targets of "


def _of_partition(group: EpochGroup, law: Law, partition: TopicPartition) -> str:
    if law is Law.TARGET_INCOMPLETE:
        return f"is in no member's target (epoch {group.assignment_epoch})"
    held = law is Law.SEVERAL_HOLDERS
    members = sorted(
        named(name, one) for name, one in group.members.items() if partition in (one.held() if held else one.wanted())
    )
    return f"is {'held by' if held else 'in the targets of'} {' and '.join(members)}"


def _text(
    group: EpochGroup, breach: Breach, member: MemberView | None, holders: Iterable[str], name_of: NameOf
) -> tuple[str, str]:
    """What is wrong, and what to do first in this very group."""
    since = utc(breach.since_ms or 0)
    epoch, state = (None, "") if member is None else (member.epoch, state_word(group, member))
    partitions = _some(breach.partitions, name_of)
    match breach.law:
        case Law.EPOCH_ORDER | Law.EPOCH_DECREASED | Law.PREVIOUS_AHEAD:
            return _epochs(group, breach, member), ""
        case Law.STABLE_UNLIKE_TARGET:
            return f"is stable at epoch {epoch} and does not hold exactly its target: {partitions}", ""
        case Law.PENDING_UNLIKE_STATE:
            return f"is {state} with {len(breach.partitions)} {_things(group)} to give up", ""
        case Law.STATE_UNKNOWN:
            return f"is in state {breach.state}, which no known release has: what it holds is not judged", ""
        case Law.UNLIKE_BEFORE:
            return f"is {state} at epoch {epoch} and has not what follows from its record before: {partitions}", ""
        case Law.UNRELEASED_HOLDS_ALL:
            return f"is {state} at epoch {epoch}, but does not hold a proper part of its target", ""
        case Law.STUCK_REVOKING:
            return f"has not given up {partitions} since {since}, longer than its rebalance time-out", ""
        case Law.LAGGING:
            return f"is at epoch {epoch}, behind target {group.assignment_epoch} since {since}", ""
        case Law.WAITING_LONG:
            return _waiting(group, holders, since, partitions)
        case Law.NO_TARGET:
            return f"has been at epoch {group.epoch} since {since}, with a target of epoch {group.assignment_epoch}", ""
        case _:
            return "breaks a law", ""


def _epochs(group: EpochGroup, breach: Breach, member: MemberView | None) -> str:
    decreased = breach.law is Law.EPOCH_DECREASED
    if member is None and decreased:
        return f"went back to epoch {group.epoch} (target {group.assignment_epoch})"
    if member is None:
        return f"has a target of epoch {group.assignment_epoch} at group epoch {group.epoch}"
    if decreased:
        return f"went back from epoch {breach.fell_from} to {member.epoch}"
    if breach.law is Law.PREVIOUS_AHEAD:
        return f"is at epoch {member.epoch}, below the epoch that it states to have been at before"
    return f"is at epoch {member.epoch}, ahead of the target's {group.assignment_epoch}"


def _waiting(group: EpochGroup, holders: Iterable[str], since: str, partitions: str) -> tuple[str, str]:
    known = [(name, group.members[name]) for name in holders if name]
    text = f"has waited for {partitions} since {since}"
    if not known:
        return f"{text}, which nobody holds", ""
    name, slowest = min(known, key=lambda one: (one[1].epoch_since_ms or 0, one[0]))
    who = named(name, slowest)
    return (
        f"{text}: {who} holds them ({state_word(group, slowest)}, epoch {slowest.epoch})",
        f"Look at the client {who} first.",
    )


def _things(group: EpochGroup) -> str:
    return "tasks" if group.kind == STREAMS else "partitions"


def _some(units: Units, name_of: NameOf) -> str:
    return listed(shown(units, name_of))
