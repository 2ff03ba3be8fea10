"""Which way an incident reaches people. Exactly one way pages, so nobody is called twice for one thing.

Webhooks and the topic of alerts go along with either way: they carry the same transitions to programs.
"""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator

from streaming.config.clusters import client_properties, in_clear
from streaming.config.owners import DampingByRule
from streaming.config.section import FromText, HttpUrl, Milliseconds, Section
from streaming.core.runbooks import RUNBOOKS

_URL = re.compile(r"https?://[^\s/]+(/\S*)?")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def _is_url(value: SecretStr) -> SecretStr:
    if not _URL.fullmatch(value.get_secret_value()):
        raise ValueError("must be a URL such as https://host/path")
    return value


SecretUrl = Annotated[SecretStr, AfterValidator(_is_url)]
"""A URL whose path may be the credential, as with many hosted receivers; never shown, logged or stored."""


class WebhookSection(Section):
    """One receiver of every transition as JSON. `name` is how rows and the log call it."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,100}$")]
    url: SecretUrl
    headers: Annotated[dict[str, SecretStr], FromText] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _sendable(self) -> Self:
        for header, value in self.headers.items():
            if not _HEADER.fullmatch(header) or not value.get_secret_value().isprintable():
                raise ValueError(f"the header {header!r} or its value can't be sent; use printable characters")
        return self


class AlertsTopicSection(Section):
    """A topic of Kafka that gets every transition, with credentials of its own: they write, the monitor's only read."""

    bootstrap_servers: Annotated[str, Field(pattern=r"^[^\s,]+:\d+(,[^\s,]+:\d+)*$")]
    topic: Annotated[str, Field(pattern=r"^_?[A-Za-z0-9.-][A-Za-z0-9._-]{0,247}$")]
    client: Annotated[dict[str, str | SecretStr], BeforeValidator(client_properties), FromText] = Field(
        default_factory=dict
    )

    def librdkafka(self) -> dict[str, str]:
        """Properties for a producer, credentials in clear: never print or log the result."""
        return {"bootstrap.servers": self.bootstrap_servers, **in_clear(self.client)}


class AlertingSection(Section):
    """`prometheus`: rules on the published gauge. `push`: straight to every listed Alertmanager."""

    path: Literal["prometheus", "push"] = "prometheus"
    alertmanagers: Annotated[tuple[HttpUrl, ...], FromText] = ()
    generator_url: HttpUrl | None = None
    runbooks_url: Annotated[str, Field(pattern=r"^\S+$")] = RUNBOOKS
    resend_ms: Milliseconds = 300_000
    # Alertmanager resolves an alert by itself at endsAt, so it must outlive a restart of the monitor.
    ends_ahead_ms: Annotated[int, Field(ge=900_000)] = 1_200_000
    damping: DampingByRule = Field(default_factory=dict)
    webhooks: Annotated[tuple[Annotated[WebhookSection, FromText], ...], FromText] = ()
    kafka: Annotated[AlertsTopicSection, FromText] | None = None
    heartbeat_url: SecretUrl | None = None
    heartbeat_method: Literal["GET", "POST"] = "GET"
    heartbeat_every_ms: Annotated[int, Field(ge=1_000)] = 60_000

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.path == "push" and not self.alertmanagers:
            raise ValueError("path is push, so alertmanagers must list at least one URL")
        if self.ends_ahead_ms - self.resend_ms < 900_000:
            raise ValueError("ends_ahead_ms must exceed resend_ms by at least 900000 (15 minutes)")
        names = [one.name for one in self.webhooks]
        if len(set(names)) < len(names):
            raise ValueError("two webhooks share a name; give each its own")
        return self
