"""What is asked of brokers beside the topics that are read."""

from typing import Annotated

from pydantic import Field

from rebalance_monitor.streaming.config.section import FromText, Pattern, Section


class PollingSection(Section):
    """`topics`: whether brokers are asked for partition counts and racks, every `topics_every_ms` at least;
    `group_states`: whether they are asked which groups rebalance, every `group_states_every_ms`; `groups_every_ms`: how
    often for all groups, on a cluster whose source is `poll`; `progress`: whether they are asked for committed offsets
    and end offsets, every `progress_every_ms`, of groups that match `progress_groups` and of groups with an open
    incident."""

    topics: bool = True
    topics_every_ms: Annotated[int, Field(ge=1_000, le=300_000)] = 30_000
    group_states: bool = True
    group_states_every_ms: Annotated[int, Field(ge=1_000, le=300_000)] = 10_000
    groups_every_ms: Annotated[int, Field(ge=1_000, le=300_000)] = 10_000
    progress: bool = True
    progress_every_ms: Annotated[int, Field(ge=1_000, le=300_000)] = 30_000
    progress_groups: Annotated[tuple[Pattern, ...], FromText] = ()
