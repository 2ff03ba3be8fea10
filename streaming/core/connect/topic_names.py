"""How Connect's config and status topics are called, as it is configured or as most installations call them."""

from rebalance_monitor.streaming.core.model.settings import ClusterSettings, ConnectSettings

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
