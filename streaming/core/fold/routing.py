"""Which rows concern which group: group records by key, Connect's other records by the topics in use."""

from collections.abc import Iterable, Sequence

from rebalance_monitor.streaming.core.model.records import (
    Gap,
    GroupDeleted,
    GroupGeneration,
    OtherGroup,
    Row,
    Undecodable,
)
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, ConnectSettings

CONFIG_SUFFIXES = ("-configs", "-config")
STATUS_SUFFIXES = ("-status", "-statuses")
_OF_GROUPS = frozenset({GroupGeneration.__name__, GroupDeleted.__name__, OtherGroup.__name__})
_OF_EVERYBODY = frozenset({Gap.__name__, Undecodable.__name__})


def guessed_config_topic(group: str) -> str:
    """The name most installations give to a Connect group's config topic (Kafka's own examples use `-configs`)."""
    return group + CONFIG_SUFFIXES[0]


def guessed_status_topic(group: str) -> str:
    """The name most installations give to a Connect group's status topic."""
    return group + STATUS_SUFFIXES[0]


def connect_settings(settings: ClusterSettings, group: str) -> ConnectSettings:
    """The configured settings of a Connect group, or Connect's naming convention as a guess that says so."""
    configured = settings.connect.get(group)
    if configured is not None:
        return configured
    return ConnectSettings(
        config_topic=guessed_config_topic(group), status_topic=guessed_status_topic(group), guessed_topics=True
    )


def groups_of_topic(settings: ClusterSettings, topic: str) -> list[str]:
    """Connect groups whose config or status topic this is; several where two clusters share topics by mistake."""
    named = [group for group, one in settings.connect.items() if topic in (one.config_topic, one.status_topic)]
    if named:
        return named
    for suffix in (*CONFIG_SUFFIXES, *STATUS_SUFFIXES):
        if topic.endswith(suffix) and topic.removesuffix(suffix) not in settings.connect:
            return [topic.removesuffix(suffix)]
    return []


def route(rows: Sequence[Row], settings: ClusterSettings) -> dict[str, list[Row]]:
    """Rows per group, each list in the order given. Undecodable records and gaps without a group are under "", where
    they are published, and with the Connect groups whose topic or partition it is, which know less from there on."""
    routed: dict[str, list[Row]] = {}
    known = tuple(_connect_groups(rows)) if any(isinstance(row.body, Gap) for row in rows) else ()
    for row in rows:
        at_home = (group for group, place in known if place == (row.topic, row.partition))
        kind = type(row.body).__name__
        concerned = groups_concerned(settings, row.topic, kind, at_home) if row.group is None else [row.group]
        for group in concerned:
            routed.setdefault(group, []).append(row)
    return routed


def _connect_groups(rows: Iterable[Row]) -> dict[tuple[str, tuple[str, int]], None]:
    """Connect groups and the partition that each has its records in, once."""
    generations = (row for row in rows if row.group is not None and isinstance(row.body, GroupGeneration))
    return {(row.group or "", (row.topic, row.partition)): None for row in generations}


def groups_concerned(settings: ClusterSettings, topic: str, kind: str, connect_groups: Iterable[str] = ()) -> list[str]:
    """Which groups a row without a group of its own goes to; `kind` is the class name of its body. A gap in a topic of
    no group, which is the coordinator's log, goes to all these Connect groups: each knows its own partition."""
    if kind in _OF_EVERYBODY:
        owners = groups_of_topic(settings, topic)
        return ["", *(connect_groups if kind == Gap.__name__ and not owners else owners)]
    return [""] if kind in _OF_GROUPS else groups_of_topic(settings, topic)
