"""What is asked of brokers beside the topics that are read."""

from typing import Annotated

from pydantic import Field

from rebalance_monitor.streaming.config.section import Section


class PollingSection(Section):
    """`topics`: whether brokers are asked for partition counts and racks, every `topics_every_ms` at least;
    `group_states`: whether they are asked which groups rebalance, every `group_states_every_ms`; `groups_every_ms`: how
    often for all groups, on a cluster whose source is `poll`."""

    topics: bool = True
    topics_every_ms: Annotated[int, Field(ge=1_000, le=300_000)] = 30_000
    group_states: bool = True
    group_states_every_ms: Annotated[int, Field(ge=1_000, le=300_000)] = 10_000
    groups_every_ms: Annotated[int, Field(ge=1_000, le=300_000)] = 10_000
