"""Asks whether single groups may be described: one question for all of them, for who sets the monitor up."""

from collections.abc import Mapping, Sequence

from rebalance_monitor.streaming.supervision import PartFailed
from .admin import REQUEST_TIMEOUT_S, admin_of, brokers, code_of, reason

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
