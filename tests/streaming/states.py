"""Looking into a stored state: its envelope, its bodies, its timers."""

from rebalance_monitor.streaming.core.connect.state import ConnectState
from rebalance_monitor.streaming.core.fold import timers
from rebalance_monitor.streaming.core.fold.intake import Intake
from rebalance_monitor.streaming.core.fold.state import Envelope, Saved, read, stored
from rebalance_monitor.streaming.core.lifecycles import REGISTRY
from rebalance_monitor.streaming.core.model.codec import dumps, loads
from rebalance_monitor.streaming.core.model.records import Tick
from rebalance_monitor.streaming.core.model.settings import ClusterSettings


def envelope_of(state: Saved | None) -> Envelope:
    """What is kept of every group."""
    return read(state)[0]


def connect_of(state: Saved | None) -> ConnectState:
    """What is kept of a Connect group."""
    text = read(state)[1].get("connect")
    return ConnectState() if text is None else loads(ConnectState, text)


def with_connect(state: Saved, connect: ConnectState) -> Saved:
    """The state with another body of its Connect group."""
    envelope, bodies = read(state)
    return stored(envelope, {**bodies, "connect": dumps(connect)})


def opened(settings: ClusterSettings, group: str, state: Saved | None, tick: Tick | None = None) -> Intake:
    """The group as a fold sees it before its first row."""
    return Intake(REGISTRY, settings, group, state, tick, finite=False)


def timer_ms(settings: ClusterSettings, group: str, state: Saved | None) -> int | None:
    """When the next timer of the group is due, by its coordinator's clock."""
    return timers.due_ms(opened(settings, group, state))
