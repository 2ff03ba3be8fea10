"""Which Kafka clusters to watch, and what is known about their Connect groups."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from rebalance_monitor.assignors.streams.eras import FIRST_WITH_PLUG_INS, release_of
from rebalance_monitor.assignors.streams.topology_text import topology_error
from rebalance_monitor.streaming.core.connect.topic_names import guessed_config_topic, guessed_status_topic
from rebalance_monitor.streaming.core.model.settings import (
    REBALANCE_TIMEOUT_MS,
    SESSION_TIMEOUT_MS,
    ClientLibrary,
    ClusterSettings,
    ConnectSettings,
    OwnAssignor,
    StreamsSettings,
)
from .kafka import KafkaSection, TopicName
from .plug_ins import PlugInSection
from .section import LONGEST_MS, FromText, Milliseconds, ReleaseText, Section, no_boolean

LOG: Literal["log"] = "log"
POLL: Literal["poll"] = "poll"
"""Where the groups of a cluster are known from: the coordinator's log, or what brokers say when they are asked."""

TaskName = Annotated[str, Field(min_length=1)]
"""A connector's name, or `name-n` for its task."""
WorkerPattern = Annotated[str, Field(pattern=r"^[^\s/]+$")]
"""host:port as the worker advertises it, with * and ? as in file names."""

ClientId = Annotated[str, Field(min_length=1)]
"""client.id of a consumer, or a pattern of it with * and ? as in file names."""


GroupPattern = Annotated[str, Field(min_length=1)]
"""group.id, or a pattern of it with * and ? as in file names."""


def _some_meaning(meant: tuple[OwnAssignor, ...]) -> tuple[OwnAssignor, ...]:
    if not meant:
        raise ValueError("must name shares, omits or both; leave the group out if its assignor does neither")
    return meant


Meant = Annotated[tuple[OwnAssignor, ...], AfterValidator(_some_meaning)]
"""What a group's assignor does on purpose."""


def _some(workers: tuple[str, ...]) -> tuple[str, ...]:
    if not workers:
        raise ValueError("must name at least one worker; leave the connector or task out if any worker may run it")
    return workers


Workers = Annotated[tuple[WorkerPattern, ...], AfterValidator(_some)]
MaxDelay = Annotated[int, Field(ge=0, le=2**31 - 1), BeforeValidator(no_boolean)]
"""Milliseconds, as Connect accepts them."""


class ConnectSection(Section):
    """One Connect cluster. A value left null is treated as unknown, and verdicts that need it say so."""

    config_topic: TopicName | None = None
    status_topic: TopicName | None = None
    max_delay_ms: MaxDelay | None = None
    max_delay_ms_by_worker: Annotated[dict[WorkerPattern, MaxDelay], FromText] = Field(default_factory=dict)
    release: ReleaseText | None = None
    java_version: Annotated[int, Field(ge=7)] | None = None
    placements: Annotated[dict[TaskName, Workers], FromText] = Field(default_factory=dict)

    def core(self, group: str) -> ConnectSettings:
        """What the fold needs. Topics that are not named follow Connect's naming convention, marked as a guess."""
        return self.core_value(
            ConnectSettings,
            config_topic=self.config_topic or guessed_config_topic(group),
            status_topic=self.status_topic or guessed_status_topic(group),
            guessed_topics=self.config_topic is None or self.status_topic is None,
        )


def _readable(text: str) -> str:
    why = topology_error(text)
    if why is not None:
        raise ValueError(f"is no text of Topology.describe(): {why}")
    return text


class StreamsSection(Section):
    """One Kafka Streams application, by its application.id: what its leader is configured with. A value left null is
    treated as unknown: every value that is possible is tried, and verdicts say so."""

    release: ReleaseText | None = None
    java_version: Annotated[int, Field(ge=7)] | None = None
    assignor: Annotated[str, Field(min_length=1)] | None = None
    standbys: Annotated[int, Field(ge=0, le=1_000)] | None = None
    warm_ups: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None
    acceptable_lag: Annotated[int, Field(ge=0, le=2**63 - 1)] | None = None
    probing_interval_ms: Annotated[int, Field(ge=60_000, le=LONGEST_MS)] | None = None
    rack_strategy: Literal["none", "min_traffic", "balance_subtopology"] | None = None
    rack_traffic_cost: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    rack_non_overlap_cost: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    rack_tags: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], FromText] | None = None
    topology: Annotated[str, AfterValidator(_readable)] | None = None
    plug_in: Annotated[PlugInSection, FromText] | None = None

    @model_validator(mode="after")
    def _one_assignor(self) -> Self:
        if self.plug_in is None:
            return self
        if self.assignor is not None:
            raise ValueError("assignor and plug_in are both set; a plug-in is the assignor, so remove one of them")
        if self.release is not None and release_of(self.release) < FIRST_WITH_PLUG_INS:
            raise ValueError(
                f"release {self.release} runs no assignor of an application's own; remove plug_in or correct it"
            )
        return self

    def core(self) -> StreamsSettings:
        return self.core_value(StreamsSettings, plug_in=None if self.plug_in is None else self.plug_in.core())


def _absolute(name: str) -> str:
    if not name.startswith("/"):
        raise ValueError("must be a file name from the root on, such as /var/log/kafka/server.log*")
    return name


def _printable(name: str) -> str:
    if not name.isprintable():
        raise ValueError("must hold no control characters: it stands in labels, logs and on terminals")
    return name


class CoordinatorLogSection(Section):
    """Where the brokers' logs are: names of files, or patterns with * and ? and [ ], and ** for folders; or a topic of
    this cluster with a line in each record."""

    files: Annotated[tuple[Annotated[str, AfterValidator(_absolute)], ...], FromText] = ()
    topic: TopicName | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.files and self.topic is not None:
            raise ValueError("files and topic are both set; the lines are read from one of them, so remove the other")
        return self


class ClusterSection(KafkaSection):
    """One Kafka cluster. The time-outs are those of its Connect workers."""

    name: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_printable)]
    source: Literal["log", "poll"] = LOG
    cluster_id: Annotated[str, Field(min_length=1)] | None = None
    connect: Annotated[dict[str, Annotated[ConnectSection, FromText]], FromText] = Field(default_factory=dict)
    client_libraries: Annotated[dict[ClientId, ClientLibrary], FromText] = Field(default_factory=dict)
    own_assignors: Annotated[dict[GroupPattern, Annotated[Meant, FromText]], FromText] = Field(default_factory=dict)
    streams: Annotated[dict[str, Annotated[StreamsSection, FromText]], FromText] = Field(default_factory=dict)
    session_timeout_ms: Milliseconds = SESSION_TIMEOUT_MS
    rebalance_timeout_ms: Milliseconds = REBALANCE_TIMEOUT_MS
    coordinator_log: CoordinatorLogSection = CoordinatorLogSection()

    @model_validator(mode="after")
    def _needs_the_log(self) -> Self:
        log = self.coordinator_log
        if self.source == POLL and (log.files or log.topic is not None):
            key = "files" if log.files else "topic"
            raise ValueError(
                f"coordinator_log.{key} needs source: log, because brokers that are polled do not say a generation's "
                f"number; remove the {key}"
            )
        return self

    def core(self) -> ClusterSettings:
        """This cluster as the fold sees it, before the sections that hold for all clusters have their say."""
        return self.core_value(
            ClusterSettings,
            polled=self.source == POLL,
            connect={group: section.core(group) for group, section in self.connect.items()},
            streams={group: section.core() for group, section in self.streams.items()},
        )
