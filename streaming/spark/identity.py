"""Whether the brokers that answer are those of the Kafka cluster that is meant."""

from collections.abc import Callable

from rebalance_monitor.streaming.config.clusters import ClusterSection
from .failures import ClusterRefused
from .job import log_event


def identified(section: ClusterSection, id_: str, identify: Callable[..., str | None]) -> None:
    """ClusterRefused where another Kafka cluster answers than the one that is meant: what is kept of the groups of one
    would be taken for the past of the other's."""
    if section.cluster_id not in (None, id_):
        raise ClusterRefused(
            f"the brokers of cluster {section.name} say that its id is {id_}, and clusters[].cluster_id is "
            f"{section.cluster_id}; correct bootstrap_servers or cluster_id"
        )
    before = identify(id_, begin_anew=section.cluster_id is not None)
    if before is not None and section.cluster_id is None:
        raise ClusterRefused(
            f"cluster {section.name} was the Kafka cluster {before}, and its brokers now say {id_}; correct "
            f"bootstrap_servers, give the other one a name of its own, or set its clusters[].cluster_id to {id_}: then "
            "its groups begin anew under this name"
        )
    if before is not None:
        log_event("cluster_begins_anew", cluster=section.name, cluster_id=id_, before=before)
