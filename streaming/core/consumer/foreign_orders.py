"""In which order other clients than Java's put a group's members before they deal partitions.

Java sorts static members by their instance id, and the others after them by member id. Where a group mixes both kinds,
other clients give other shares by the same assignor, and their leaders are right all the same. Seen on real groups:

    librdkafka         by member id; a static member's begins with its instance id, so it mixes with the others.
                       Clients that know no instance ids do the same
    kafka-python 3.0   static before others, but of several runs of one kind in the join order only the last counts;
                       members of the runs before get nothing (`range`: for each topic on its own)
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

from rebalance_monitor.assignors.consumer.model import ConsumerMember
from rebalance_monitor.schemas.frozen import replace

Members = tuple[ConsumerMember, ...]


def foreign_orders(members: Sequence[ConsumerMember], assignor: str) -> Iterator[tuple[str, Members]]:
    """Clients and the members as they see them, each in a form that Kafka's own assignor deals alike.

    Nothing where all members are static or none is: then all clients agree.
    """
    if len({member.instance_id is None for member in members}) > 1:
        yield "librdkafka", tuple(replace(member, instance_id=None) for member in members)
        yield "kafka-python", _kafka_python(members, assignor)


def _kafka_python(members: Sequence[ConsumerMember], assignor: str) -> Members:
    if assignor != "range":
        return _numbered(_last_runs(members))
    topics: dict[str, list[str]] = {member.id: [] for member in members}
    for topic in dict.fromkeys(topic for member in members for topic in member.topics):
        for member in _last_runs([one for one in members if topic in one.topics]):
            topics[member.id].append(topic)
    return _numbered([replace(member, topics=tuple(topics[member.id])) for member in sorted(members, key=_place)])


def _last_runs(members: Sequence[ConsumerMember]) -> list[ConsumerMember]:
    """Static ones first; neighbours of one kind make a run, and a later run of a kind replaces the one before."""
    runs = {static: list(run) for static, run in groupby(members, lambda one: one.instance_id is not None)}
    return [member for kind in (True, False) for member in sorted(runs.get(kind, ()), key=_place)]


def _place(member: ConsumerMember) -> tuple[bool, str, str]:
    return (member.instance_id is None, member.instance_id or "", member.id)


def _numbered(members: Sequence[ConsumerMember]) -> Members:
    """As static members whose instance ids sort as they stand."""
    return tuple(replace(member, instance_id=f"{number:06}") for number, member in enumerate(members))
