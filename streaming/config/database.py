"""Where results, states and positions are kept."""

from typing import Annotated

from pydantic import Field, SecretStr

from streaming.config.section import Milliseconds, Section


class DatabaseSection(Section):
    """PostgreSQL. The connection texts are secrets because they may carry a password.

    `maintenance_dsn`: the role that `rebalance-monitor maintenance` writes as; None: the monitor's own.
    """

    dsn: SecretStr | None = None
    maintenance_dsn: SecretStr | None = None
    connect_timeout_ms: Milliseconds = 5_000
    undecodable_kept: Annotated[int, Field(ge=0)] = 100
