"""What is declared of an alert rule about the monitor."""

from dataclasses import dataclass

from rebalance_monitor.streaming.core.incidents.own_alerts import OwnAlert


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One rule: what it says, and the expression that makes it fire."""

    own: OwnAlert
    expr: str
