"""How history ends, made from the configuration."""

from typing import TYPE_CHECKING

from rebalance_monitor.streaming.config.settings import Settings

if TYPE_CHECKING:
    from rebalance_monitor.streaming.metrics.prometheus import Exporter
    from rebalance_monitor.streaming.store.history import HistoryKeeper


def history(settings: Settings, dsn: str, exporter: "Exporter") -> "HistoryKeeper":
    """Not started yet."""
    from rebalance_monitor.streaming.store.archive import ParquetArchive
    from rebalance_monitor.streaming.store.history import HistoryKeeper
    from rebalance_monitor.streaming.store.retention import Kept

    storage = settings.storage
    kept = Kept(days=storage.keep_days(), max_bytes=storage.max_bytes, summary_days=storage.summary_days())
    archive = None if storage.archive is None else ParquetArchive(storage.archive)
    return HistoryKeeper(dsn, kept, exporter, exporter, archive)
