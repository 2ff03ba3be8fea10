"""Which rows concern which group: group records by key, rows of other topics by the lifecycle that reads the topic."""

from collections.abc import Iterable, Sequence

from rebalance_monitor.streaming.core.model.records import (
    Gap,
    GroupDeleted,
    GroupGeneration,
    OtherGroup,
    Row,
    Undecodable,
)
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from .registry import Registry

_OF_GROUPS = frozenset({GroupGeneration.__name__, GroupDeleted.__name__, OtherGroup.__name__})
_OF_EVERYBODY = frozenset({Gap.__name__, Undecodable.__name__})


def route(registry: Registry, rows: Sequence[Row], settings: ClusterSettings) -> dict[str, list[Row]]:
    """Rows per group, each list in the order given. Undecodable records and gaps without a group are under "", where
    they are published, and with the groups whose topic or partition it is, which know less from there on."""
    routed: dict[str, list[Row]] = {}
    known = tuple(_groups(rows)) if any(isinstance(row.body, Gap) for row in rows) else ()
    for row in rows:
        at_home = (group for group, place in known if place == (row.topic, row.partition))
        kind = type(row.body).__name__
        concerned = [row.group]
        if row.group is None:
            concerned = [*groups_concerned(registry, settings, row.topic, kind, at_home)]
        for group in concerned:
            routed.setdefault(group or "", []).append(row)
    return routed


def _groups(rows: Iterable[Row]) -> dict[tuple[str, tuple[str, int]], None]:
    """Groups of the classic protocol and the partition that each has its records in, once."""
    generations = (row for row in rows if row.group is not None and isinstance(row.body, GroupGeneration))
    return {(row.group or "", (row.topic, row.partition)): None for row in generations}


def groups_concerned(
    registry: Registry, settings: ClusterSettings, topic: str, kind: str, at_home: Iterable[str] = ()
) -> list[str]:
    """Which groups a row without a group of its own goes to; `kind` is the class name of its body. A gap in a topic of
    no group, which is the coordinator's log, goes to all groups `at_home`: each knows its own partition."""
    if kind in _OF_EVERYBODY:
        owners = registry.groups_of_topic(settings, topic)
        return ["", *(at_home if kind == Gap.__name__ and not owners else owners)]
    return [""] if kind in _OF_GROUPS else registry.groups_of_topic(settings, topic)
