"""The demo's chain with processes of its own: a real broker, real Connect workers, PostgreSQL and the Spark job."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from lab.cluster import offsets_reader, workers
from lab.cluster.offsets_reader import Coordinates
from lab.demo import checker
from lab.demo.play import CONNECTORS, Play
from lab.demo.stage import GROUP, PORTS_NEEDED, SIMULATED, WORKERS, Ports, Stage
from lab.demo.story import Story
from lab.paths import BUILD
from lab.ports import free_ports
from lab.process import Progress
from lab.sessions import members
from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.config.loading import load
from tests.integration.watched import own_lab

pytestmark = pytest.mark.integration
FOLDER = BUILD / "integration"


@pytest.fixture
def stage() -> Iterator[Stage]:
    with own_lab(FOLDER.name, Progress()) as lab:
        made = Stage(lab, Ports.of(free_ports(PORTS_NEEDED)))
        made.start()
        yield made
        sessions = [child.pid for child in lab.children]
    assert [members(session) for session in sessions] == [[] for _ in sessions]
    assert not (FOLDER / "postgres" / "postmaster.pid").exists()


def command_line(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()


def assert_configured(stage: Stage) -> None:
    """A configuration that is made of what the cluster says names its Connect group with its topics."""
    wanted = FOLDER / "made.yaml"
    assert main(["config", "init", "--bootstrap-servers", stage.broker.address, "--out", str(wanted)]) == 0
    (cluster,) = load(wanted, {}).clusters
    named = cluster.connect[GROUP]
    assert named.config_topic == workers.config_topic(GROUP)
    assert named.status_topic == workers.status_topic(GROUP)


def test_every_rebalance_is_judged_and_survives_a_killed_job(stage: Stage) -> None:
    # These are the processes that the rest of the test is about.
    assert "kafka.Kafka" in command_line(stage.broker.child.pid)
    assert all("ConnectDistributed" in command_line(worker.child.pid) for worker in stage.workers)
    first_job = stage.job.pid
    assert "rebalance-monitor run" in command_line(first_job)
    assert any("org.apache.spark" in command_line(pid) for pid in members(first_job))

    assert_configured(stage)
    story = Story(stage.postgres.dsn, stage.lab.progress)
    agreed = Play(stage, story).act()
    assert agreed, "the checker found a difference, printed above"
    assert stage.job.pid != first_job

    own = {worker.address for worker in stage.workers}
    with psycopg.connect(stage.postgres.dsn) as database:
        seen = database.execute(
            "select distinct m.worker from rebalance_monitor.members m join rebalance_monitor.generations g"
            ' using (cluster, topic_id, partition, "offset") where g."group" = %s',
            (GROUP,),
        ).fetchall()
    assert {row[0] for row in seen} == own
    assert len(own) == WORKERS

    connect = story.of(GROUP)
    assert any("worker_l" in cause for one in connect for cause in one.causes), "nobody was seen to leave"
    assert any(one.delay_ms > 0 and one.missing for one in connect), "no delay was seen"
    assert connect[-1].members == WORKERS - 1
    assert all(name in connect[-1].held for name in CONNECTORS)
    assert not [one for one in connect if one.grade == "unexplained"]
    assert [one for one in story.of(SIMULATED) if one.grade == "unexplained"], "the wrong round was not noticed"

    def everything_told() -> bool:
        story.tell()
        records = offsets_reader.read(stage.broker.address)
        return {one.at for one in records if one.members > 0} == {Coordinates(*key) for key in story.generations}

    # The groups go on rebalancing when members leave at the end of the play, so the two are compared until they meet.
    stage.lab.wait_for("a told generation for each record with members", everything_told, stage.job)
    statuses = {entry["status"] for entry in checker.received(stage.receiver_url)}
    assert statuses == {"firing", "resolved"}
