"""The configuration: one file per concern, read by `load`. Frozen once loaded; secrets never print."""

from rebalance_monitor.streaming.config.errors import ConfigError
from rebalance_monitor.streaming.config.loading import load
from rebalance_monitor.streaming.config.settings import Settings

__all__ = ["ConfigError", "Settings", "load"]
