"""How a Kafka cluster is reached: addresses, and librdkafka's properties with their credentials hidden."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from streaming.config.section import FromText, Section
from streaming.core.topic_names import why_illegal

# The monitor sets these itself: a user's value would make it join a group, commit, or miss records.
OWNED_BY_MONITOR = frozenset(
    {"bootstrap.servers", "group.id", "isolation.level", "enable.auto.commit", "auto.offset.reset"}
)
# librdkafka's properties that carry a credential; matched as parts of the name.
SECRET_PARTS = ("password", "secret", "ssl.key.pem", "sasl.oauthbearer.config", "ssl.keystore.pem")


def _is_topic(name: str) -> str:
    why = why_illegal(name)
    if why is not None:
        raise ValueError(f"no topic can have this name ({why})")
    return name


TopicName = Annotated[str, AfterValidator(_is_topic)]


def _client_properties(value: Any) -> Any:
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


class KafkaSection(Section):
    """The brokers, and who asks them. Base of whatever names a cluster."""

    bootstrap_servers: Annotated[str, Field(pattern=r"^[^\s,]+:\d+(,[^\s,]+:\d+)*$")]
    client: Annotated[dict[str, str | SecretStr], BeforeValidator(_client_properties), FromText] = Field(
        default_factory=dict
    )

    def librdkafka(self) -> dict[str, str]:
        """Properties for a librdkafka client, credentials in clear: never print or log the result."""
        return {"bootstrap.servers": self.bootstrap_servers, **in_clear(self.client)}
