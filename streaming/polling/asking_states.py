"""What brokers say of groups that rebalance: one request per broker for all consumer groups, and one more for each
Connect group, because the client lists consumer groups only. And whether single groups may be described at all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rebalance_monitor.streaming.core.cluster.group_states import COMPLETING, PREPARING, REBALANCING
from rebalance_monitor.streaming.supervision import PartFailed
from .admin import REQUEST_TIMEOUT_S, admin_of, brokers, code_of, reason

MAY_DESCRIBE = "DESCRIBE"


@dataclass(frozen=True, slots=True)
class StateAnswer:
    """Groups that rebalance, each with its state, as far as brokers answered; `requests`: how many it took;
    `failures`: what was wrong with each broker that did not answer."""

    states: Mapping[str, str]
    requests: int
    failures: tuple[str, ...] = ()


class KafkaGroupStates:
    """Asks a real cluster, through librdkafka's admin client."""

    def __init__(self, client: Mapping[str, str]) -> None:
        self._client = client
        self._brokers = 1

    def consumers(self) -> StateAnswer:
        """The consumer groups that rebalance now. PartFailed when no broker answers."""
        from confluent_kafka import ConsumerGroupState

        names = {
            ConsumerGroupState.PREPARING_REBALANCING: PREPARING,
            ConsumerGroupState.COMPLETING_REBALANCING: COMPLETING,
        }
        with brokers("did not say which groups rebalance"):
            asked = self._admin.list_consumer_groups(request_timeout=REQUEST_TIMEOUT_S, states=set(names))
            listed = asked.result(REQUEST_TIMEOUT_S + 1)
        states = {str(one.group_id): names[one.state] for one in listed.valid if one.state in names}
        failures = tuple(map(reason, listed.errors))
        return StateAnswer(states, max(self._brokers, len(failures)), failures)

    def listed(self) -> frozenset[str]:
        """All consumer groups that this user may describe. PartFailed where one of the brokers does not answer."""
        with brokers("did not list the consumer groups"):
            asked = self._admin.list_consumer_groups(request_timeout=REQUEST_TIMEOUT_S)
            listed = asked.result(REQUEST_TIMEOUT_S + 1)
        if listed.errors:
            raise PartFailed(f"a broker did not list its consumer groups ({reason(listed.errors[0])})")
        return frozenset(str(one.group_id) for one in listed.valid)

    def group(self, name: str) -> StateAnswer:
        """The state of one group of any kind. PartFailed when no broker answers."""

        with brokers(f"did not say whether {name} rebalances"):
            found = self._admin.list_groups(name, timeout=REQUEST_TIMEOUT_S)
        states = {str(one.id): str(one.state) for one in found if one.error is None and one.state in REBALANCING}
        return StateAnswer(states, self._brokers + len(found))

    def refused(self) -> bool:
        """Whether the monitor may not describe the cluster: then only groups that it may describe one by one are
        listed. PartFailed when no broker answers."""

        with brokers("did not say what the monitor may do"):
            asked = self._admin.describe_cluster(request_timeout=REQUEST_TIMEOUT_S, include_authorized_operations=True)
            cluster = asked.result(REQUEST_TIMEOUT_S + 1)
        self._brokers = max(len(cluster.nodes), 1)
        return MAY_DESCRIBE not in {one.name for one in cluster.authorized_operations or ()}

    @cached_property
    def _admin(self) -> Any:
        return admin_of(self._client, "states")


_GROUP_AUTHORIZATION_FAILED = 30


def refused_groups(client: Mapping[str, str], names: Sequence[str]) -> frozenset[str]:
    """Those of these groups that the user may not describe. A broker refuses before it looks whether the group is
    there, and of which kind it is. PartFailed when no broker answers."""
    from confluent_kafka import KafkaException

    if not names:
        return frozenset()
    refused, failed = set(), list[BaseException]()
    admin = admin_of(client, "check")
    with brokers("did not say which groups may be described"):
        asked = admin.describe_consumer_groups(list(names), request_timeout=REQUEST_TIMEOUT_S)
    for name, answer in asked.items():
        try:
            answer.result(REQUEST_TIMEOUT_S + 1)
        except (KafkaException, TimeoutError) as why:
            code = code_of(why)
            if code == _GROUP_AUTHORIZATION_FAILED:
                refused.add(name)
            elif code in _NO_ANSWER:
                failed.append(why)
    if failed:
        raise PartFailed(f"the brokers did not say which groups may be described ({reason(failed[0])})") from failed[0]
    return frozenset(refused)


_NO_ANSWER = (0, 15, -185, -195)
"""No answer in time: of ours, no coordinator, librdkafka's time-out, no connection."""
