"""Config records that parse and yet cannot be as a worker wrote them: a damaged copy, or a foreign writer.

What workers read at that place is not known then, so the jobs of that connector are not either. A worker writes a
connector's configuration, then all its tasks from 0 on, then the commit with their number.

    connector-a, task-a-0, task-a-1, commit-a 2      sound
    connector-a, task-a-0, task-a-1, commit-a 7      doubted: two tasks were staged
    task-b-0, commit-b 1                             doubted: nobody configured b
    commit-a 2 (after task-a-0, task-a-1)            sound again

Where the topic was compacted before it was read, all of this is usual, and nothing can be told by it.
"""

from collections.abc import Iterable, Mapping
from typing import assert_never

from rebalance_monitor.schemas.connect_topics import (
    NOT_JSON,
    ConfigRecord,
    ConnectorConfigured,
    ConnectorDeleted,
    OtherConfig,
    TargetState,
    TasksCommitted,
    TaskStaged,
)
from rebalance_monitor.schemas.frozen import replace
from .config_history import MAX_TASKS, MAX_UNREAD, ConfigEntry, ConfigHistory, ConfigState, apply

MAX_DOUBTED = 64
_ODD = frozenset({NOT_JSON, "connector_ignored"})


def odd(record: ConfigRecord) -> bool:
    """Whether workers pass over a value that no worker writes; for which connector, nobody can tell."""
    return isinstance(record, OtherConfig) and record.what in _ODD


def doubts(state: ConfigState, entries: Iterable[ConfigEntry], before: Mapping[str, int]) -> dict[str, int]:
    """Connectors of which the newest word cannot be as it was written, with its offset: those of `before`, and what
    the entries after this state add and take away."""
    found = dict(before)
    for entry in entries:
        match entry.record:
            case TasksCommitted(name=name, count=count):
                found.pop(name, None)
                if not _sound(state, name, count):
                    found[name] = entry.offset
            case TaskStaged(name=name, number=number) if number < 0 or not _known(state, name):
                found[name] = entry.offset
            case ConnectorDeleted(name=name):
                found.pop(name, None)
            case ConnectorConfigured() | TaskStaged() | TargetState() | OtherConfig():
                pass
            case _:
                assert_never(entry.record)
        state = apply(state, entry.record)
    return dict(sorted(found.items(), key=lambda one: one[1])[-MAX_DOUBTED:])


def _sound(state: ConfigState, name: str, count: int | None) -> bool:
    if not _known(state, name):
        return False
    return (
        count is not None and 0 <= count <= MAX_TASKS and state.staged.get(name, frozenset()) == frozenset(range(count))
    )


def _known(state: ConfigState, name: str) -> bool:
    return any(name in one for one in (state.counts, state.deleted, state.left, state.stray))


def extended(history: ConfigHistory, entries: list[ConfigEntry]) -> ConfigHistory:
    """The history with further records; see `ConfigHistory.extended`."""
    strange = tuple(one.offset for one in entries if odd(one.record) and one.offset >= history.next_offset)
    history = history.extended(entries)
    return replace(history, odd=(*history.odd, *strange)[-MAX_UNREAD:]) if strange else history


def trimmed(history: ConfigHistory, offset: int) -> ConfigHistory:
    """The history with its base moved; see `ConfigHistory.trimmed`."""
    moved = [one for one in history.entries if one.offset < offset]
    if moved and history.hole_offset is None:
        history = replace(history, doubted=doubts(history.base, moved, history.doubted))
    return history.trimmed(offset)


def doubted_below(history: ConfigHistory, offset: int | None) -> tuple[int, ...]:
    """Offsets of records below this one that cannot be as they were written, as far as they count still."""
    if offset is None:
        return ()
    strange = tuple(one for one in history.odd if one < offset)
    if history.hole_offset is not None:
        return strange
    coming = [one for one in history.entries if one.offset < offset]
    return tuple(sorted({*strange, *doubts(history.base, coming, history.doubted).values()}))


def confirmed(history: ConfigHistory, offset: int | None) -> ConfigHistory:
    """The history after an answer that is right by it, and hands something out: workers have passed over what is odd
    below this offset, as it was read."""
    if offset is None or not history.odd:
        return history
    return replace(history, odd=tuple(one for one in history.odd if one >= offset))
