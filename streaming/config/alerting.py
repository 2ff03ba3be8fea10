"""Which way an incident reaches people. Exactly one way pages, so nobody is called twice for one thing."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from streaming.config.owners import DampingByRule
from streaming.config.section import FromText, HttpUrl, Milliseconds, Section


class AlertingSection(Section):
    """`prometheus`: rules on the published gauge. `push`: straight to every listed Alertmanager."""

    path: Literal["prometheus", "push"] = "prometheus"
    alertmanagers: Annotated[tuple[HttpUrl, ...], FromText] = ()
    generator_url: HttpUrl | None = None
    resend_ms: Milliseconds = 300_000
    # Alertmanager resolves an alert by itself at endsAt, so it must outlive a restart of the monitor.
    ends_ahead_ms: Annotated[int, Field(ge=900_000)] = 1_200_000
    damping: DampingByRule = Field(default_factory=dict)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.path == "push" and not self.alertmanagers:
            raise ValueError("path is push, so alertmanagers must list at least one URL")
        if self.ends_ahead_ms - self.resend_ms < 900_000:
            raise ValueError("ends_ahead_ms must exceed resend_ms by at least 900000 (15 minutes)")
        return self
