"""What brokers say of all groups and of the bytes of their members: two requests per broker, however many groups.

librdkafka's `rd_kafka_list_groups` sends ListGroups and DescribeGroups to each broker, and hands members' bytes on as
they are, whatever the protocol type. Its newer calls, which it recommends instead, decode what consumers are given and
leave the bytes and other groups out. It sends version 0 of DescribeGroups, which every broker answers; that one names
no instance ids. A broker that does not answer fails the whole question.

A broker that is down is not asked, and a partition of `__consumer_offsets` without a leader has no coordinator: then
groups are missing that are not deleted. So who is expected and missing is asked for by name: only the coordinator of a
group can say that there is none.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rebalance_monitor.streaming.core.model.messages import listed
from rebalance_monitor.streaming.core.reading.snapshots import Snapshot, SnapshotMember, instance_of
from .admin import admin_of, brokers, next_of, reason
from .asking_states import MAY_DESCRIBE

REQUEST_TIMEOUT_S = 10.0
BY_NAME_TIMEOUT_S = 5.0
REQUESTS_PER_BROKER = 2
DIFFERENT = "two brokers describe it, each in another way"
DEAD = "Dead"
"""The state of a group that is gone, or is no classic one."""
MOST_BY_NAME = 100
"""Missing groups that one answer asks for by name; of the others nothing is said."""
NOT_ASKED = "it is missing among too many others to be asked for by name"
WORDS = {"PREPARING_REBALANCING": "PreparingRebalance", "COMPLETING_REBALANCING": "CompletingRebalance"}
"""Kafka's words for states that the client calls otherwise."""


@dataclass(frozen=True, slots=True)
class GroupsAnswer:
    """All classic groups that the monitor may describe. `complete`: it may describe all, and each could be; `unclear`:
    those that could not be, each with the reason; `others`: expected ones that this question does not describe, since
    they go on as KIP-848 groups, each with its state; `requests`: how many it took."""

    groups: Mapping[str, Snapshot]
    complete: bool
    requests: int
    unclear: Mapping[str, str] = field(default_factory=dict)
    others: Mapping[str, str] = field(default_factory=dict)


class KafkaSnapshots:
    """Asks a real cluster, through librdkafka's admin client."""

    def __init__(self, client: Mapping[str, str]) -> None:
        self._client = client
        self._turn: str | None = None

    def __call__(self, expected: Collection[str] = ()) -> GroupsAnswer:
        """One answer; `expected`: groups that are asked for by name where they are missing. PartFailed when a broker
        does not give it in time."""

        with brokers("did not describe their groups"):
            asked = self._admin.describe_cluster(request_timeout=REQUEST_TIMEOUT_S, include_authorized_operations=True)
            cluster = asked.result(REQUEST_TIMEOUT_S + 1)
            listed = self._admin.list_groups(timeout=REQUEST_TIMEOUT_S)
        groups, unclear = snapshots_of(listed)
        missing = set(expected) - groups.keys() - unclear.keys()
        asked_for = next_of(missing, self._turn, MOST_BY_NAME)
        self._turn = asked_for[-1] if asked_for else None
        others, silent = self.by_name(asked_for)
        unclear |= {name: NOT_ASKED for name in missing - set(asked_for)} | silent
        return GroupsAnswer(
            groups=groups,
            complete=MAY_DESCRIBE in {one.name for one in cluster.authorized_operations or ()},
            requests=1 + REQUESTS_PER_BROKER * (max(len(cluster.nodes), 1) + len(asked_for)),
            unclear=unclear,
            others=others,
        )

    def by_name(self, names: list[str]) -> tuple[dict[str, str], dict[str, str]]:
        """The states of those groups that there are, and the reasons of those whose coordinators did not answer. A
        group in neither is gone."""
        from confluent_kafka import KafkaError, KafkaException

        states: dict[str, str] = {}
        silent: dict[str, str] = {}
        answers = self._admin.describe_consumer_groups(names, request_timeout=BY_NAME_TIMEOUT_S) if names else {}
        for name, answer in answers.items():
            try:
                state = str(answer.result(BY_NAME_TIMEOUT_S + 1).state.name)
            except (KafkaException, TimeoutError) as why:
                if not (isinstance(why, KafkaException) and why.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND):
                    silent[name] = reason(why)
                continue
            if state != DEAD.upper():
                states[name] = WORDS.get(state, state.title())
        return states, silent

    @cached_property
    def _admin(self) -> Any:
        return admin_of(self._client, "groups")


def snapshots_of(listed: Iterable[Any]) -> tuple[dict[str, Snapshot], dict[str, str]]:
    """The groups of librdkafka's answer, and those of which it does not say how they are, with the reason. While a
    coordinator moves, two brokers may list one group: the one that gave it up refuses to describe it, or still shows it
    as it was."""
    groups: dict[str, Snapshot] = {}
    unclear: dict[str, str] = {}
    for one in listed:
        name = str(one.id)
        if one.error is not None:
            unclear.setdefault(name, str(one.error.str()))
        elif str(one.state) != DEAD:
            snapshot = _snapshot(one)
            if groups.setdefault(name, snapshot) != snapshot:
                unclear[name] = DIFFERENT
    different = [name for name, why in unclear.items() if why == DIFFERENT]
    for name in different:
        del groups[name]
    return groups, {name: why for name, why in unclear.items() if name not in groups}


def not_described(unclear: Mapping[str, str]) -> str:
    named = listed(f"{name} ({why})" for name, why in sorted(unclear.items()))
    return (
        f"brokers did not describe {named}, so nothing is judged of that; where they refuse, grant "
        "Describe on the group"
    )


def _snapshot(group: Any) -> Snapshot:
    return Snapshot(
        group=str(group.id),
        state=str(group.state),
        protocol_type=str(group.protocol_type),
        protocol=str(group.protocol),
        members=tuple(
            SnapshotMember(
                member_id=str(one.id),
                client_id=str(one.client_id),
                client_host=str(one.client_host),
                subscription=bytes(one.metadata or b""),
                assignment=bytes(one.assignment or b""),
                instance_id=instance_of(str(one.id), str(one.client_id)),
            )
            for one in group.members
        ),
    )
