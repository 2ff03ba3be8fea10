"""Stories about Streams groups of the new protocol: every record of the coordinator is written out as bytes."""

from collections.abc import Iterable, Mapping
from typing import Any

from rebalance_monitor.streaming.core.cluster.knowledge import knowledge_of
from rebalance_monitor.streaming.core.cluster.topics import TopicMetadata
from tests.streaming.core.rules.epochs import STABLE as CONSUMERS_STABLE
from tests.streaming.core.rules.epochs import Epochs

STABLE, UNREVOKED, UNRELEASED, LATER_STATE = 1, 2, 3, 9
REBALANCE_MS, SESSION_MS = 60_000, 45_000
assert CONSUMERS_STABLE != STABLE, "the codes of states differ between the two kinds of groups"


def tasks(listed: str | Iterable[tuple[str, int]]) -> list[dict[str, Any]]:
    """`"0_0 0_1"` -> the tasks as a record lists them."""
    pairs = [one.rsplit("_", 1) for one in listed.split()] if isinstance(listed, str) else list(listed)
    found: dict[str, list[int]] = {}
    for name, number in pairs:
        found.setdefault(name, []).append(int(number))
    return [{"subtopologyId": name, "partitions": numbers} for name, numbers in found.items()]


def internal(name: str) -> dict[str, Any]:
    """A topic that the application makes."""
    return {"name": name, "partitions": 0, "replicationFactor": 1, "topicConfigs": []}


class StreamsGroupStory(Epochs):
    """A Streams group told operation by operation. By default subtopology 0 reads topic `a` and has state."""

    def sampled(self, *counts: int) -> "StreamsGroupStory":
        """Samples of the topics, a minute apart, the first at the start; 0: there are none."""
        metadata = (
            TopicMetadata(
                self.now_ms - 1 + 60_000 * at,
                {name: (frozenset[str](),) * count for name in ("a", "g-0-changelog") if count},
            )
            for at, count in enumerate(counts)
        )
        self.knowledge = knowledge_of(metadata)
        return self

    def topology(
        self,
        sources: Mapping[str, Iterable[str]] | None = None,
        stateful: Iterable[str] = ("0",),
        patterns: Iterable[str] = (),
    ) -> None:
        """Type 23; `sources` by subtopology; `patterns` of topics that each of them reads, too."""
        of = {"0": ["a"]} if sources is None else sources
        with_state = set(stateful)
        values = [
            {
                "subtopologyId": name,
                "sourceTopics": list(topics),
                "sourceTopicRegex": list(patterns),
                "stateChangelogTopics": [internal(f"g-{name}-changelog")] if name in with_state else [],
                "repartitionSinkTopics": [],
                "repartitionSourceTopics": [],
                "copartitionGroups": [],
            }
            for name, topics in of.items()
        ]
        self.write(23, {"epoch": 0, "subtopologies": values})

    def thread(self, name: str, process: str = "", *, instance: str | None = None) -> None:
        """Type 19."""
        values = {
            "instanceId": instance, "rackId": None, "clientId": f"app-{name}", "clientHost": "/10.0.0.1",
            "rebalanceTimeoutMs": REBALANCE_MS, "topologyEpoch": 0, "processId": process or f"process-{name}",
            "userEndpoint": {"host": "10.0.0.1", "port": 8080}, "clientTags": [{"key": "zone", "value": "z"}],
        }  # fmt: skip
        self.write(19, values, name)

    def epoch(self, number: int, standbys: int | None = 0, *, ready: bool = True) -> None:
        """Type 17; without `standbys` as releases before 4.2 write it. `ready`: the coordinator found all topics."""
        configs = None if standbys is None else [{"key": "num.standby.replicas", "value": str(standbys)}]
        validated = {"validatedTopologyEpoch": 0} if ready else {}
        known = {} if configs is None else {**validated, "lastAssignmentConfigs": configs}
        self.write(17, {"epoch": number, "metadataHash": 1, **known})

    def target(self, number: int, **targets: str) -> None:
        """Types 21 and 20; `"0_0 / 0_1 / 0_2"`: active, standby and warm-up tasks."""
        for name, listed in targets.items():
            active, standby, warm_up = (*listed.split("/"), "", "")[:3]
            self.given(name, active, standby, warm_up)
        self.write(20, {"assignmentEpoch": number})

    def given(
        self,
        name: str,
        active: str | Iterable[tuple[str, int]],
        standby: str | Iterable[tuple[str, int]] = "",
        warm_up: str | Iterable[tuple[str, int]] = "",
    ) -> None:
        """Type 21."""
        values = {"activeTasks": tasks(active), "standbyTasks": tasks(standby), "warmupTasks": tasks(warm_up)}
        self.write(21, values, name)

    def holds(self, name: str, number: int, numbers: str, *, state: int = STABLE, pending: str = "") -> None:
        """Type 22; tasks as in `target`."""
        held = (*numbers.split("/"), "", "")[:3]
        given_up = (*pending.split("/"), "", "")[:3]
        names = ("activeTasks", "standbyTasks", "warmupTasks")
        values = {
            "memberEpoch": number, "previousMemberEpoch": max(number - 1, 0), "state": state,
            **{each: tasks(of) for each, of in zip(names, held, strict=True)},
            **{f"{each}PendingRevocation": tasks(of) for each, of in zip(names, given_up, strict=True)},
        }  # fmt: skip
        self.write(22, values, name)

    def gone(self, *names: str, epoch: int) -> None:
        """A member leaves, or is removed: tombstones, and another group epoch."""
        for name in names:
            for type_ in (22, 21, 19):
                self.write(type_, None, name)
        self.epoch(epoch)

    def after(self, ms: int = 1_000) -> "StreamsGroupStory":
        """The next operation comes so much later."""
        self.now_ms += ms
        return self


def threads(partitions: int = 4) -> StreamsGroupStory:
    """Members a and b of two processes at epoch 2, each with two of four tasks and a standby of the other two."""
    story = StreamsGroupStory(partitions)
    story.thread("a")
    story.topology()
    story.epoch(1, standbys=1)
    story.target(1, a="0_0 0_1 0_2 0_3")
    story.holds("a", 1, "0_0 0_1 0_2 0_3")
    story.after().thread("b")
    story.epoch(2, standbys=1)
    story.target(2, a="0_0 0_1 / 0_2 0_3", b="0_2 0_3 / 0_0 0_1")
    story.holds("b", 2, "/ 0_0 0_1", state=UNRELEASED)
    story.after().holds("a", 1, "0_0 0_1", state=UNREVOKED, pending="0_2 0_3")
    story.after().holds("a", 2, "0_0 0_1 / 0_2 0_3")
    story.after().holds("b", 2, "0_2 0_3 / 0_0 0_1")
    return story
