"""The first question that is asked of the cluster, before Spark's start."""

import logging
from collections.abc import Callable, Mapping

from rebalance_monitor.streaming.config.clusters import ClusterSection
from .ends import AccessRefused, ClientRefused, ClusterError, KafkaView
from .failures import ClusterRefused
from .stopping import Stopping

log = logging.getLogger("rebalance_monitor.job")

FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 30.0
Ask = Callable[[Mapping[str, str]], str]
"""Properties of a client -> the cluster's own id. Raises ClusterError, ClientRefused."""
Trouble = Callable[[str, str | None], None]
"""Is told why a cluster is not read now; None when it is again."""


def id_of_cluster(client: Mapping[str, str]) -> str:
    """What the cluster itself says."""
    return KafkaView(client).cluster_id()


def cluster_id(section: ClusterSection, trouble: Trouble, stop: Stopping, ask: Ask = id_of_cluster) -> str | None:
    """The cluster's own id, however long no broker answers: a broker may be starting, too. None after a signal;
    ClusterRefused where trying again is no use."""
    pause_s = FIRST_PAUSE_S
    while not stop:
        try:
            found = ask(section.librdkafka())
        except AccessRefused as why:
            raise ClusterRefused(
                f"cluster {section.name}: {section.bootstrap_servers} refuses this client ({why}); correct "
                "clusters[].client, or what the cluster knows of its user"
            ) from why
        except ClusterError as why:
            said = f"no broker answers at {section.bootstrap_servers} ({why}); is clusters[].bootstrap_servers right?"
            if pause_s == FIRST_PAUSE_S:
                log.warning("does_not_read", extra={"fields": {"cluster": section.name, "why": said}})
            trouble(section.name, said)
            stop.wait(pause_s)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
        except ClientRefused as why:
            said = f"cluster {section.name}: clusters[].client is not accepted ({why}); correct it"
            raise ClusterRefused(said) from why
        else:
            trouble(section.name, None)
            return found
    return None
