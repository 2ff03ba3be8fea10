"""Where results, states and positions are kept."""

from typing import Annotated

from pydantic import Field, SecretStr

from streaming.config.section import Milliseconds, Section


class DatabaseSection(Section):
    """PostgreSQL. The connection text is a secret because it may carry a password."""

    dsn: SecretStr | None = None
    connect_timeout_ms: Milliseconds = 5_000
    undecodable_kept: Annotated[int, Field(ge=0)] = 100
