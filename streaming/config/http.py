"""The address of /metrics, /healthz and /readyz."""

from typing import Annotated

from pydantic import Field

from rebalance_monitor.streaming.config.section import Port, Section


class HttpSection(Section):
    """Loopback unless told otherwise: the pages name groups and hosts."""

    host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    port: Port = 9470
