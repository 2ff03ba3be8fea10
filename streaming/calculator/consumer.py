"""Family `consumer-assign`: what the leader of a plain consumer group would hand out, partitions and bytes.

A case names the assignor (`kind`) and the leader's `release`; its input lists members with the bytes of their
subscriptions, the replicas of every partition (broker ids) and the brokers' racks.
"""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any

from rebalance_monitor.assignors.consumer.model import (
    ConsumerResult,
    TopicPartition,
    TopicRacks,
    compute_ordered,
    release_of,
)
from rebalance_monitor.assignors.consumer.sticky_eras import NoSuchEra, sticky_era_of
from rebalance_monitor.assignors.consumer.sticky_group import CannotAssign
from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment, decode_subscription, encode_assignment
from rebalance_monitor.schemas.outcomes import Decoded
from rebalance_monitor.streaming.core.consumer.assignors import ASSIGNORS, KEEPING
from rebalance_monitor.streaming.core.consumer.members import as_member


def solve(case: dict[str, Any]) -> dict[str, Any]:
    """The `expected` object of one case: `{"assignment": {member: {"partitions", "bytes"}}}` or `{"error": why}`."""
    assignor = ASSIGNORS.get(case["kind"])
    if assignor is None:
        return {"error": f"assignor not supported: {case['kind']}"}
    try:
        again = case["kind"] in KEEPING and sticky_era_of(case["release"]).rereads
        members = []
        for member in case["input"]["members"]:
            subscription = decode_subscription(b64decode(member["subscription"]))
            if not isinstance(subscription, Decoded):
                return {"error": f"subscription of {member['id']} is unreadable"}
            value = subscription.value
            members.append(as_member(member["id"], member.get("instance"), value, case["kind"], again=again))
        result = assignor.of_release(members, _topic_racks(case["input"]), case["release"])
    except (CannotAssign, NoSuchEra) as why:
        return {"error": str(why)}
    return _answer(result, case["release"])


def _answer(result: ConsumerResult, release: str) -> dict[str, Any]:
    unsure = result.order_unsure
    version = blob_version(release)
    assignment = {}
    for name, share in result.shares.items():
        written, share_unsure = wire_order(share, release)
        unsure = unsure or share_unsure
        blob = encode_assignment(
            ConsumerAssignment(version=version, partitions=written, user_data=b"" if version == 0 else None)
        )
        assignment[name] = {"partitions": [list(item) for item in share], "bytes": b64encode(blob).decode("ascii")}
    expected: dict[str, Any] = {"assignment": assignment}
    if unsure:
        expected["order_unsure"] = True
    return expected


def _topic_racks(given: dict[str, Any]) -> TopicRacks:
    """Racks of every partition's replicas; a broker without a rack, or one the leader does not know, adds none."""
    racks: dict[str, str | None] = given.get("brokers") or {}
    return {
        topic: tuple(
            frozenset(rack for broker in replicas if (rack := racks.get(str(broker))) is not None)
            for replicas in partitions
        )
        for topic, partitions in given["topics"].items()
    }


def blob_version(release: str) -> int:
    """Version that a leader of this release writes in front of an assignment.

    Leaders that write version 0 also write empty user data where later ones write null.
    """
    number = release_of(release)
    if number >= (3, 4):
        return 3
    return 1 if number >= (2, 4) else 0


def wire_order(share: Sequence[TopicPartition], release: str) -> tuple[tuple[TopicPartition, ...], bool]:
    """A member's partitions grouped by topic as the leader writes them, and whether the order is in doubt.

    Topics stand in the order of their first occurrence; leaders up to 2.8 write them in hash-map order.
    """
    topics: Sequence[str] = tuple(dict.fromkeys(topic for topic, _ in share))
    unsure = False
    if release_of(release) < (3, 0):
        topics, unsure = compute_ordered(topic for topic, _ in share)
    return tuple(item for topic in topics for item in share if item[0] == topic), unsure
