"""The configuration: one file per concern, read by `load`. Frozen once loaded; secrets never print."""

from streaming.config.errors import ConfigError
from streaming.config.loading import load
from streaming.config.settings import Settings

__all__ = ["ConfigError", "Settings", "load"]
