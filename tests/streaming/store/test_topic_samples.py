"""What a store promises of topic samples, held by the one in PostgreSQL and the one in memory."""

from dataclasses import replace

import pytest

from rebalance_monitor.streaming.core.cluster.stored import StoredTopics, changed, history_from
from rebalance_monitor.streaming.core.cluster.topics import NO_SAMPLES, TopicSample
from rebalance_monitor.streaming.core.ports import Deposed, OutOfStep
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.streaming.builders import commit
from tests.streaming.spark.memory_store import MemoryStore, OwnStore

IDS = {"a": b"i" * 16}
FIRST = NO_SAMPLES.with_sample(
    TopicSample(1, 2, {"a": ((1, 2), (2,)), "ä": ((1,),)}, {1: "x"}, IDS, {"a": (7, 1 << 62)})
)
SECOND = FIRST.with_sample(TopicSample(3, 4, {"a": ((1, 2), (2,), (1,))}, {}, IDS, {"a": (8, 1 << 62, 0)}))


def stored(text: str, *, of: str = "k") -> StoredTopics:
    return StoredTopics(cluster_id=of, rows={"": text})


class TopicSamplesContract:
    """Rows are written with a batch or not at all, and are those of one cluster."""

    epoch: int

    @pytest.fixture
    def empty(self) -> OwnStore:
        raise NotImplementedError

    @pytest.fixture
    def claimed(self, empty: OwnStore) -> OwnStore:
        self.epoch = empty.claim()
        return empty

    def test_nothing_is_known_of_a_new_cluster(self, claimed: OwnStore) -> None:
        assert claimed.topic_samples("k") == {}

    def test_the_history_comes_back(self, claimed: OwnStore) -> None:
        claimed.commit(replace(commit(self.epoch, 0, 10), topics=changed("k", NO_SAMPLES, FIRST)))
        assert history_from(claimed.topic_samples("k")) == FIRST
        claimed.commit(replace(commit(self.epoch, 10, 20), topics=changed("k", FIRST, SECOND)))
        assert history_from(claimed.topic_samples("k")) == SECOND

    def test_forgotten_topics_are_deleted(self, claimed: OwnStore) -> None:
        claimed.commit(replace(commit(self.epoch, 0, 10), topics=changed("k", NO_SAMPLES, FIRST)))
        claimed.commit(replace(commit(self.epoch, 10, 20), topics=StoredTopics(cluster_id="k", gone=("ä", "never"))))
        assert claimed.topic_samples("k").keys() == {"", "a"}

    def test_clusters_are_apart(self, claimed: OwnStore) -> None:
        claimed.commit(replace(commit(self.epoch, 0, 10), topics=stored("one")))
        claimed.commit(replace(commit(self.epoch, 10, 20), topics=stored("other", of="l")))
        assert claimed.topic_samples("k") == {"": "one"}
        assert claimed.topic_samples("l") == {"": "other"}

    def test_a_batch_that_is_refused_writes_none(self, claimed: OwnStore) -> None:
        claimed.commit(replace(commit(self.epoch, 0, 10), topics=stored("before")))
        with pytest.raises(OutOfStep):
            claimed.commit(replace(commit(self.epoch, 30, 40), topics=stored("after")))
        assert claimed.topic_samples("k") == {"": "before"}
        claimed.claim()
        with pytest.raises(Deposed):
            claimed.commit(replace(commit(self.epoch, 10, 20), topics=stored("after")))
        assert claimed.topic_samples("k") == {"": "before"}


class TestMemoryStore(TopicSamplesContract):
    @pytest.fixture
    def empty(self) -> OwnStore:
        return MemoryStore()


@pytest.mark.postgres
class TestPostgresStore(TopicSamplesContract):
    @pytest.fixture
    def empty(self, store: PostgresStore) -> OwnStore:
        return store
