"""What a member subscribes to whose subscription was not read, as far as targets tell: at first contact, or behind a
hole.

A member's subscription is written when it joins, and its target whenever that changes. So the targets are known long
before all subscriptions are. If the assignor gives exactly these targets for a likely subscription, that is an
explanation; if not, nobody knows why.
"""

from collections.abc import Callable, Iterator, Mapping

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory
from rebalance_monitor.streaming.core.model.results import Grade, Verdict
from rebalance_monitor.streaming.core.targets.operation import Computed
from rebalance_monitor.streaming.core.targets.reasons import SUBSCRIPTION_ASSUMED, SUBSCRIPTION_MISSING, not_judged
from rebalance_monitor.streaming.core.targets.units import partitions_in

Names = tuple[str, ...]


def judged(computed: Computed, history: TopicHistory, judge: Callable[[Computed], Verdict]) -> Verdict:
    """The verdict on a target of a group in which subscriptions are missing; `judge` gives the verdict where none is
    missing."""
    assignor = None
    for names in _choices(computed, history):
        members = {
            name: member.subscribing(names[name]) if name in names else member
            for name, member in computed.after.members.items()
        }
        verdict = judge(replace(computed, after=replace(computed.after, members=members)))
        assignor = verdict.assignor
        if verdict.grade is Grade.MATCH:
            return replace(verdict, grade=Grade.EXPLAINABLE, reason=SUBSCRIPTION_ASSUMED)
    return not_judged(assignor, SUBSCRIPTION_MISSING)


def _choices(computed: Computed, history: TopicHistory) -> Iterator[Mapping[str, Names]]:
    """What the members may subscribe to whose subscription is missing: all to everything that anybody reads, or each to
    the topics of its targets, the one before and the new one."""
    group, told = computed.after, computed.after.names()
    known = tuple(dict.fromkeys(name for one in group.members.values() for name in group.names_of(one)))
    topics: dict[str, set[bytes]] = {}
    for members in (group.members, computed.before.members):
        for name, member in members.items():
            topics.setdefault(name, set()).update(topic for topic, _ in partitions_in(member.wanted()))
    named = {topic: told.get(topic) or history.name_of(topic) for of in topics.values() for topic in of}
    names = {topic: name for topic, name in named.items() if name is not None}
    if len(names) < len(named):
        return
    missing = [name for name, member in group.members.items() if member.metadata is None]
    alike = dict.fromkeys(missing, (*known, *sorted(set(names.values()) - set(known))))
    yield alike
    own = {name: tuple(sorted(names[topic] for topic in topics[name])) for name in missing}
    if own != alike:
        yield own
