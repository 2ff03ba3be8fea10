"""Which way an incident reaches people. Exactly one way pages, so nobody is called twice for one thing.

Webhooks and the topic of alerts go along with either way: they carry the same transitions to programs.
"""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, SecretStr, model_validator

from .groups import DampingByRule
from .kafka import KafkaSection
from .section import LONGEST_MS, FromText, HttpUrl, Milliseconds, Section, is_http_url

# Alertmanager resolves an alert by itself at endsAt, so what was pushed must outlive a restart of the monitor.
OUTLIVES_MS = 900_000
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def _is_url(value: SecretStr) -> SecretStr:
    if not is_http_url(value.get_secret_value()):
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


class AlertsTopicSection(KafkaSection):
    """A topic of Kafka that gets every transition, with credentials of its own: they write, the monitor's only read."""

    topic: Annotated[str, Field(pattern=r"^_?[A-Za-z0-9.-][A-Za-z0-9._-]{0,247}$")]


class AlertingSection(Section):
    """`prometheus`: rules on the published gauge. `push`: straight to every listed Alertmanager."""

    path: Literal["prometheus", "push"] = "prometheus"
    alertmanagers: Annotated[tuple[HttpUrl, ...], FromText] = ()
    generator_url: HttpUrl | None = None
    runbooks_url: HttpUrl | None = None
    resend_ms: Milliseconds = 300_000
    ends_ahead_ms: Annotated[int, Field(ge=OUTLIVES_MS, le=LONGEST_MS)] = 1_200_000
    damping: DampingByRule = Field(default_factory=dict)
    webhooks: Annotated[tuple[Annotated[WebhookSection, FromText], ...], FromText] = ()
    kafka: Annotated[AlertsTopicSection, FromText] | None = None
    heartbeat_url: SecretUrl | None = None
    heartbeat_method: Literal["GET", "POST"] = "GET"
    heartbeat_every_ms: Annotated[int, Field(ge=1_000, le=LONGEST_MS)] = 60_000

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.path == "push" and not self.alertmanagers:
            raise ValueError("path is push, so alertmanagers must list at least one URL")
        if self.ends_ahead_ms - self.resend_ms < OUTLIVES_MS:
            raise ValueError(f"ends_ahead_ms must exceed resend_ms by at least {OUTLIVES_MS} (15 minutes)")
        names = [one.name for one in self.webhooks]
        if len(set(names)) < len(names):
            raise ValueError("two webhooks share a name; give each its own")
        return self
