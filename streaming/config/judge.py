"""How patient the judge is."""

from typing import Annotated

from pydantic import Field

from rebalance_monitor.streaming.config.section import LONGEST_MS, Section
from rebalance_monitor.streaming.core.model.settings import (
    CRASH_LOOP_MS,
    CRASH_LOOP_RETURNS,
    JUDGE_WAIT_MS,
    RESTART_LOOP_CHANGES,
    RESTART_LOOP_MS,
    SETTLE_MS,
    START_WAIT_MS,
    STATUS_LAG_MS,
)


class JudgeSection(Section):
    """How long a generation may wait for records of other topics before it is final as not judged.

    `status_lag_ms`: how far behind the clock statuses are told, for clocks differ; `settle_ms`: after a generation,
    until its last word; `start_wait_ms`: how long a worker may take to start what it holds (CONNECT-K4). More than
    `restart_loop_changes` changes of one task between FAILED, RESTARTING and RUNNING within `restart_loop_ms` are a
    restart loop (CONNECT-K20). A member of a group that comes back `crash_loop_returns` times within `crash_loop_ms` is
    in a crash loop (GROUP-G5).
    """

    wait_ms: Annotated[int, Field(ge=0, le=LONGEST_MS)] = JUDGE_WAIT_MS
    status_lag_ms: Annotated[int, Field(ge=0, le=LONGEST_MS)] = STATUS_LAG_MS
    settle_ms: Annotated[int, Field(ge=0, le=LONGEST_MS)] = SETTLE_MS
    start_wait_ms: Annotated[int, Field(ge=0, le=LONGEST_MS)] = START_WAIT_MS
    restart_loop_changes: Annotated[int, Field(ge=1, le=1_000)] = RESTART_LOOP_CHANGES
    restart_loop_ms: Annotated[int, Field(ge=1_000, le=LONGEST_MS)] = RESTART_LOOP_MS
    crash_loop_returns: Annotated[int, Field(ge=2, le=100)] = CRASH_LOOP_RETURNS
    crash_loop_ms: Annotated[int, Field(ge=60_000, le=LONGEST_MS)] = CRASH_LOOP_MS
