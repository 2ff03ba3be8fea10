"""The lifecycle of Kafka Streams groups under the classic protocol: protocol type `consumer`, protocol `stream`.

A record waits for a sample that is asked after it only where that sample can decide something.

    what decides                                       the sample after the record tells
    end offsets, and one was sampled before            how far the changelogs can have grown at most
    racks, and the topics were sampled before          that no replica, and no broker's rack, has changed since

What else the verdict rests on must be known, or it stays *explainable* whatever the sample says.
"""

from collections.abc import Collection, Sequence

from rebalance_monitor.assignors.streams.application import RackStrategy
from rebalance_monitor.schemas.consumer_protocol import ConsumerSubscription
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.schemas.streams_tasks import PROTOCOL
from rebalance_monitor.streaming.core.clocks.coordinator import Leap, Passing
from rebalance_monitor.streaming.core.cluster.end_offsets import before_of
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory
from rebalance_monitor.streaming.core.fold import missing_members, static_members, written_again
from rebalance_monitor.streaming.core.fold.capabilities import Awaits, Followed, Holdings, Holds, Timed
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView, Lifecycle, Session
from rebalance_monitor.streaming.core.fold.published import MemberShares, body_of
from rebalance_monitor.streaming.core.fold.state import Envelope
from rebalance_monitor.streaming.core.incidents.notice import Notice, Output
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.model.codec import dumps, loads
from rebalance_monitor.streaming.core.model.reasons import Reason
from rebalance_monitor.streaming.core.model.records import Body, GroupGeneration, MemberRow, Row
from rebalance_monitor.streaming.core.model.results import Evidence
from rebalance_monitor.streaming.core.model.settings import NOTHING_SAID, StreamsSettings
from rebalance_monitor.streaming.core.model.subjects import LastRecord
from rebalance_monitor.streaming.core.reading.blobs import MemberFormat
from .catalogue import STREAMS_CONTESTED
from .generation import judged, shares_of
from .looked_at import ALL_RACKS, LAGS
from .plug_ins import NO_PLUG_INS, PlugIns
from .rules import RULES
from .sampled_ends import asked_from_ms, changelogs_of, written_until_ms
from .state import StreamsState

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


PROTOCOL_TYPE = "consumer"


class StreamsLifecycle(Lifecycle):
    """Records without members name no protocol: those of a group that has become empty are the consumers'."""

    name = "streams"
    rules: tuple[Rule, ...] = RULES
    outlive: frozenset[str] = frozenset()
    converts = True
    classic = True
    members: MemberFormat | None = None

    def __init__(self, plug_ins: PlugIns = NO_PLUG_INS) -> None:
        self._plug_ins = plug_ins

    def owns(self, body: Body) -> bool:
        """Groups of the consumer protocol whose members chose Streams' own assignor."""
        return isinstance(body, GroupGeneration) and (body.protocol_type, body.protocol) == (PROTOCOL_TYPE, PROTOCOL)

    def open(self, view: GroupView, stored: str | None) -> Session:
        return StreamsSession(view, StreamsState() if stored is None else loads(StreamsState, stored), self._plug_ins)


class StreamsSession(Awaits, Timed, Holds, Followed):
    """One Streams group in one call of the fold."""

    def __init__(self, view: GroupView, state: StreamsState, plug_ins: PlugIns) -> None:
        self.view, self.state, self._plug_ins = view, state, plug_ins
        self._sample_from_ms: int | None = None

    def last(self) -> LastRecord | None:
        return self.state.last

    def shares(self, member: MemberRow) -> MemberShares:
        return shares_of(member)

    def begin_life(self) -> None:
        """Nobody holds anything, and the application may be another one."""
        self.state = StreamsState()

    def judge(self, row: Row, never_came: Reason | None, before: Envelope, leap: Leap) -> Sequence[Output]:
        self._sample_from_ms = None
        self.state, outputs = judged(self.view, self.state, row, self._plug_ins)
        return outputs

    def missing(self, row: Row) -> str | None:
        """A sample that is asked after the record, where those before it make it worth waiting."""
        knowledge, head, body = self.view.knowledge, self.view.waiting.head(), body_of(row)
        if not knowledge.asked or head is None or head.row is not row:
            return None
        from_ms = written_until_ms(row, head)
        if knowledge.topics.asked_ms is not None and knowledge.topics.asked_ms >= from_ms:
            return None
        if written_again.repeats(self.view.envelope, self.state.first, body):
            return None
        settings = self.view.settings.streams.get(self.view.group, NOTHING_SAID)
        wanted = later_sample(knowledge.topics, settings, self.view.group, body, row.timestamp_ms, self.state.looked_at)
        if wanted is not None:
            self._sample_from_ms = from_ms
        return wanted

    def sample_from_ms(self) -> int | None:
        return self._sample_from_ms

    def nobody_left(self) -> None:
        """Nobody holds anything; the topology is the same when members come back."""
        self.state = StreamsState(last=self.state.last, seen=self.state.seen)

    def holdings(self) -> Holdings | None:
        """The partitions of each thread; it may be busy until its rebalance time-out ends (`max.poll.interval.ms`)."""
        reading = self.state.reading
        return None if reading is None else reading.holdings(self.view.envelope.longest_rebalance_ms)

    def due_ms(self) -> int | None:
        times = (static_members.due_ms(self.state.sightings), self.state.missed.due_ms(self.view))
        return min((one for one in times if one is not None), default=None)

    def rebase(self, passing: Passing) -> Sequence[Output]:
        if self.state.last is not None:
            missed = self.state.missed.moved(passing.since(self.state.last.at_ms).unsure_ms)
            self.state = replace(self.state, missed=missed)
        return ()

    def fire(self, at_ms: int, *, historic: bool) -> Sequence[Output]:
        missed, told = missing_members.fired(self.view, self.state.missed, at_ms, historic=historic)
        self.state = replace(self.state, missed=missed)
        calm = static_members.calmed(self.state.sightings, at_ms)
        if calm == self.state.sightings:
            return told
        last = self.state.last
        here = Evidence(source=None if last is None else last.source)
        found = tuple(static_members.contested(STREAMS_CONTESTED, calm, at_ms, here))
        self.state = replace(self.state, sightings=calm)
        moment = self.view.moment(at_ms, historic=historic)
        return [Notice(moment=moment, found=found, evaluated=frozenset({STREAMS_CONTESTED.code})), *told]

    def end(self, row: Row, *, historic: bool) -> None:
        """The group is gone, and its topology with it."""
        self.begin_life()

    def stored(self) -> str | None:
        return None if self.state == StreamsState() else dumps(self.state)
