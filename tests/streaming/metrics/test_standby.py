"""What a job says of clusters that another job judges."""

from rebalance_monitor.streaming.metrics.prometheus import Exporter
from tests.streaming.metrics.test_prometheus import past, status


def test_a_standby_says_so_and_publishes_no_incident() -> None:
    exporter = Exporter(0, clusters=["a"])
    try:
        exporter.trouble("a", "no broker answers")
        exporter.stands_by("a", "process 7 on host-1")
        told: dict[str, object] = {"a": "stands by: process 7 on host-1 judges this cluster"}
        assert exporter.readiness() == (False, {"ready": False, "standby": True, "clusters": told})
        assert b'rebalance_monitor_standby{cluster="a"} 1.0' in exporter.scrape()
        exporter.trouble("a", "no broker answers")
        assert exporter.readiness()[1]["clusters"] == {"a": "no broker answers"}, "it could not take over"
        exporter.stands_by("a", None)
        assert not exporter.readiness()[0], "its past is not published yet"
        exporter.restore(past("a"))
        exporter.reader("a", status())
        assert exporter.readiness() == (True, {"ready": True, "clusters": {}})
        assert b'rebalance_monitor_standby{cluster="a"} 0.0' in exporter.scrape()
    finally:
        exporter.stop()


def test_a_cluster_that_another_job_judges_leaves_the_job_ready() -> None:
    """As when SIGHUP adds a cluster that another job has."""
    exporter = Exporter(0, clusters=["a"])
    try:
        exporter.restore(past("a"))
        exporter.reader("a", status())
        exporter.watch("b")
        exporter.stands_by("b", "process 7 on host-1")
        ready, told = exporter.readiness()
        assert (ready, told["clusters"]) == (True, {"b": "stands by: process 7 on host-1 judges this cluster"})
        assert "standby" not in told
    finally:
        exporter.stop()


def test_who_never_stood_by_keeps_its_trouble() -> None:
    """A cluster that refuses the job is begun again and again; what it refuses is told once."""
    exporter = Exporter(0, clusters=["a"])
    try:
        exporter.trouble("a", "the password is wrong")
        exporter.stands_by("a", None)
        assert exporter.readiness()[1]["clusters"] == {"a": "the password is wrong"}
    finally:
        exporter.stop()
