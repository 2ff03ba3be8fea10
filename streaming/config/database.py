"""Where results, states and positions are kept."""

from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr

from rebalance_monitor.streaming.config.section import Milliseconds, Section

EXAMPLE = "give a PostgreSQL connection text such as postgresql://monitor@db/monitor"


def _given(text: SecretStr) -> SecretStr:
    """An empty one is what a script leaves where the secret is missing; libpq would take its own defaults for it."""
    if not text.get_secret_value().strip():
        raise ValueError(f"is empty; {EXAMPLE}")
    scheme, found, _ = text.get_secret_value().strip().partition("://")
    if found and scheme not in ("postgresql", "postgres") and "=" not in scheme:
        raise ValueError(f"is no connection text of PostgreSQL; {EXAMPLE}")
    return text


Dsn = Annotated[SecretStr, AfterValidator(_given)]
"""PostgreSQL's connection text, as an URL or as keys and values."""


class DatabaseSection(Section):
    """PostgreSQL. The connection texts are secrets because they may carry a password.

    `maintenance_dsn`: the role that `rebalance-monitor maintenance` writes as; None: the monitor's own.
    """

    dsn: Dsn | None = None
    maintenance_dsn: Dsn | None = None
    connect_timeout_ms: Milliseconds = 5_000
    undecodable_kept: Annotated[int, Field(ge=0)] = 100
