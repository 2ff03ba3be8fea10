"""Why one rebalance came, in words: the same in the ranking of many, in a story, in six lines and beside a mark.

workers were lost: 10.0.3.4:8083 (likely)
members joined: consumer-9, consumer-1
"""

from collections.abc import Callable, Mapping

from rebalance_monitor.streaming.core.model.messages import listed
from .known import Published

STATIC_GONE, UNKNOWN = "static_member_gone", "unknown"
KINDS: Mapping[str, str] = {
    "zombie_returned": "workers came back with what others had been given",
    "worker_lost": "workers were lost",
    "member_lost": "members were removed because they fell silent or were late",
    "worker_left": "workers left by a request",
    "member_left": "members left by a request",
    "static_member_gone": "static members were away for longer than their session time-out",
    "worker_gone": "workers went, and no record tells whether they left or were lost",
    "member_gone": "members went, and no record tells whether they left or were lost",
    "worker_bounced": "workers were restarted",
    "member_replaced": "members were replaced by another process of the same instance id",
    "worker_joined": "workers joined",
    "member_joined": "members joined",
    "connector_deleted": "connectors were deleted",
    "connector_created": "connectors were created",
    "connector_rescaled": "connectors got another number of tasks",
    "connector_reconfigured": "connectors were configured anew",
    "subscription_changed": "members changed what they subscribe to",
    "configuration_changed": "the group's configuration was changed",
    "topic_changed": "topics were made, grew or were deleted",
    "partitions_initialized": "partitions of a share group were initialized",
    "protocol_changed": "the group changed its protocol",
    "delay_expired": "the scheduled delay was over",
    "revocation_follow_up": "what members gave up in the rebalance before was handed out",
    "backoff_follow_up": "workers joined again after a back-off",
    "config_mismatch": "workers had read the configuration to different offsets",
    "probing_rebalance": "a probing rebalance of Kafka Streams was due",
    "version_probing": "members of a newer version of Kafka Streams were there",
    "worker_rejoined": "workers joined again, and nothing tells what had changed for them",
    "member_rejoined": "members joined again, and nothing tells what had changed for them",
    "begun_by_coordinator": "the coordinator began it for another reason, which its log names",
    "leader_changed": "another worker leads",
}
"""Each cause that one generation can have as it is told, in the order in which one of several is chosen."""


def cause_text(cause: Published, called: Callable[[str], str] = str, most: int = 4) -> str:
    """A cause of a generation with whom it names and, where it is not certain, how sure it is. `called`: what a subject
    is called; `most`: so many of them."""
    subjects = listed([called(one["id"]) for one in cause["subjects"]], most)
    sure = "" if cause["certainty"] == "certain" else f" ({cause['certainty']})"
    return f"{kind_text(cause['kind'])}{': ' if subjects else ''}{subjects}{sure}"


def kind_text(kind: str) -> str:
    """Without names. Of a kind that only a later release knows, its name."""
    if kind == UNKNOWN:
        return "no record shows a cause"
    return KINDS.get(kind, kind.replace("_", " "))
