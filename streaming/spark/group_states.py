"""The stored states of the groups of one bundle: read before the fold, and what of them is to be written after it."""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from rebalance_monitor.streaming.core.fold.fold import STATE_VERSION, FoldOutcome
from rebalance_monitor.streaming.core.fold.parts import begun_anew
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.ports import GroupKey, Store, StoredState
from .folding import Task
from .rows import RawRow

log = logging.getLogger("rebalance_monitor.job")

GONE = b""
"""In the place of a waiting record whose row is not there any more: no fold can read it, so its group is isolated."""


class StoredGroups:
    """What is stored of these groups, and their `tasks`: the state of each with its rows."""

    def __init__(
        self,
        store: Store,
        settings: ClusterSettings,
        rows: Mapping[str, Sequence[RawRow]],
        topic_groups: Collection[str] = (),
    ) -> None:
        """`topic_groups`: groups that have topics of their own. What is of no group leaves no state."""
        self._store, self._cluster, self._topic_groups = store, settings.name, topic_groups
        keys = {group: GroupKey(settings.name, group) for group in rows if group}
        stored = store.load(list(keys.values())) if keys else {}
        self._stored = {group: stored[key] for group, key in keys.items() if key in stored}
        self.tasks = tuple(
            Task(group, _state(group, self._stored.get(group)), tuple(own)) for group, own in sorted(rows.items())
        )
        self._before = {task.group: task.state for task in self.tasks}
        # Rows of waiting records that are stored already, as far as they were read.
        self._read = {group: dict(one.waiting) for group, one in self._stored.items()}

    def with_more(self, group: str, outcome: FoldOutcome) -> Task:
        """The group as the fold left it, with the next rows of its waiting records."""
        here = outcome.state.waiting
        position, end = outcome.waits
        while position in here:
            position += 1
        more = self._store.load_waiting(GroupKey(self._cluster, group), position)
        if position not in more:
            behind = min((at for at in (*here, *more) if at > position), default=end)
            more = {**more, **dict.fromkeys(range(position, behind), GONE)}
        self._read.setdefault(group, {}).update(more)
        return Task(group, replace(outcome.state, waiting={**more, **here}), ())

    def changed(self, outcomes: Mapping[str, FoldOutcome]) -> dict[GroupKey, StoredState]:
        """What has to be written: states that are others now, waiting records that are new."""
        changed = {}
        for group, outcome in outcomes.items():
            before, read = self._before[group], self._read.get(group, {})
            if not group or (before is not None and before.lines == outcome.state.lines):
                continue
            stored = self._stored.get(group)
            new = {at: row for at, row in outcome.state.waiting.items() if read.get(at) != row}
            changed[GroupKey(self._cluster, group)] = StoredState(
                version=STATE_VERSION,
                state=outcome.state.lines,
                due_ms=outcome.due_ms,
                home=outcome.home,
                has_topics=group in self._topic_groups,
                revision=0 if stored is None else stored.revision,
                waiting=new,
                waits=outcome.waits if new or read else None,
            )
        return changed


def _state(group: str, stored: StoredState | None) -> Saved | None:
    """The stored state. One of another version is not read: a line of the log says so, and the group begins anew."""
    if stored is None:
        return None
    found = Saved(stored.state, stored.waiting)
    if stored.version == STATE_VERSION:
        return found
    reason = (
        f"the group's stored state has version {stored.version}, this release reads {STATE_VERSION}: "
        "what was known of it is built anew from the records that follow, and its open incidents end"
    )
    log.warning("state_not_read", extra={"fields": {"group": group, "reason": reason}})
    return begun_anew(found)
