"""Threads of clusters, without Spark: nobody answers at their addresses, or who answers refuses."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rebalance_monitor.streaming.config.settings import Settings
from rebalance_monitor.streaming.core.ports import Deposed
from rebalance_monitor.streaming.spark.clusters import Clusters
from rebalance_monitor.streaming.spark.failures import CannotRun, ClusterRefused
from rebalance_monitor.streaming.spark.identity import identified
from rebalance_monitor.streaming.spark.shared_session import SharedSession
from rebalance_monitor.streaming.spark.stopping import Stop
from rebalance_monitor.streaming.store.database import DatabaseUnreachable
from tests.waiting import until


class Told:
    """The observer."""

    def __init__(self) -> None:
        self.watched: list[str] = []
        self.troubles: dict[str, str | None] = {}

    def watch(self, cluster: str) -> None:
        self.watched.append(cluster)

    def forget(self, cluster: str) -> None:
        self.watched.remove(cluster)

    def trouble(self, cluster: str, problem: str | None) -> None:
        self.troubles[cluster] = problem


class Held:
    """Leases that other jobs hold; those of `lost` they have taken from this one."""

    def __init__(self, *lost: str) -> None:
        self._lost, self.given_up = lost, 0

    def want(self, cluster: str) -> None:
        pass

    def epoch(self, cluster: str) -> int | None:
        if cluster in self._lost:
            raise Deposed
        return None

    def holders(self, cluster: str) -> str | None:
        return "process 1 on elsewhere"

    def give_up(self, *clusters: str) -> None:
        self.given_up += 1


def settings(*names: str, port: int = 9, **sections: Any) -> Settings:
    clusters = [{"name": name, "bootstrap_servers": f"127.0.0.1:{port}"} for name in names]
    return Settings.model_validate({"clusters": clusters, **sections})


def refusing(*names: str) -> Callable[[str], Any]:
    """Where results go, but not for these clusters."""

    def serve(cluster: str) -> Any:
        if cluster in names:
            raise DatabaseUnreachable(f"{cluster} has no database")
        return nullcontext()

    return serve


@contextmanager
def running(
    given: Settings, tmp_path: Path, serve: Callable[[str], Any], leases: Held | None = None
) -> Iterator[tuple[Clusters, Told]]:
    told, stop, session = Told(), Stop(lambda number: None), SharedSession()
    leases = leases or Held()
    ports = SimpleNamespace(leases=leases, serve=serve, observer=told, forget=told.forget)
    some = Clusters(given, tmp_path, stop, session, ports)  # type: ignore[arg-type]
    try:
        yield some, told
    finally:
        stop.signals.append(15)
        some.wait()


def seen(some: Clusters) -> bool:
    """Looks; the condition that is waited for stands behind it."""
    some.look()
    return True


def test_what_one_refuses_is_told_of_it_and_the_others_go_on(tmp_path: Path) -> None:
    with running(settings("a", "b"), tmp_path, refusing("b")) as (some, told):
        some.look()
        until(lambda: seen(some) and told.troubles.get("b") == "b has no database")
        until(lambda: "no broker answers" in (told.troubles.get("a") or ""))
        assert told.watched == ["a", "b"]


def test_an_error_that_nobody_foresaw_is_told_without_its_text(tmp_path: Path) -> None:
    def serve(cluster: str) -> Any:
        if cluster == "b":
            raise ValueError("postgresql://user:stop_relaying@db/x")
        return nullcontext()

    with running(settings("a", "b"), tmp_path, serve) as (some, told):
        until(lambda: seen(some) and "ValueError at test_clusters.py" in (told.troubles.get("b") or ""))


@pytest.mark.parametrize("names", [("a",), ("a", "b")])
def test_the_job_ends_when_none_is_left_that_could_go_on(names: tuple[str, ...], tmp_path: Path) -> None:
    with running(settings(*names), tmp_path, refusing(*names)) as (some, _):
        with pytest.raises((CannotRun, DatabaseUnreachable)) as why:
            until(lambda: not seen(some))
        assert str(why.value).splitlines() == [f"{name} has no database" for name in names]


def test_those_that_the_configuration_names_are_watched(tmp_path: Path) -> None:
    with running(settings("a", "b"), tmp_path, refusing()) as (some, told):
        some.look()
        groups = [{"team": "t", "cluster": "b", "members_at_least": 2}]
        some.are_to_be(settings("b", "c", http={"port": 1}, groups=groups))
        until(lambda: seen(some) and sorted(told.watched) == ["b", "b", "c"])  # b has other entries, and begins again
        some.are_to_be(settings("b", "c", port=10))
        until(lambda: seen(some) and told.watched.count("c") == 2)


def test_one_cluster_under_two_names_is_refused(tmp_path: Path) -> None:
    with running(settings("a", "b"), tmp_path, refusing()) as (some, _):
        some._alone("a", "id")
        some._alone("a", "id")
        with pytest.raises(ClusterRefused, match="clusters a and b are one Kafka cluster"):
            some._alone("b", "id")


def test_a_job_that_lost_its_leases_ends_and_takes_none_again(tmp_path: Path) -> None:
    leases = Held("a")
    with (
        running(settings("a"), tmp_path, refusing(), leases) as (some, _),
        pytest.raises(CannotRun, match="another job has taken over cluster a, because this one did not renew"),
    ):
        until(lambda: not seen(some))
    assert leases.given_up == 1, "once all have come to their end"


@pytest.mark.parametrize(
    ("configured", "stored", "refused"),
    [
        (None, None, None),
        ("new", None, None),
        ("new", "old", None),
        (None, "old", "cluster a was the Kafka cluster old, and its brokers now say new; correct bootstrap_servers, "
         "give the other one a name of its own, or set its clusters[].cluster_id to new"),
        ("old", "old", "the brokers of cluster a say that its id is new, and clusters[].cluster_id is old"),
    ],
)  # fmt: skip
def test_another_kafka_cluster_under_the_same_name_is_refused_unless_it_is_meant(
    configured: str | None, stored: str | None, refused: str | None
) -> None:
    section = settings("a").clusters[0].model_copy(update={"cluster_id": configured})
    anew: list[bool] = []

    def identify(cluster_id: str, *, begin_anew: bool) -> str | None:
        anew.append(begin_anew)
        return stored

    if refused is None:
        identified(section, "new", identify)
        assert anew == [configured is not None]
    else:
        with pytest.raises(ClusterRefused, match=re.escape(refused)):
            identified(section, "new", identify)
