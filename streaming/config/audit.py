"""The audit of what is published, in a process of its own; needs the extra [audit]."""

from pathlib import Path

from rebalance_monitor.streaming.config.database import Dsn
from rebalance_monitor.streaming.config.section import Milliseconds, Section


class AuditSection(Section):
    """`every_ms` None: `run` never audits. `timeout_ms`: an audit of `run` that takes longer is killed.
    `dsn`: a role that may only read; None: the monitor's own, read-only."""

    every_ms: Milliseconds | None = 3_600_000
    timeout_ms: Milliseconds = 900_000
    statement_timeout_ms: Milliseconds = 60_000
    dsn: Dsn | None = None
    data_docs_dir: Path | None = None
