"""What the tests of telling share: a simulated Connect group whose leader goes wrong, and who was told what of it."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from lab.cluster import config_topic, workers
from lab.process import Child
from lab.receivers.alerting import Prometheus
from lab.receivers.hook_receiver import Inbox, Labels
from lab.sessions import end_session
from lab.simulated_group.leader import JAVA_VERSION
from lab.simulated_group.members import SimulatedGroup
from lab.simulated_group.rehearsal import TIMING as REHEARSED
from lab.simulated_group.status import VERSION
from lab.tiers import TIERS
from tests.integration.watched import Watched
from tests.waiting import PATIENCE_S

MAX_DELAY_MS = 1_000
# Nobody dies in these groups. A session that ended on a busy machine would make the leader repair what it did wrong
# before anybody was told.
TIMING = replace(REHEARSED, session_timeout_ms=120_000, rebalance_timeout_ms=120_000)
CONNECTORS = {"alpha": 4, "beta": 4}
LOUD = ("critical", "warning")
ONCE = ["firing", "resolved"]

_absent = next(tier for tier in TIERS if tier.name == "prometheus").missing()
needs_prometheus = pytest.mark.skipif(_absent is not None, reason=_absent or "")


def topics(group: str) -> dict[str, str]:
    return {"config_topic": workers.config_topic(group), "status_topic": workers.status_topic(group)}


def sections(watched: Watched, group: str, alerting: dict[str, Any]) -> dict[str, Any]:
    """The monitor's configuration for one Connect group.

    An imbalance is told as soon as it is seen; while the group heals, it may come and go without a new telling.
    """
    connect = {**topics(group), "release": VERSION, "java_version": JAVA_VERSION, "max_delay_ms": MAX_DELAY_MS}
    cluster = {
        "name": "own",
        "bootstrap_servers": watched.broker.address,
        "session_timeout_ms": TIMING.session_timeout_ms,
        "rebalance_timeout_ms": TIMING.rebalance_timeout_ms,
        "connect": {group: connect},
    }
    return {
        "clusters": [cluster],
        "alerting": {**alerting, "damping": {"imbalance": {"for_ms": 0, "keep_firing_ms": 5_000}}},
    }


@contextmanager
def simulated(watched: Watched, group: str) -> Iterator[SimulatedGroup]:
    """Three workers, calm."""
    bootstrap, names = watched.broker.address, topics(group)
    config_topic.create(bootstrap, {names["config_topic"]: 1, names["status_topic"]: 3})
    log = config_topic.ConfigLog(bootstrap, names["config_topic"])
    for name, tasks in CONNECTORS.items():
        log.create(name, tasks)
    with SimulatedGroup(
        bootstrap, group, workers=3, config=log, status_topic=names["status_topic"],
        max_delay_ms=MAX_DELAY_MS, timing=TIMING,
    ) as made:  # fmt: skip
        watched.lab.wait_for("a calm group", made.calm, timeout_s=PATIENCE_S)
        yield made


def spoil(watched: Watched, group: SimulatedGroup) -> None:
    """The leader hands out tasks that somebody else runs: certain duplicates, and an imbalance."""
    group.spoil()
    watched.lab.wait_for("a job held twice", group.broken, timeout_s=PATIENCE_S)


def heal(watched: Watched, group: SimulatedGroup) -> None:
    """Rounds until everything is held once."""

    def healed() -> bool:
        if group.settled() and not group.calm():
            group.rejoin()
        return group.calm()

    watched.lab.wait_for("the group healed", healed, timeout_s=PATIENCE_S)


def kill(job: Child) -> None:
    """SIGKILL to the monitor and all that belongs to it, as when its container is killed."""
    job.kill()
    end_session(job.pid)


def incidents(inbox: Inbox) -> dict[Labels, list[str]]:
    """What people were told of incidents that may concern them, by label set."""
    return {labels: statuses for labels, statuses in inbox.alerts().items() if loud(dict(labels))}


def all_passed_on(prometheus: Prometheus, inbox: Inbox) -> bool:
    """Whether everything that fires in Prometheus about incidents was told."""
    firing = {tuple(sorted(one["labels"].items())) for one in prometheus.firing() if loud(one["labels"])}
    return firing == {labels for labels, statuses in incidents(inbox).items() if statuses[-1] == "firing"}


def loud(labels: Mapping[str, str]) -> bool:
    """Whether an alert is about an incident that may concern people."""
    return labels["alertname"].startswith("Kafka") and labels["severity"] in LOUD


def rules_firing(inbox: Inbox) -> set[str]:
    """Rules whose incidents were told and have not ended for whoever was told."""
    return {dict(labels)["rule"] for labels, statuses in incidents(inbox).items() if statuses[-1] == "firing"}


def wait_told(watched: Watched, what: str, condition: Callable[[], bool], job: Child | None = None) -> None:
    watched.lab.wait_for(what, condition, job, PATIENCE_S)


def fired(watched: Watched, group: str) -> dict[str, str]:
    """Incidents of the group with a notification of their own, by the database: incident id -> alert severity."""
    with psycopg.connect(watched.postgres.dsn) as database:
        rows = database.execute(
            "select incident_id, alert"
            " from rebalance_monitor.incidents join rebalance_monitor.outbox o using (incident_id)"
            " where \"group\" = %s and o.transition = 'fired' and alert = any(%s)",
            (group, list(LOUD)),
        ).fetchall()
    return dict(rows)


def all_over(watched: Watched, group: str) -> bool:
    """Whether the database has no incident of the group that is being told."""
    with psycopg.connect(watched.postgres.dsn) as database:
        row = database.execute(
            'select count(*) from rebalance_monitor.incidents where "group" = %s and firing', (group,)
        ).fetchone()
    return row == (0,)
