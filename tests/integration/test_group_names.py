"""Group ids that no topic can be named after: any client may join so, and the rest of the cluster is still watched."""

from contextlib import ExitStack

import pytest

from lab.ports import free_ports
from lab.simulated_group.members import SimulatedGroup
from tests.integration.watched import Watched
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
GROUPS = ("my connect", "ünï", "with/slash", "x" * 300, "y" * 245)


def test_a_connect_group_of_any_name_leaves_the_cluster_watched(watched: Watched) -> None:
    watched.rebalance("before")
    with watched.job("names") as job, ExitStack() as members:
        watched.wait_ready(job)
        watched.wait_for_group("before", job)
        for group in GROUPS:
            (port,) = free_ports(1)
            members.enter_context(
                SimulatedGroup(watched.broker.address, group, workers=1, connectors={"c": 2}, first_port=port)
            )
        for group in GROUPS:
            watched.wait_for_group(group, job)

        def named() -> set[str]:
            reasons = watched.readiness()[1].get("degraded", {}).get("own", [])
            return {reason for reason in reasons if ": invalid_name: " in reason}

        # The config and the status topic of each; `y…-status` has 252 characters.
        watched.lab.wait_for("every illegal name is named", lambda: len(named()) == 10, job, PATIENCE_S)
        assert {reason.partition(": ")[0] for reason in named()} == {
            group + suffix for group in GROUPS for suffix in ("-configs", "-status")
        }
        watched.rebalance("after")
        watched.wait_for_group("after", job)
        watched.wait_ready(job)
    # A start has the topics of all known groups to ask for at once.
    with watched.job("names-again") as job:
        watched.wait_ready(job)
        watched.rebalance("after-restart")
        watched.wait_for_group("after-restart", job)
        assert "gives no answer" not in job.log.read_text()
