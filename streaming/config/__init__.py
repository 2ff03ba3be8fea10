"""The configuration: one file per concern, read by `load`. Frozen once loaded; secrets never print."""

from streaming.config.loading import ConfigError, load
from streaming.config.settings import Settings

__all__ = ["ConfigError", "Settings", "load"]
