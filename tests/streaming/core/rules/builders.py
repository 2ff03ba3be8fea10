"""A Connect group told step by step: real assignors answer, real bytes are written, and any step can be broken.

    story = Story()                                  # sessioned, newest era, delay 300 s, all settings known
    story.configure("c1", 2)                         # connector c1 with tasks c1-0 and c1-1
    story.join("w1", "w2")
    story.rebalance()                                # a correct generation
    story.rebalance(lambda given: drop(given, "w1", "c1-0"))   # the leader's answer, changed before it is sent
    results = story.fold()

Workers keep what they hold in their own order, as real ones do, and each has its own memory as a leader. Times are
milliseconds of one clock that only `wait` and `rebalance` move. Jobs are written as Connect does: `c1`, `c1-0`.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping

from rebalance_monitor.assignors.connect import eager, incremental
from rebalance_monitor.assignors.connect.eras import ERAS
from rebalance_monitor.assignors.connect.model import (
    ConfigSnapshot,
    ConnectMember,
    ConnectResult,
    ConnectRound,
    LeaderMemory,
)
from rebalance_monitor.schemas.connect_protocol import ConnectAssignment
from rebalance_monitor.schemas.group_metadata import GroupMember, GroupMetadata
from rebalance_monitor.schemas.offsets_topic import encode_group_metadata
from rebalance_monitor.streaming.core.cluster.knowledge import NOTHING_KNOWN
from rebalance_monitor.streaming.core.connect.observed import ConnectorOrTask, job_kind, job_name
from rebalance_monitor.streaming.core.connect.topics import decode_config_row, decode_status_row
from rebalance_monitor.streaming.core.connect.whole_inputs import Stamps
from rebalance_monitor.streaming.core.lifecycles import decode_offsets_record
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Generation, Incident, Result
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, ConnectSettings
from rebalance_monitor.streaming.core.replay import RawRecord, folded
from tests.streaming.core.rules.processes import JAVA, Given, Worker, assignment_of, encoded, job, jobs
from tests.streaming.folded_group import FoldedGroup

GROUP, CONFIGS, STATUSES, OFFSETS = "g", "g-configs", "g-status", "__consumer_offsets"
START_MS = 1_800_000_000_000
SESSION_MS, REBALANCE_MS = 10_000, 60_000


class Story:
    """One group on its way. `era` is how its leaders work; `known` what the monitor's configuration says of it.

    `called`: the protocol's name in the records, where a fork calls it otherwise.
    """

    def __init__(
        self,
        protocol: str = "sessioned",
        *,
        max_delay_ms: int = 300_000,
        era: str = "A5",
        known: ConnectSettings | None = None,
        called: str | None = None,
    ) -> None:
        self.protocol, self.max_delay_ms, self.era = protocol, max_delay_ms, ERAS[era]
        self.called = called
        topics = ConnectSettings(
            config_topic=CONFIGS, status_topic=STATUSES, max_delay_ms=max_delay_ms, java_version=JAVA
        )
        self.settings = ClusterSettings(name="cluster", connect={GROUP: known if known is not None else topics})
        self.knowledge = NOTHING_KNOWN
        self.now_ms = START_MS
        self.generation = 0
        self.workers: dict[str, Worker] = {}
        self.leader: str | None = None
        self.rows: list[Row] = []
        self.written: list[RawRecord] = []
        self.end_ms: int | None = None
        self.snapshots: list[dict[str, int]] = [{}]
        self.offsets = {OFFSETS: 0, STATUSES: 0}
        self.before = LeaderMemory()
        self.commits: list[tuple[int, int, int]] = []
        self._processes = 0

    @classmethod
    def begun(cls, connectors: Mapping[str, int], *workers: str, rebalances: int = 1) -> "Story":
        """Connectors, each with so many tasks, and workers that joined and rebalanced so often."""
        story = cls()
        for name, tasks in connectors.items():
            story.configure(name, tasks)
        story.join(*workers)
        for _ in range(rebalances):
            story.rebalance()
        return story

    # -- what exists -----------------------------------------------------------------------------------------------

    def configure(self, name: str, tasks: int | None = None) -> None:
        """Create or change a connector; `tasks` None leaves it without committed tasks."""
        now = self.snapshots[-1]
        self.config(f"connector-{name}", {"properties": {"name": name}}, {**now, name: now.get(name, 0)})
        if tasks is not None:
            self.commit(name, tasks)

    def commit(self, name: str, tasks: int) -> None:
        for number in range(tasks):
            self.config(f"task-{name}-{number}", {"properties": {}}, self.snapshots[-1])
        self.config(f"commit-{name}", {"tasks": tasks}, {**self.snapshots[-1], name: tasks})

    def delete(self, name: str) -> None:
        left = {one: count for one, count in self.snapshots[-1].items() if one != name}
        self.config(f"connector-{name}", None, left)

    def config(self, key: str, value: object, after: Mapping[str, int]) -> None:
        """One record of the config topic, and what is configured after it."""
        body = None if value is None else json.dumps(value).encode()
        self._take(decode_config_row, CONFIGS, len(self.snapshots) - 1, key.encode(), body)
        self.snapshots.append(dict(after))

    def status(self, what: ConnectorOrTask, state: str | None, worker: str, generation: int | None = None) -> None:
        """One record of the status topic, as `worker` writes it; a text that looks like a task is one."""
        subject = job(what) if isinstance(what, str) and what not in self.snapshots[-1] else what
        kind, name = job_kind(subject), job_name(subject)
        value = {"state": state, "worker_id": f"{worker}:8083", "generation": generation or self.generation}
        body = None if state is None else json.dumps(value).encode()
        offset = self.offsets[STATUSES]
        self.offsets[STATUSES] = offset + 1
        self._take(decode_status_row, STATUSES, offset, f"status-{kind}-{name}".encode(), body)

    # -- who is there ------------------------------------------------------------------------------------------------

    def join(self, *names: str, static: Collection[str] = ()) -> None:
        """Fresh processes; `static` lists the jobs they declare."""
        for name in names:
            self.workers[name] = Worker(name, self._new_id(name), jobs(static))

    def leave(self, name: str) -> Worker:
        return self.workers.pop(name)

    def back(self, worker: Worker) -> None:
        """The same process under a new member id: it was cut off and has kept its jobs."""
        worker.member_id = self._new_id(worker.name)
        self.workers[worker.name] = worker

    def restart(self, name: str) -> None:
        static = self.leave(name).static
        self.join(name)
        self.workers[name].static = static

    def _new_id(self, name: str) -> str:
        self._processes += 1
        return f"connect-{name}:8083-{self._processes:08d}"

    # -- what happens ------------------------------------------------------------------------------------------------

    def wait(self, ms: int) -> None:
        self.now_ms += ms

    def skip(self, generations: int) -> None:
        """Generations that leave no record."""
        self.generation += generations

    def rebalance(
        self,
        change: Callable[[Given], None] | None = None,
        *,
        leader: str | None = None,
        missed: Collection[str] = (),
        fresh: bool = True,
        behind: bool = False,
        recorded: bool = True,
        after_ms: int = 1_000,
    ) -> Given:
        """One generation with its record. `change` breaks the answer; `missed` never see it; without `fresh` a leader
        that has read less of the config topic than a member answers with the error; a leader that
        is `behind` has not applied the last record below its offset yet; a generation not `recorded` was restarted
        before the coordinator wrote it."""
        self.now_ms += after_ms
        self.generation += 1
        if leader is not None or self.leader not in self.workers:
            self.leader = leader or next(iter(self.workers))
        subscriptions = {
            name: worker.subscription(self.protocol, self.offset_of(worker), self.era)
            for name, worker in self.workers.items()
        }
        result = self._answer(fresh, behind)
        given: Given = {name: assignment_of(result, worker.member_id) for name, worker in self.workers.items()}
        if change is not None:
            change(given)
        if recorded:
            self._record(subscriptions, given)
        for name, worker in self.workers.items():
            answer = given[name]
            if name not in missed and isinstance(answer, ConnectAssignment):
                worker.apply(answer, self.generation, eager=self.protocol == "default")
        return given

    def offset_of(self, worker: Worker) -> int:
        newest = len(self.snapshots) - 1
        return newest if worker.reads_until is None else min(worker.reads_until, newest)

    def round_of(self, fresh: bool = True, behind: bool = False) -> ConnectRound:
        """What the assignor is asked now."""
        assert self.leader is not None
        leading = self.workers[self.leader]
        own, newest = self.offset_of(leading), len(self.snapshots) - 1
        return ConnectRound(
            now_ms=self.now_ms,
            generation=self.generation,
            last_completed_generation=leading.last_completed,
            protocol=self.protocol,
            leader=leading.member_id,
            config=ConfigSnapshot(own, self.snapshots[own - behind if own else 0]),
            fresh_config=ConfigSnapshot(newest, self.snapshots[newest]) if fresh else None,
            members=tuple(
                ConnectMember(
                    id=worker.member_id,
                    url=worker.url,
                    config_offset=self.offset_of(worker),
                    held=worker.allocation(),
                    static=worker.static,
                )
                for worker in self.workers.values()
            ),
        )

    def _answer(self, fresh: bool, behind: bool) -> ConnectResult:
        round_ = self.round_of(fresh, behind)
        if self.protocol == "default":
            return eager.assign(round_)
        leading = self.workers[self.leader or ""]
        self.before = leading.memory
        result, leading.memory = incremental.assign(
            leading.memory, round_, max_delay_ms=self.max_delay_ms, era=self.era, java_version=JAVA
        )
        return result

    def _record(self, subscriptions: Mapping[str, bytes], given: Given) -> None:
        members = tuple(
            GroupMember(
                member_id=worker.member_id,
                client_id=f"connect-{name}:8083",
                client_host=f"/10.0.0.{name.lstrip('w')}",
                rebalance_timeout_ms=REBALANCE_MS,
                session_timeout_ms=SESSION_MS,
                subscription=subscriptions[name],
                assignment=encoded(given[name]),
            )
            for name, worker in self.workers.items()
        )
        self.group_record(members)

    def group_record(self, members: tuple[GroupMember, ...], protocol_type: str = "connect") -> None:
        """The coordinator's record of this generation; without members, of an empty group."""
        value = encode_group_metadata(
            GroupMetadata(
                version=3,
                protocol_type=protocol_type,
                generation=self.generation,
                protocol=(self.called or self.protocol) if members else None,
                leader=self.workers[self.leader].member_id if members and self.leader else None,
                state_ms=self.now_ms - 20,
                members=members,
            )
        )
        self.offsets_row(value)

    def empty(self) -> None:
        """The last member left: the group's record without members."""
        self.generation += 1
        self.workers.clear()
        self.group_record(())

    def tombstone(self) -> None:
        self.offsets_row(None)

    def offsets_row(self, value: bytes | None, kind: int = 2, *names: str) -> None:
        """A record of the coordinator's log; `names`: what its key has beside the group."""
        offset = self.offsets[OFFSETS]
        self.offsets[OFFSETS] = offset + 1
        texts = [one.encode() for one in (GROUP, *names)]
        key = kind.to_bytes(2, "big") + b"".join(len(one).to_bytes(2, "big") + one for one in texts)
        self._take(decode_offsets_record, OFFSETS, offset, key, value)

    def _take(
        self, decode: Callable[..., Row | None], topic: str, offset: int, key: bytes, value: bytes | None
    ) -> None:
        """The record's bytes, and what is read of them."""
        row = decode(topic, 0, offset, self.now_ms, key, value)
        assert row is not None
        self.rows.append(row)
        self.written.append(
            RawRecord(topic=topic, partition=0, offset=offset, timestamp_ms=self.now_ms, key=key, value=value)
        )

    def commit_offsets(self, partition: int = 0) -> None:
        """Some consumer's commit in a partition of the coordinator's log."""
        offset = self.offsets[OFFSETS] if partition == 0 else len(self.commits)
        self.offsets[OFFSETS] += partition == 0
        self.commits.append((partition, offset, self.now_ms))

    # -- what the monitor says -----------------------------------------------------------------------------------------

    def until(self, end_ms: int) -> "Story":
        """Let the monitor's clock reach this time, in ms after now, once everything is told."""
        self.end_ms = self.now_ms + end_ms
        return self

    def fold(self) -> list[Result]:
        """Everything the fold publishes, one record at a time in the order told."""
        group = self.followed()
        for row in self.rows:
            group.fold([row])
        group.fold(now_ms=self.end_ms, ends=True)
        return group.results

    def followed(self) -> FoldedGroup:
        """For calls of the fold one by one."""
        return FoldedGroup(self.settings, GROUP, self.knowledge)

    def replayed(self) -> list[Result]:
        """The same of the whole input at once, as `replay` reads it, commits and all."""
        stamps = Stamps()
        group = [(row.partition, row.offset, row.timestamp_ms) for row in self.rows if row.topic == OFFSETS]
        for partition, offset, at_ms in sorted({*group, *self.commits}):
            stamps.logged(OFFSETS, partition, offset, at_ms, exact=(partition, offset, at_ms) in group)
        for row in self.rows:
            stamps.written(row)
        return folded(self.rows, stamps, self.settings, knowledge=self.knowledge)


def incidents(results: Iterable[Result], code: str | None = None) -> list[Incident]:
    """Every transition, or those of one code."""
    return [one for one in results if isinstance(one, Incident) and code in (None, one.code)]


def generations(results: Iterable[Result]) -> list[Generation]:
    return [one for one in results if isinstance(one, Generation)]
