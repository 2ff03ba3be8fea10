"""The page for people and the JSON API, served by a process of their own."""

from typing import Annotated, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from .section import FromText, HostName, HttpUrl, Pattern, Port, Section
from .sections import TlsSection, reached_at

SHORTEST_TOKEN = 16


class TokenSection(Section):
    """Who may read, and what: groups whose cluster and team match one pattern each. The text itself is a secret."""

    name: Annotated[str, Field(min_length=1)]
    token: SecretStr
    clusters: Annotated[tuple[Pattern, ...], FromText, Field(min_length=1)] = ("*",)
    teams: Annotated[tuple[Pattern, ...], FromText, Field(min_length=1)] = ("*",)

    @field_validator("token")
    @classmethod
    def _long(cls, token: SecretStr) -> SecretStr:
        if len(token.get_secret_value()) < SHORTEST_TOKEN:
            raise ValueError(f"a token needs at least {SHORTEST_TOKEN} characters; make one with: openssl rand -hex 16")
        return token


class PageSection(Section):
    """Loopback unless told otherwise: the page names groups and hosts. `hosts`: further names it is called by;
    `public_url`: the address in links of alerts, behind a proxy for example; `tls` None: plain HTTP.
    """

    enabled: bool = True
    host: HostName = "127.0.0.1"
    port: Port = 9471
    tls: Annotated[TlsSection | None, FromText] = None
    hosts: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], FromText] = ()
    public_url: HttpUrl | None = None
    monitor_url: HttpUrl | None = None
    tokens: Annotated[tuple[Annotated[TokenSection, FromText], ...], FromText] = ()

    @property
    def reached_at(self) -> str:
        """How people reach the page: `public_url`, else its own host and port."""
        own = reached_at(self.host, self.port, tls=self.tls is not None)
        return self.public_url if self.public_url is not None else own

    @model_validator(mode="after")
    def _once(self) -> Self:
        names = [one.name for one in self.tokens]
        secrets = [one.token.get_secret_value() for one in self.tokens]
        if len(set(names)) < len(names) or len(set(secrets)) < len(secrets):
            raise ValueError("two tokens share a name or a text; give each its own")
        return self
