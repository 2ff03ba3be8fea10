"""Which groups of an answer are not as they were in the answer before: these are folded.

poll 1    g: m1 has a-0         a row
poll 2    g: the same           nothing
poll 3    g: rebalances         nothing; when it is stable again, it is folded, changed or not
poll 4    g is not there        nothing yet: a coordinator may be on its way to another broker
poll 6    g is not there        the row of a group that is gone
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from rebalance_monitor.streaming.core.cluster.shown_groups import ShownGroups
from rebalance_monitor.streaming.core.fold import sampling
from rebalance_monitor.streaming.core.fold.sampling import contents_of
from rebalance_monitor.streaming.core.lifecycles import REGISTRY
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row
from rebalance_monitor.streaming.core.reading.snapshots import (
    PLACES_PER_MS,
    Snapshot,
    SnapshotPoll,
    gone_row,
    other_row,
    row_of,
)

GONE_AFTER = 3
"""Complete answers in a row without a group, before it counts as deleted."""


@dataclass(frozen=True, slots=True)
class SeenGroup:
    """One group. `contents`: the name of what was folded last, "" if that is to be folded again; `asked_ms`: when the
    question was asked that last showed it settled, None before the first; `absent`: complete answers without it.
    `snapshot`: that which has these contents: most answers show every group as the one before did, byte by byte.
    `member_ids`: of the last answer that shows it; `anew_ms`: as in `ShownGroups`."""

    contents: str = ""
    asked_ms: int | None = None
    absent: int = 0
    snapshot: Snapshot | None = None
    member_ids: frozenset[str] = frozenset()
    anew_ms: int = 0


@dataclass(frozen=True, slots=True)
class SeenGroups:
    """All groups, after the answer of `answered_ms` (None: before the first). `complete_ms`: when the question of the
    last complete one was asked; `next_offset`: above the offsets of all rows so far, whatever the clock has done."""

    groups: Mapping[str, SeenGroup] = field(default_factory=dict)
    answered_ms: int | None = None
    complete_ms: int | None = None
    next_offset: int = 0

    @classmethod
    def known(cls, names: Iterable[str], next_offset: int = 0) -> "SeenGroups":
        """Groups of which a job before this one has folded something, and what is above the offsets of all its rows."""
        return cls({name: SeenGroup() for name in names}, next_offset=next_offset)

    @property
    def shown(self) -> ShownGroups:
        """Until when each group was as it was folded last. One of a job before this one is there, or is left out."""
        there = {name: one for name, one in self.groups.items() if one.asked_ms is not None or not one.absent}
        anew_ms = {name: one.anew_ms for name, one in there.items()}
        return ShownGroups({name: one.asked_ms or 0 for name, one in there.items()}, self.complete_ms, anew_ms)

    def with_poll(self, poll: SnapshotPoll) -> tuple["SeenGroups", list[Row]]:
        """After one more answer, and the rows that are to be folded because of it."""
        groups, rows = dict(self.groups), list[Row]()
        first = max(self.next_offset, poll.answered_ms * PLACES_PER_MS)
        for name, snapshot in sorted(poll.groups.items()):
            before = groups.get(name, SeenGroup())
            if snapshot == before.snapshot:
                groups[name] = replace(before, asked_ms=poll.asked_ms, absent=0, anew_ms=poll.answered_ms)
                continue
            ids = frozenset(one.member_id for one in snapshot.members)
            if not snapshot.settled:
                anew_ms = before.anew_ms if ids == before.member_ids else poll.answered_ms
                groups[name] = SeenGroup("", before.asked_ms, member_ids=ids, anew_ms=anew_ms)
                continue
            row = row_of(snapshot, poll, first + len(rows), before.asked_ms, REGISTRY.blobs)
            contents = contents_of(row.body) if isinstance(row.body, GroupGeneration) else ""
            if contents != before.contents:
                rows.append(row)
            groups[name] = SeenGroup(
                contents, poll.asked_ms, snapshot=snapshot, member_ids=ids, anew_ms=poll.answered_ms
            )
        for name in sorted(poll.others.keys() & groups.keys()):
            contents = sampling.OF_ANOTHER_KIND + poll.others[name]
            if groups[name].contents != contents:
                rows.append(other_row(name, poll, first + len(rows)))
            groups[name] = SeenGroup(contents, poll.asked_ms)
        told = poll.groups.keys() | poll.unclear | poll.others.keys()
        for name in [one for one in groups if one not in told and poll.complete]:
            absent = groups[name].absent + 1
            if absent >= GONE_AFTER:
                rows.append(gone_row(name, poll, first + len(rows)))
                del groups[name]
            else:
                groups[name] = replace(groups[name], contents="", absent=absent, snapshot=None)
        complete_ms = poll.asked_ms if poll.complete else self.complete_ms
        return SeenGroups(groups, poll.answered_ms, complete_ms, first + len(rows)), rows
