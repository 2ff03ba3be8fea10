"""What commands with a configuration begin with: reading it, the database's address, the packages they need."""

import importlib
import os
import ssl

from rebalance_monitor.streaming.config.certificates import Certificate, Report
from rebalance_monitor.streaming.config.loading import load
from rebalance_monitor.streaming.config.section import ConfigError
from rebalance_monitor.streaming.config.sections import TlsSection
from rebalance_monitor.streaming.config.settings import Settings
from .exit_codes import InputError


def settings_from(config: str | None) -> Settings:
    """The settings of a file, or of defaults, with the environment on top. InputError says what is wrong where."""
    try:
        return load(config, os.environ)
    except ConfigError as why:
        raise InputError(str(why)) from why


def source(config: str | None) -> str:
    """Where the settings come from, as the beginning of a sentence about them."""
    return config or "the environment (no --config is given)"


def certificate(name: str, tls: TlsSection | None, report: Report) -> ssl.SSLContext | None:
    """For a server's connections; None where it speaks plain HTTP. `report`: whenever the files have changed."""
    try:
        return None if tls is None else Certificate(name, tls, report).context
    except ConfigError as why:
        raise InputError(str(why)) from why


def database_dsn(settings: Settings, config: str | None) -> str:
    """Where the database is, password included: for connecting only."""
    if settings.database.dsn is None:
        raise InputError(f"{source(config)}: database.dsn is missing; give a PostgreSQL connection text")
    return settings.database.dsn.get_secret_value()


def need(extra: str, *packages: str) -> None:
    """InputError when a package of an extra is not installed. They are imported here: only trying tells for sure."""
    try:
        for package in packages:
            importlib.import_module(package)
    except ImportError as why:
        raise InputError(f"{why.name} is not installed; install rebalance-monitor[{extra}]") from why
