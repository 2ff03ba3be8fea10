"""A capture as it looks to somebody who may only ask: each generation as DescribeGroups would have shown it."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from rebalance_monitor.streaming.cli.captures import knowledge_of, records_of, settings_of
from rebalance_monitor.streaming.core.cluster.knowledge import NOTHING_KNOWN, Knowledge
from rebalance_monitor.streaming.core.cluster.shown_groups import ShownGroups
from rebalance_monitor.streaming.core.connect.topics import ConfigChange, StatusChange
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import REGISTRY, fold_group, route
from rebalance_monitor.streaming.core.model.records import POLLED, GroupDeleted, GroupGeneration, Row, Tick
from rebalance_monitor.streaming.core.model.results import Result
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.reading.snapshots import (
    EMPTY,
    PLACES_PER_MS,
    STABLE,
    Snapshot,
    SnapshotMember,
    SnapshotPoll,
    gone_row,
    instance_of,
    row_of,
)
from rebalance_monitor.streaming.core.replay import decode
from tests.vector_files import VECTORS

ASKED_MS, ANSWER_MS, TAIL_MS = 900, 100, 1_200_000
"""After a record the group is asked for; an answer takes so long; how long the monitor looks on after the last."""
Seen = Callable[[int], bool]


def everything(_number: int) -> bool:
    """Every generation lasts until the next question."""
    return True


def snapshot_of(group: str, body: GroupGeneration) -> Snapshot:
    """What a broker would say of the group after this record."""
    members = tuple(
        SnapshotMember(
            one.member_id,
            one.client_id,
            one.client_host,
            one.subscription_bytes,
            one.assignment_bytes,
            instance_of(one.member_id, one.client_id),
        )
        for one in body.members
    )
    state = STABLE if members else EMPTY
    return Snapshot(group, state, body.protocol_type, body.protocol or "", members)


class Asked:
    """One group that is polled; `results` is what came out so far. From its first record on that is read, until it is
    polled again, its cluster's source is the log."""

    def __init__(self, settings: ClusterSettings, group: str, knowledge: Knowledge = NOTHING_KNOWN) -> None:
        self._settings, self._group, self._knowledge = replace(settings, polled=True), group, knowledge
        self.state: Saved | None = None
        self.results: list[Result] = []
        self.due_ms: int | None = None
        self._gone = False

    def learns(self, knowledge: Knowledge) -> None:
        """What else is known of the cluster from now on."""
        self._knowledge = knowledge

    def told(self, body: GroupGeneration, at_ms: int, after_ms: int | None = None) -> list[Result]:
        """A poll that is answered at this time; returns what follows."""
        snapshot = snapshot_of(self._group, body)
        poll = SnapshotPoll(at_ms - ANSWER_MS, at_ms, {self._group: snapshot}, complete=True)
        return self.fold([row_of(snapshot, poll, at_ms * PLACES_PER_MS, after_ms, REGISTRY.blobs)], at_ms)

    def gone(self, at_ms: int) -> list[Result]:
        """The group is not there any more."""
        return self.fold(
            [gone_row(self._group, SnapshotPoll(at_ms - ANSWER_MS, at_ms, {}, complete=True), at_ms * PLACES_PER_MS)],
            at_ms,
        )

    def fold(self, rows: Sequence[Row], now_ms: int, shown_ms: int | None = None) -> list[Result]:
        """These rows at this time. `shown_ms`: when the question was asked whose answer last showed the group as it is;
        None: at this time."""
        self._source_of(rows)
        until_ms = now_ms if shown_ms is None else shown_ms
        gone = any(isinstance(row.body, GroupDeleted) for row in rows) or self._gone
        self._gone = gone and not any(isinstance(row.body, GroupGeneration) for row in rows)
        anew_ms = self._knowledge.shown.anew_ms
        shown = ShownGroups({} if self._gone else {self._group: until_ms}, until_ms, anew_ms)
        knowledge = replace(self._knowledge, shown=shown)
        made = fold_group(self._settings, self._group, self.state, rows, Tick(now_ms), knowledge=knowledge)
        self.state, self.due_ms = made.state, made.due_ms
        self.results += made.results
        return list(made.results)

    def passes(self, until_ms: int) -> list[Result]:
        """Answers show the same up to this time; the group is folded when something is due, as the job does."""
        before = len(self.results)
        now_ms = self.due_ms
        while now_ms is not None and now_ms < until_ms:
            self.fold([], now_ms)
            now_ms = None if self.due_ms is None else max(self.due_ms, now_ms + 1)
        self.fold([], until_ms)
        return self.results[before:]

    def _source_of(self, rows: Sequence[Row]) -> None:
        for row in rows:
            if isinstance(row.body, GroupGeneration | GroupDeleted):
                self._settings = replace(self._settings, polled=row.topic == POLLED)


def rows_of(name: str) -> tuple[ClusterSettings, Knowledge, dict[str, list[Row]]]:
    """Settings, knowledge and rows by group of a capture."""
    path = VECTORS / name
    settings = settings_of(path)
    rows = [row for one in records_of(path) if (row := decode(one, settings)) is not None]
    return settings, knowledge_of(path), route(rows, settings)


def asked(
    settings: ClusterSettings, knowledge: Knowledge, group: str, rows: Sequence[Row], seen: Seen = everything
) -> Asked:
    """One group of a capture, polled after those generations that `seen` (by their number in order) lets last, and
    after the last one; what its config and status topics say is read."""
    polled = Asked(settings, group, knowledge)
    number, now_ms = 0, 0
    last = sum(isinstance(row.body, GroupGeneration) for row in rows)
    for row in sorted(rows, key=lambda row: row.timestamp_ms):
        now_ms = max(now_ms, row.timestamp_ms)
        polled.passes(now_ms)
        match row.body:
            case GroupGeneration():
                number += 1
                if seen(number) or number == last:
                    polled.told(row.body, now_ms + ASKED_MS + ANSWER_MS)
            case GroupDeleted():
                polled.gone(now_ms + ASKED_MS + ANSWER_MS)
            case ConfigChange() | StatusChange():
                polled.fold([row], now_ms)
            case _:
                pass
    polled.passes(now_ms + TAIL_MS)
    return polled
