"""From broken laws to findings: whom each names, and what it says to people.

A law about the state of one moment is certain: the records show it. How long something may last depends on the
broker's session time-out and heartbeat interval, which no record shows, so what breaks a law about time is likely.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.model.messages import listed, utc
from rebalance_monitor.streaming.core.model.results import Certainty, Evidence, Severity, Subject
from .breaches import Breach
from .group import TargetGroup, waiting_for
from .kind import Kind
from .law import Law
from .shown import shown
from .topics import NameOf
from .units import HeldUnit, Units, partitions_in, tasks_in

MOST_PARTITIONS = 50
"""Partitions that are findings of one moment, at the most."""

OF_MEMBER: Mapping[Law, str] = {
    Law.EPOCH_ORDER: "is at epoch {epoch}, ahead of the target's {target}",
    Law.EPOCH_DECREASED: "went back from epoch {fell_from} to {epoch}",
    Law.PREVIOUS_AHEAD: "is at epoch {epoch}, below the epoch that it states to have been at before",
    Law.STABLE_UNLIKE_TARGET: "is stable at epoch {epoch} and does not hold exactly its target: {units}",
    Law.SHARED_UNLIKE_TARGET: "is at epoch {epoch} and does not hold exactly its target: {units}",
    Law.PENDING_UNLIKE_STATE: "is {state} with {count} {things} to give up",
    Law.STATE_UNKNOWN: "is in state {unknown_state}, which no known release has: what it holds is not judged",
    Law.UNLIKE_BEFORE: "is {state} at epoch {epoch} and has not what follows from its record before: {units}",
    Law.UNRELEASED_HOLDS_ALL: "is {state} at epoch {epoch}, but does not hold a proper part of its target",
    Law.STUCK_REVOKING: "has not given up {units} since {since}, longer than its rebalance time-out",
    Law.LAGGING: "is at epoch {epoch}, behind target {target} since {since}",
    Law.WAITING_LONG: "has waited for {units} since {since}",
}
OF_GROUP: Mapping[Law, str] = {
    Law.EPOCH_ORDER: "has a target of epoch {target} at group epoch {group_epoch}",
    Law.EPOCH_DECREASED: "went back to epoch {group_epoch} (target {target})",
    Law.NO_TARGET: "has been at epoch {group_epoch} since {since}, with a target of epoch {target}",
}
_OF_UNITS: Mapping[Law, str] = {
    Law.SEVERAL_HOLDERS: "held by ",
    Law.SEVERAL_TARGETS: "in the targets of ",
    Law.COPIES_TOGETHER: "in one process by the members ",
    Law.TARGET_COPIES_TOGETHER: "in the targets of one process: ",
    Law.WARM_UP_ALONE: "nobody is to run it until it is warm on ",
}
_OF_HOLDERS = frozenset({Law.SEVERAL_HOLDERS, Law.COPIES_TOGETHER})
_OF_COPIES = frozenset({Law.COPIES_TOGETHER, Law.TARGET_COPIES_TOGETHER})


def evaluated(kind: Kind, group: TargetGroup) -> frozenset[str]:
    """Codes of which a closed moment says whether they are broken: what no member has is not known while a target is
    due."""
    unknown = Law.TARGET_INCOMPLETE if group.behind else None
    return frozenset(rule.code for law, rule in kind.rules.items() if law is not unknown)


def findings_of(
    kind: Kind, group_id: str, group: TargetGroup, breaches: Iterable[Breach], name_of: NameOf, here: Evidence
) -> tuple[Finding, ...]:
    """What is found, one finding for each member or partition that a law names."""
    broken = list(breaches)
    chains = waiting_for(group) if any(breach.law is Law.WAITING_LONG for breach in broken) else {}
    found: list[Finding] = []
    for breach in broken:
        rule = kind.rules[breach.law]
        found_of = partial(
            Finding,
            rule=rule,
            severity=Severity.INFO if breach.law is Law.STATE_UNKNOWN else rule.severity,
            certainty=Certainty.LIKELY if breach.law in kind.unsure else Certainty.CERTAIN,
            evidence=(here,),
        )
        if breach.member is None and breach.units:
            for subjects, message in _of_units(group_id, group, breach, name_of):
                found.append(found_of(subjects=subjects, message=message))
            continue
        member = None if breach.member is None else group.members.get(breach.member)
        subject = Subject("group", group_id) if member is None else Subject("member", member.named(breach.member or ""))
        text, first = _text(kind, group, breach, name_of), ""
        if breach.law is Law.WAITING_LONG:
            text, first = _waiting(kind, group, text, chains.get(breach.member or "", ()))
        who = "the group" if member is None else subject.id
        found.append(found_of(subjects=(subject,), message=f"{who} {text}", next_step=first))
    return tuple(found)


def _of_units(
    group_id: str, group: TargetGroup, breach: Breach, name_of: NameOf
) -> Iterator[tuple[tuple[Subject, ...], str]]:
    """Each partition, and tasks by those who have them: whom a finding names, and what it says."""
    lacks = f"in no member's target (epoch {group.assignment_epoch})" if breach.law is Law.TARGET_INCOMPLETE else ""
    for partition in sorted(partitions_in(breach.units))[:MOST_PARTITIONS]:
        ((name,), who) = (shown(frozenset({partition}), name_of), " and ".join(_having(group, breach.law, partition)))
        text = f"{lacks}{_without_state(group, *partition)}" if lacks else f"{_OF_UNITS[breach.law]}{who}"
        yield (Subject("partition", name),), f"{name} is {text}"
    by_holders: dict[tuple[str, ...], set[HeldUnit]] = {}
    for task in tasks_in(breach.units):
        by_holders.setdefault(_having(group, breach.law, task), set()).add(task)
    for holders, some in sorted(by_holders.items()):
        text = f"active {lacks}" if lacks else f"{_OF_UNITS[breach.law]}{' and '.join(holders)}"
        subjects = tuple(Subject("member", one) for one in holders) or (Subject("group", group_id),)
        yield subjects, f"{listed(shown(frozenset(some), name_of))}: {text}"


def _having(group: TargetGroup, law: Law, unit: HeldUnit) -> tuple[str, ...]:
    """Who is concerned: those who hold it, or have it in their targets; of copies that are together, in whatever
    role."""

    def concerned(units: Units) -> bool:
        return any(one[1:] == unit[1:] for one in tasks_in(units)) if law in _OF_COPIES else unit in units

    having = {name: one.held() if law in _OF_HOLDERS else one.wanted() for name, one in group.members.items()}
    return tuple(sorted(group.members[name].named(name) for name, units in having.items() if concerned(units)))


def _without_state(group: TargetGroup, topic: bytes, number: int) -> str:
    known = group.states is None or number in group.initialized().get(topic, ())
    return "" if known else ": its share state was never initialized"


def _text(kind: Kind, group: TargetGroup, breach: Breach, name_of: NameOf) -> str:
    member = group.members.get(breach.member or "")
    usual, own = (OF_GROUP, kind.words.of_group) if member is None else (OF_MEMBER, kind.words.of_member)
    return own.get(breach.law, usual.get(breach.law, "breaks a law")).format(
        epoch=None if member is None else member.epoch,
        state="" if member is None else kind.words.state(member.state),
        unknown_state=None if member is None else member.unknown_state,
        target=group.assignment_epoch,
        group_epoch=group.epoch,
        fell_from=breach.fell_from,
        since=utc(breach.since_ms or 0),
        units=listed(shown(breach.units, name_of)),
        count=len(breach.units),
        things=kind.words.things,
    )


def _waiting(kind: Kind, group: TargetGroup, text: str, holders: Iterable[str]) -> tuple[str, str]:
    """What is wrong, and what to do first in this very group. `holders`: whom the member waits for."""
    known = [(name, group.members[name]) for name in holders if name]
    if not known:
        return f"{text}, which nobody holds", ""
    name, slowest = min(known, key=lambda one: (one[1].epoch_since_ms or 0, one[0]))
    who = slowest.named(name)
    return (
        f"{text}: {who} holds them ({kind.words.state(slowest.state)}, epoch {slowest.epoch})",
        f"Look at the client {who} first.",
    )
