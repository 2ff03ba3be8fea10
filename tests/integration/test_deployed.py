"""What deploy/ gives the monitor is enough, and no more: the rights of the KafkaUser on a broker with ACLs, and the
pod's file system, which is read-only but for /tmp, for a user without rights.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.cluster import config_topic
from lab.paths import ROOT
from tests.integration.secured import Secured, client, secured
from tests.integration.watched import OURS, RUN
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
ACLS: list[dict[str, Any]] = yaml.safe_load(
    (ROOT / "deploy" / "strimzi" / "kafka-user.yaml").read_text(encoding="utf-8")
)["spec"]["authorization"]["acls"]
PASSWORD = "open sesame"
USERS = ["monitor", *(f"without{number}" for number in range(len(ACLS)))]
CONNECT, CONFIGS, STATUSES = "connect-sinks", "connect-sinks-configs", "connect-sinks-status"
READ_ONLY = 'mount -o remount,bind,ro / && mount -t tmpfs tmpfs /tmp && exec "$@"'
"""In a mount namespace of its own."""


@pytest.fixture(scope="module")
def stage() -> Iterator[Secured]:
    """User `monitor` has every right of the KafkaUser, `withoutN` all but the one at place N."""
    with secured("deployed", dict.fromkeys(USERS, PASSWORD)) as made:
        for name in USERS:
            for number, one in enumerate(ACLS):
                if name != f"without{number}":
                    grant(made, name, one)
        config_topic.create(made.watched.broker.address, {CONFIGS: 1, STATUSES: 1})
        made.watched.rebalance("orders")
        yield made


def grant(stage: Secured, user: str, acl: dict[str, Any]) -> None:
    kind, name = acl["resource"]["type"], acl["resource"].get("name", "kafka-cluster")
    for operation in acl["operations"]:
        stage.allow(user, "broker" if kind == "cluster" else kind, name, operation)


def sections(stage: Secured, user: str) -> dict[str, Any]:
    topics = {"config_topic": CONFIGS, "status_topic": STATUSES}
    given = {"name": "own", "bootstrap_servers": stage.address, "client": client(user, PASSWORD)}
    return {"clusters": [{**given, "connect": {CONNECT: topics}}], "spark": {"driver_memory": "700m"}}


def checked(stage: Secured, user: str) -> tuple[int, str]:
    """What `config check --connect` says of the user."""
    path = stage.watched.configuration(**sections(stage, user))
    command = [RUN[0], "config", "check", "--connect", "--config", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, env=OURS, check=False, timeout=PATIENCE_S)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def with_all(stage: Secured) -> str:
    """What is said with every right."""
    code, said = checked(stage, "monitor")
    assert code == 0, said
    return said


@pytest.mark.parametrize("number", range(len(ACLS)), ids=lambda number: str(ACLS[number]["resource"]))
def test_each_right_is_needed_and_all_are_enough(stage: Secured, with_all: str, number: int) -> None:
    _, said = checked(stage, f"without{number}")
    assert said.replace(f"without{number}", "monitor") != with_all


def pod(user: int) -> list[str]:
    """What starts a program in a mount namespace of its own, where only /tmp can be written, as this user, who is not
    root and may not become it. Whoever is not root is this user already.
    """
    here = ["sh", "-c", READ_ONLY, "sh"]
    if os.geteuid() != 0:
        return ["unshare", "--map-root-user", "--mount", *here]
    nobody = [f"--reuid={user}", f"--regid={user}", "--clear-groups", "--no-new-privs", "--bounding-set=-all"]
    return ["unshare", "--mount", *here, "setpriv", *nobody]


def test_it_runs_where_nothing_can_be_written_but_tmp(stage: Secured) -> None:
    watched = stage.watched
    config = watched.configuration(**sections(stage, "monitor"))
    user = watched.postgres.data.stat().st_uid  # the only one that reaches the server's socket
    shutil.chown(config, user)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": "/var/lib/rebalance-monitor"}
    with watched.process("pod", [*pod(user), *RUN, str(config)], environment) as job:
        watched.wait_ready(job)
        watched.wait_for_group("orders", job)
        assert not {"parts", "degraded"} & watched.readiness()[1].keys()
        mounts = Path(f"/proc/{job.process.pid}/mounts").read_text(encoding="utf-8")
        status = Path(f"/proc/{job.process.pid}/status").read_text(encoding="utf-8")
    assert user != 0
    assert f"Uid:\t{user}\t" in status
    assert re.search(r" / \w+ ro,", mounts)
    assert "Read-only file system" not in job.log.read_text(encoding="utf-8")
