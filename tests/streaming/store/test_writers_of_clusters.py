"""Each cluster has a writer of its own: a job that takes over one cluster takes nothing of the others."""

from dataclasses import replace

import pytest

from rebalance_monitor.streaming.core.fold.state import STATE_VERSION
from rebalance_monitor.streaming.core.incidents.maintenance import Maintenance
from rebalance_monitor.streaming.core.ports import Deposed, GroupKey
from rebalance_monitor.streaming.notify.delivery import Delivery
from rebalance_monitor.streaming.notify.webhook import Webhook
from rebalance_monitor.streaming.store.maintenance import Windows
from rebalance_monitor.streaming.store.outbox import waiting
from rebalance_monitor.streaming.store.postgres import PostgresStore
from rebalance_monitor.streaming.store.writer import check_epoch, clusters_of
from tests.streaming.builders import PARTITION, commit, incident, state
from tests.streaming.notify.receiver import receiving
from tests.waiting import until

pytestmark = pytest.mark.postgres
OTHERS = replace(incident("fired", incident_id="i2"), cluster="d")


def test_who_claims_a_cluster_deposes_its_writer_and_no_other(store: PostgresStore, dsn: str) -> None:
    other = PostgresStore(dsn, "d")
    first, of_other = store.claim(), other.claim()
    with store.database.session() as connection:
        assert clusters_of(connection, [first, of_other]) == ["c", "d"]
        second = store.claim()
        assert clusters_of(connection, [first, of_other]) == ["d"]
        check_epoch(connection, of_other)
        with pytest.raises(Deposed, match="another job has taken over"):
            check_epoch(connection, first)
    assert len({first, of_other, second}) == 3
    other.close()


def test_two_jobs_of_one_database_notify_each_of_its_own_clusters(store: PostgresStore, dsn: str) -> None:
    other = PostgresStore(dsn, "d")
    first, of_other = store.claim(), other.claim()
    with receiving("/hook") as program:
        delivery = Delivery(dsn, [Webhook("chat", f"{program.url}/hook", {})])
        delivery.start([first])
        other.commit(commit(of_other, 0, 10, OTHERS, key=PARTITION._replace(cluster_id="k2")))
        store.commit(commit(first, 0, 10, incident("fired")))
        until(lambda: len(program.requests) == 1)
        delivery.stop()
    assert [key for key, _ in program.requests] == ["i1:fired"]
    with store.database.session() as connection:
        assert [one.key for one in waiting(connection, "webhook:chat", ["c", "d"])] == ["i2:fired"]
        assert waiting(connection, "webhook:chat", ["c"]) == []
    other.close()


def test_a_cluster_that_is_watched_no_more_is_notified_of_no_more(store: PostgresStore, dsn: str) -> None:
    other = PostgresStore(dsn, "d")
    first, of_other = store.claim(), other.claim()
    epochs = {first: "c"}
    with receiving("/hook") as program:
        delivery = Delivery(dsn, [Webhook("chat", f"{program.url}/hook", {})])
        delivery.start(epochs)
        store.commit(commit(first, 0, 10, incident("fired")))
        until(lambda: len(program.requests) == 1)
        del epochs[first]  # and for a moment there is none
        store.commit(commit(first, 10, 20, incident("fired", incident_id="i3")))
        other.commit(commit(of_other, 0, 10, OTHERS, key=PARTITION._replace(cluster_id="k2")))
        epochs[of_other] = "d"
        until(lambda: len(program.requests) == 2)
        delivery.stop()
    assert [key for key, _ in program.requests] == ["i1:fired", "i2:fired"]
    other.close()


def test_what_is_told_again_and_muted_is_of_the_stores_cluster(dsn: str, store: PostgresStore) -> None:
    now_ms = 1_000
    window = Maintenance(cluster="*", groups="*", owner="jane", reason="upgrade", from_ms=1, until_ms=2_000)
    other = PostgresStore(dsn, "d", windows=Windows((window,)), now_ms=lambda: now_ms)
    first, of_other = store.claim(), other.claim()
    store.commit(commit(first, 0, 10, incident("fired")))
    other.commit(replace(commit(of_other), ranges={}))
    assert [(one.cluster, one.incident_id) for one in store.open_incidents()] == [("c", "i1")]
    assert other.open_incidents() == []
    with store.database.session() as connection:
        assert connection.execute("select muted_by from rebalance_monitor.incidents").fetchall() == [(None,)]
    other.close()


def test_a_store_without_a_cluster_hushes_what_it_commits_all_the_same(dsn: str, store: PostgresStore) -> None:
    window = Maintenance(cluster="*", groups="*", owner="jane", reason="upgrade", from_ms=1, until_ms=2_000)
    of_a_task = PostgresStore(dsn, windows=Windows((window,)), now_ms=lambda: 1_000)
    epoch = store.claim()
    store.commit(commit(epoch, 0, 10, incident("fired")))
    of_a_task.commit(replace(commit(epoch, 10, 20, incident("updated")), ranges={}))
    with store.database.session() as connection:
        told = connection.execute("select key, done from rebalance_monitor.outbox").fetchall()
    assert told == [("i1:fired", True), ("i1:muted:config-jane-1", False)]
    of_a_task.close()


def test_another_kafka_cluster_is_noted_only_where_its_groups_begin_anew(store: PostgresStore) -> None:
    epoch, key = store.claim(), GroupKey("c", "g")
    assert store.identify(epoch, "k", begin_anew=False) is None
    store.commit(commit(epoch, 0, 10, states={key: state()}))
    assert store.identify(epoch, "k", begin_anew=True) is None, "it is the same one"
    assert store.due("c", 1) == []
    assert store.identify(epoch, "l", begin_anew=False) == "k"
    assert store.identify(epoch, "k", begin_anew=False) is None, "nothing was noted"
    assert store.identify(epoch, "l", begin_anew=True) == "k"
    assert store.identify(epoch, "l", begin_anew=False) is None
    assert store.due("c", 1) == [key], "what it left open has to end"
    assert store.load([key])[key].version != STATE_VERSION
