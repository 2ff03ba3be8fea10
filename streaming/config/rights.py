"""Which rights the monitor's user needs on a Kafka cluster, and what it cannot do without each: declared once.

    KINDS        every kind of right, as docs/security.md lists them
    rights_of    exactly the rights that one cluster of a configuration needs

The monitor writes nothing, so there is no other operation than Read and Describe. Read on a topic implies Describe.
"""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from .clusters import POLL, ClusterSection
from .settings import Settings

ALL = "*"
"""As a resource's name: every topic, every group."""
CLUSTER_NAME = "kafka-cluster"
"""Kafka's name of the one resource of type cluster."""


class AclOperation(StrEnum):
    """In Kafka's words."""

    READ = "Read"
    DESCRIBE = "Describe"


class AclResource(StrEnum):
    """Types of Kafka's resources, as its tools spell them."""

    TOPIC = "topic"
    GROUP = "group"
    CLUSTER = "cluster"


@dataclass(frozen=True, slots=True, kw_only=True)
class RightKind:
    """A kind of right. `on`: what it is granted on, and `without`: what is missing without it, both in Markdown.
    `required`: without it the cluster does not become ready."""

    operation: AclOperation
    resource: AclResource
    on: str
    without: str
    required: bool = False


LOG = RightKind(
    operation=AclOperation.READ,
    resource=AclResource.TOPIC,
    on="`__consumer_offsets`",
    without="nothing is judged, and the cluster does not become ready: `/readyz` says `not_authorized`. Where nobody "
    "can grant it, [`source: poll`](sampled.md) does without",
    required=True,
)
CONFIGS = RightKind(
    operation=AclOperation.READ,
    resource=AclResource.TOPIC,
    on="Connect's config topics",
    without="Connect groups: `not_judged`, but for rules that need no configuration; `/readyz` says `degraded` and "
    "names the topic",
)
STATUSES = RightKind(
    operation=AclOperation.READ,
    resource=AclResource.TOPIC,
    on="Connect's status topics",
    without="`failed`, `restart_loop` and others that look at statuses are not judged; `/readyz` says `degraded` and "
    "names the topic",
)
BROKER_LOGS = RightKind(
    operation=AclOperation.READ,
    resource=AclResource.TOPIC,
    on="the topic with brokers' logs (`coordinator_log.topic`)",
    without="[causes](coordinator-log.md) are known as far as records show them; `/readyz` says so under "
    "`coordinator log`",
)
TOPICS = RightKind(
    operation=AclOperation.DESCRIBE,
    resource=AclResource.TOPIC,
    on="the topics that consumers subscribe to, and changelogs of Streams applications",
    without="brokers leave these topics out of their answers: partition counts are inferred, end offsets and lag are "
    "not known",
)
GROUPS = RightKind(
    operation=AclOperation.DESCRIBE,
    resource=AclResource.GROUP,
    on="the groups",
    without="no committed offsets, so no lag: `/readyz` names the groups. With `source: poll` the group is not "
    "seen at all",
)
CLUSTER = RightKind(
    operation=AclOperation.DESCRIBE,
    resource=AclResource.CLUSTER,
    on="the cluster",
    without="brokers list only groups that the user may describe one by one: of others `stuck_rebalance` is not "
    "judged, and `rebalance_monitor_groups_unseen` is 1. With `source: poll` nobody can distinguish a deleted group "
    "from a hidden one: its incidents stay open",
)
KINDS = (LOG, CONFIGS, STATUSES, BROKER_LOGS, TOPICS, GROUPS, CLUSTER)


@dataclass(frozen=True, slots=True)
class Right:
    """A kind with the name of its resource: literal, or ALL."""

    kind: RightKind
    name: str

    def command(self, bootstrap_servers: str, principal: str) -> str:
        resource = f"--{self.kind.resource}"
        named = [] if self.kind.resource is AclResource.CLUSTER else [self.name]
        words = ["--operation", self.kind.operation, resource, *named]
        return shlex.join(
            ["kafka-acls.sh", "--bootstrap-server", bootstrap_servers, "--add", "--allow-principal", principal, *words]
        )


def rights_of(settings: Settings, cluster: ClusterSection) -> tuple[Right, ...]:
    """All rights that this cluster needs with this configuration, and no other."""
    return tuple(dict.fromkeys(_rights(settings, cluster)))


def _rights(settings: Settings, cluster: ClusterSection) -> Iterator[Right]:
    polled, asked = cluster.source == POLL, settings.polling
    if not polled:
        yield Right(LOG, settings.source.offsets_topic)
    for section in cluster.core().connect.values():
        if section.config_topic is not None:
            yield Right(CONFIGS, section.config_topic)
        if section.status_topic is not None:
            yield Right(STATUSES, section.status_topic)
    if cluster.coordinator_log.topic is not None:
        yield Right(BROKER_LOGS, cluster.coordinator_log.topic)
    if asked.topics or asked.progress:
        yield Right(TOPICS, ALL)
    if polled or asked.group_states or asked.progress:
        yield Right(GROUPS, ALL)
    if polled or asked.group_states:
        yield Right(CLUSTER, CLUSTER_NAME)


def markdown() -> str:
    """The table of docs/security.md."""
    rows = (f"| *{one.operation}* on {one.on} | {one.without} |" for one in KINDS)
    return "\n".join(("| right | without it |", "|---|---|", *rows))
