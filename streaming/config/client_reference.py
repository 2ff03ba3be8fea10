"""A Kafka client's properties as they may travel: without credentials, which the process that connects reads itself.

    driver        properties that are shown, names of the hidden ones, where the configuration is   -> plan of the query
    task, reader  the same, and the hidden values from the configuration and the environment there  -> librdkafka

A client without credentials needs no configuration where it connects, and imports nothing of it: each start of a query
has a few processes that only parse this.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .clusters import ClusterSection


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientReference:
    """`shown`: properties with their values; `hidden`: names of those whose values are credentials. `config`: the file
    (None: the environment alone) whose cluster of the name `cluster` holds them."""

    shown: Mapping[str, str]
    hidden: tuple[str, ...] = ()
    config: str | None = None
    cluster: str = ""

    @classmethod
    def of(cls, section: "ClusterSection", config: str | None) -> "ClientReference":
        from pydantic import SecretStr

        hidden = {name: value for name, value in section.client.items() if isinstance(value, SecretStr)}
        whole = section.librdkafka()
        return cls(
            shown={name: value for name, value in whole.items() if name not in hidden},
            hidden=tuple(sorted(hidden)),
            config=config,
            cluster=section.name,
        )

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> "ClientReference":
        """From what JSON made of it."""
        return cls(shown=raw["shown"], hidden=tuple(raw["hidden"]), config=raw["config"], cluster=raw["cluster"])

    def librdkafka(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Credentials in clear: never print or log the result. ConfigError where the configuration lacks them."""
        if not self.hidden:
            return dict(self.shown)
        from .loading import load
        from .section import ConfigError

        found = {one.name: one for one in load(self.config, environ).clusters}.get(self.cluster)
        there = {} if found is None else found.librdkafka()
        if lacking := [name for name in self.hidden if name not in there]:
            raise ConfigError(
                f"{self.config or 'the environment'}: cluster {self.cluster} has no client property {lacking[0]}, with "
                "which the job was started; write it there, or send the job SIGHUP"
            )
        return {**self.shown, **{name: there[name] for name in self.hidden}}
