"""The one failure of reading a configuration."""


class ConfigError(Exception):
    """The configuration can't be used. The text says where, what is wrong and what to do; one problem a line."""
