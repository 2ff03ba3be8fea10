"""What `run` needs beyond values that are valid one by one; known without asking a cluster or a database."""

from rebalance_monitor.streaming.config.database import EXAMPLE
from rebalance_monitor.streaming.config.settings import Settings


def lacking(settings: Settings) -> list[str]:
    """One sentence for each reason why `run` would refuse these settings; empty where it would start."""
    problems = []
    if not settings.clusters:
        problems.append("clusters is empty, so there is nothing to watch; list at least one cluster")
    if len(settings.clusters) > 1:
        problems.append(
            f"clusters lists {len(settings.clusters)} clusters, one job watches exactly one; "
            "run one job per cluster, each with its own database"
        )
    if settings.database.dsn is None:
        problems.append(f"database.dsn is missing; {EXAMPLE}")
    return problems
