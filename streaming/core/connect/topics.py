"""The config and the status topic of a Connect group: configured, or guessed by Connect's naming convention."""

from functools import partial

from rebalance_monitor.streaming.core.connect.records import decode_config_row, decode_status_row
from rebalance_monitor.streaming.core.fold.topics import TopicKind
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, ConnectSettings

CONFIG = TopicKind("config", lambda key: partial(decode_config_row, digest_key=key), committed=True)
STATUS = TopicKind("status", lambda _: decode_status_row)

CONFIG_SUFFIXES = ("-configs", "-config")
STATUS_SUFFIXES = ("-status", "-statuses")


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


def topics_of(settings: ClusterSettings, group: str) -> dict[str, TopicKind]:
    """The topics of a Connect group that are known, each with what it holds."""
    named = connect_settings(settings, group)
    both = ((named.config_topic, CONFIG), (named.status_topic, STATUS))
    return {topic: kind for topic, kind in both if topic is not None}


def groups_of(settings: ClusterSettings, topic: str) -> list[str]:
    """Connect groups whose config or status topic this is; several where two clusters share topics by mistake."""
    named = [group for group, one in settings.connect.items() if topic in (one.config_topic, one.status_topic)]
    if named:
        return named
    for suffix in (*CONFIG_SUFFIXES, *STATUS_SUFFIXES):
        if topic.endswith(suffix) and topic.removesuffix(suffix) not in settings.connect:
            return [topic.removesuffix(suffix)]
    return []


def kind_of(settings: ClusterSettings, topic: str) -> TopicKind | None:
    """What a topic holds: as it is configured, else as its name ends."""
    if any(topic == one.config_topic for one in settings.connect.values()):
        return CONFIG
    if any(topic == one.status_topic for one in settings.connect.values()):
        return STATUS
    if topic.endswith(CONFIG_SUFFIXES):
        return CONFIG
    return STATUS if topic.endswith(STATUS_SUFFIXES) else None
