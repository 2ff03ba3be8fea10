"""The answers that the assignors of consumers gave last, for members that say the same again.

Most rebalances of a group change nothing: the members of the record before come again, subscribe to the same topics and
report what they were given. Their bytes are others all the same, because each says of which generation its report is.
No assignor looks at a generation by itself: it is one that a client names (0 or more) or none, and it is newer than
another member's, equal to it, or older. So the answer is that of the members with their generations numbered from 0 on.

    generation 7   a reports t-0 of 6, b reports t-1 of 6     computed
    generation 8   a reports t-0 of 7, b reports t-1 of 7     the answer of 7
    generation 9   a reports t-0 of 8, b reports t-1 of 7     computed
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rebalance_monitor.assignors.consumer.model import ConsumerMember, ConsumerResult, TopicRacks
from rebalance_monitor.streaming.core.model.derived import Latest
from .assignors import KEEPING, Assignor

MOST_GROUPS = 512
"""Of so many groups, by their first members, the last answer is remembered."""
Reports = tuple[Any, ...]
"""What an assignor looks at of the members, with their generations numbered from 0 on."""


@dataclass(frozen=True, slots=True)
class _Answered:
    said: Reports
    topics: TopicRacks
    result: ConsumerResult


LAST = Latest[tuple[str, str, str], _Answered](MOST_GROUPS)


def recompute(
    assignor: Assignor[Any], members: Sequence[ConsumerMember], topics: TopicRacks, era: Any
) -> ConsumerResult:
    """What the assignor answers. Raises CannotAssign where Kafka's class fails."""
    key = assignor.name, era.name, members[0].id if members else ""
    said = _of_sticky(members) if assignor.name in KEEPING else _of_plain(members)
    known = LAST.get(key)
    if known is not None and known.said == said and known.topics == topics:
        return known.result
    result = assignor.recompute(members, topics, era=era)
    LAST.put(key, _Answered(said, topics, result))
    return result


def _of_plain(members: Sequence[ConsumerMember]) -> Reports:
    """These look at subscriptions alone."""
    return tuple((one.id, one.instance_id, one.topics, one.rack) for one in members)


def _of_sticky(members: Sequence[ConsumerMember]) -> Reports:
    named = {one for member in members for one in _generations(member) if one is not None and one >= 0}
    numbers: dict[int | None, int] = {one: at for at, one in enumerate(sorted(named))}
    return tuple(
        (
            one.id,
            one.instance_id,
            one.topics,
            one.rack,
            one.owned,
            one.claim.partitions,
            one.claim_again.partitions,
            tuple(numbers.get(each, each) for each in _generations(one)),
        )
        for one in members
    )


def _generations(member: ConsumerMember) -> tuple[int | None, ...]:
    return member.generation, member.claim.generation, member.claim_again.generation
