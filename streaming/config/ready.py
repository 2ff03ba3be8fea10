"""When the monitor calls itself ready."""

from typing import Annotated

from pydantic import Field

from rebalance_monitor.streaming.config.section import Section


class ReadySection(Section):
    """`max_lag_s`: ready while everything is committed up to the end offsets of so many seconds ago."""

    max_lag_s: Annotated[float, Field(ge=1, le=3600)] = 10.0
