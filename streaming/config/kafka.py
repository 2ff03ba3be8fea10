"""How a Kafka cluster is reached: addresses, and librdkafka's properties with their credentials hidden."""

from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator

from rebalance_monitor.streaming.core.model.topic_names import why_illegal
from . import amazon
from .client_properties import checked, in_clear
from .section import HIGHEST_PORT, FromText, Section, shaped


def _is_topic(name: str) -> str:
    why = why_illegal(name)
    if why is not None:
        raise ValueError(f"no topic can have this name ({why})")
    return name


def _ports(servers: str) -> str:
    for server in servers.split(","):
        if not 0 < int(server.rpartition(":")[2]) <= HIGHEST_PORT:
            raise ValueError(f"names no port in {server}; a port is 1 to {HIGHEST_PORT}")
    return servers


BootstrapServers = Annotated[
    str,
    shaped(
        r"[^\s,]+:[0-9]{1,9}(,[^\s,]+:[0-9]{1,9})*", "host:port, or several without blanks: kafka-1:9092,kafka-2:9092"
    ),
    AfterValidator(_ports),
]
TopicName = Annotated[str, AfterValidator(_is_topic)]


class KafkaSection(Section):
    """The brokers, and who asks them. Base of whatever names a cluster."""

    bootstrap_servers: BootstrapServers
    client: Annotated[dict[str, str | SecretStr], BeforeValidator(checked), FromText] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _amazon(self) -> Self:
        if said := amazon.problem(self.client, self.bootstrap_servers):
            raise ValueError(said)
        return self

    def librdkafka(self) -> dict[str, str]:
        """Properties for a librdkafka client, credentials in clear: never print or log the result."""
        return {"bootstrap.servers": self.bootstrap_servers, **in_clear(self.client)}
