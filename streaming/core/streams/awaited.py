"""Whether a record waits for a sample that is asked after it: only where that sample can decide something.

    what decides                                       the sample after the record tells
    end offsets, and one was sampled before            how far the changelogs can have grown at most
    racks, and the topics were sampled before          that no replica, and no broker's rack, has changed since

What else the verdict rests on must be known, or it stays *explainable* whatever the sample says.
"""

from collections.abc import Collection

from rebalance_monitor.assignors.streams.application import RackStrategy
from rebalance_monitor.schemas.consumer_protocol import ConsumerSubscription
from rebalance_monitor.streaming.core.cluster.end_offsets import before_of
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.streams_settings import StreamsSettings
from rebalance_monitor.streaming.core.streams.plug_ins import ALL_RACKS, LAGS
from rebalance_monitor.streaming.core.streams.sampled_ends import asked_from_ms, changelogs_of

ENDS = "a sample of the changelogs' end offsets that was taken after the record"
REPLICAS = "a sample of the topics' replicas that was taken after the record"


def later_sample(
    topics: TopicHistory,
    settings: StreamsSettings,
    application: str,
    body: GroupGeneration,
    at_ms: int,
    looked_at: Collection[str],
) -> str | None:
    """The sample that is worth waiting for. `at_ms`: the record's time; `looked_at`: what the application's own
    assignor looked at in the generation before."""
    if len(body.members) < 2:
        return None
    if settings.plug_in is None and None in (settings.standbys, settings.warm_ups, settings.acceptable_lag):
        return None
    if settings.plug_in is None or LAGS in looked_at:
        names = (name for each in changelogs_of(settings.topology, application).values() for name in each)
        asked_ms = asked_from_ms(body)
        if asked_ms is not None and any(before_of(topics.ends_of(name), asked_ms) is not None for name in names):
            return ENDS
    return REPLICAS if _racks_decide(topics, settings, body, at_ms, looked_at) else None


def _racks_decide(
    topics: TopicHistory, settings: StreamsSettings, body: GroupGeneration, at_ms: int, looked_at: Collection[str]
) -> bool:
    """Whether the leader may have looked at racks, and samples before the record tell those of all its topics."""
    if settings.plug_in is not None:
        if not ALL_RACKS.intersection(looked_at):
            return False
    elif settings.rack_strategy == RackStrategy.NONE.value:
        return False
    read: set[str] = set()
    for member in body.members:
        wanted = member.subscription
        if not isinstance(wanted, ConsumerSubscription) or (settings.plug_in is None and not wanted.rack):
            return False
        read.update(wanted.topics)
    return bool(read) and topics.shown(read, at_ms).keys() == read
