"""Which Kafka clusters to watch, how to reach them, and what is known about their Connect groups."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, SecretStr

from streaming.config.section import FromText, Milliseconds, Section
from streaming.core.settings import ClusterSettings, ConnectSettings

# The monitor sets these itself: a user's value would make it join a group, commit, or miss records.
OWNED_BY_MONITOR = frozenset(
    {"bootstrap.servers", "group.id", "isolation.level", "enable.auto.commit", "auto.offset.reset"}
)
# librdkafka's properties that carry a credential; matched as parts of the name.
SECRET_PARTS = ("password", "secret", "ssl.key.pem", "sasl.oauthbearer.config", "ssl.keystore.pem")


def client_properties(value: Any) -> Any:
    """Texts for librdkafka; credentials hidden from every print of the configuration."""
    if not isinstance(value, Mapping):
        return value
    clean: dict[str, Any] = {}
    for key, item in value.items():
        name = str(key)
        if name in OWNED_BY_MONITOR:
            raise ValueError(f"{name} is set by the monitor itself; remove it")
        if isinstance(item, SecretStr):
            clean[name] = item
            continue
        if item is None or isinstance(item, Mapping | list):
            raise ValueError(f"{name} must be a single text, number or boolean")
        text = str(item).lower() if isinstance(item, bool) else str(item)
        clean[name] = SecretStr(text) if any(part in name for part in SECRET_PARTS) else text
    return clean


def in_clear(client: Mapping[str, str | SecretStr]) -> dict[str, str]:
    """The properties with their credentials readable: never print or log the result."""
    return {key: value.get_secret_value() if isinstance(value, SecretStr) else value for key, value in client.items()}


Job = Annotated[str, Field(min_length=1)]
"""A connector's name, or `name-n` for its task."""
Worker = Annotated[str, Field(pattern=r"^[^\s/]+$")]
"""host:port as the worker advertises it, with * and ? as in file names."""


class ConnectSection(Section):
    """One Connect cluster. A value left null is treated as unknown, and verdicts that need it say so."""

    config_topic: str | None = None
    status_topic: str | None = None
    max_delay_ms: Annotated[int, Field(ge=0)] | None = None
    release: Annotated[str, Field(pattern=r"^\d+\.\d+(\.\d+)*$")] | None = None
    java_version: Annotated[int, Field(ge=7)] | None = None
    placements: Annotated[dict[Job, tuple[Worker, ...]], FromText] = Field(default_factory=dict)

    def core(self, group: str) -> ConnectSettings:
        """What the fold needs. Topics that are not named follow Connect's naming convention, marked as a guess."""
        return ConnectSettings(
            config_topic=self.config_topic or guessed_config_topic(group),
            status_topic=self.status_topic or guessed_status_topic(group),
            guessed_topics=self.config_topic is None or self.status_topic is None,
            max_delay_ms=self.max_delay_ms,
            release=self.release,
            java_version=self.java_version,
            placements=dict(self.placements),
        )


class ClusterSection(Section):
    """One Kafka cluster."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    bootstrap_servers: Annotated[str, Field(pattern=r"^[^\s,]+:\d+(,[^\s,]+:\d+)*$")]
    client: Annotated[dict[str, str | SecretStr], BeforeValidator(client_properties), FromText] = Field(
        default_factory=dict
    )
    connect: Annotated[dict[str, Annotated[ConnectSection, FromText]], FromText] = Field(default_factory=dict)
    session_timeout_ms: Milliseconds = 10_000
    rebalance_timeout_ms: Milliseconds = 60_000

    def librdkafka(self) -> dict[str, str]:
        """Properties for a librdkafka client, credentials in clear: never print or log the result."""
        return {"bootstrap.servers": self.bootstrap_servers, **in_clear(self.client)}

    def core(self, judge_wait_ms: int = 60_000) -> ClusterSettings:
        """This cluster as the fold sees it."""
        return ClusterSettings(
            name=self.name,
            connect={group: section.core(group) for group, section in self.connect.items()},
            judge_wait_ms=judge_wait_ms,
            session_timeout_ms=self.session_timeout_ms,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
        )


def guessed_config_topic(group: str) -> str:
    """The name most installations give to a Connect group's config topic (Kafka's own examples use `-configs`)."""
    return f"{group}-configs"


def guessed_status_topic(group: str) -> str:
    """The name most installations give to a Connect group's status topic."""
    return f"{group}-status"
