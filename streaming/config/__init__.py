"""The configuration: one file per concern, read by `load`. Frozen once loaded; secrets never print."""

from .loading import load
from .section import ConfigError
from .settings import Settings

__all__ = ["ConfigError", "Settings", "load"]
