"""This monitor's version. Nothing else is imported, so that asking for it takes no time."""

from importlib.metadata import PackageNotFoundError, version


def package_version() -> str:
    """As installed; "" where it is not."""
    try:
        return version("rebalance-monitor")
    except PackageNotFoundError:
        return ""
