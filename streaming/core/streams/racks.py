"""Which rack strategies a Streams leader may have followed, with which racks, and what is not known of that.

A leader whose members all state their racks may look at the racks of replicas (KIP-925). Its strategy and its costs are
settings; the racks are those of samples. Where one of them is not known, each possible one is tried:

    strategy not known       as without a strategy first, which is the default; then each strategy with each content
    strategy known           with each content first; then as without one: a leader that does not know every rack
    no sample, or too large  as without a strategy alone, and nothing that differs from it is called wrong

The search for the cheapest placement costs many times more than the rest of the leader's work.

What samples tell of racks, and how sure that is (streams.md 6.4.1, 6.4.2). A leader with a rack strategy counts the
partitions of a task that have no replica in a process's rack. It looks at racks only if it knows the rack of every
replica: of all source partitions, and of all changelog partitions if there are standbys. Otherwise it places tasks as
without a strategy.

No record holds racks. A sample of the topics does, but a leader's own metadata may be older or newer than the sample:

    10:00:00 sample      in-0: racks a, b
    10:00:07 record      the leader may know this, or what holds from some time before 10:00:30 on
    10:00:30 sample      in-0: racks a, c

Both contents are tried, and then neither is sure. Which changelogs a sub-topology has, the topology's text tells: it
names the stores, and a store with a log has the topic `<application>-<store>-changelog`. Without a text a changelog
goes to the only sub-topology that has as many tasks as it has partitions, which is a guess.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from rebalance_monitor.assignors.streams.application import AssignmentConfigs, RackStrategy
from rebalance_monitor.assignors.streams.built_in import BuiltIn
from rebalance_monitor.assignors.streams.eras import era_of
from rebalance_monitor.assignors.streams.tasks import Release
from rebalance_monitor.streaming.core.cluster.changelogs import is_changelog
from rebalance_monitor.streaming.core.cluster.topics import (
    CLOCKS_APART_MS,
    METADATA_MAX_AGE_MS,
    RacksByReplica,
    TopicHistory,
)
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.streams_settings import StreamsSettings
from .observed import ObservedRecord
from .sampled_ends import changelogs_of
from .topology import Key, Seen, SubtopologySeen

MOST_VIEWS = 3
"""Contents of samples that are tried for one record."""

TopicsByReplica = Mapping[str, RacksByReplica]

_NO_SAMPLE = "no sample of the topics tells the racks of their replicas at this time"
_OLD = "the last sample of the topics is too old to tell the racks of their replicas"
_NO_LATER = (
    "no sample of the topics was taken after the record, so the racks of their replicas may have changed before it"
)
_CHANGED = "replicas or the racks of brokers changed around this time"
_TOPICS = "no sample shows all partitions of {}"
_CHANGELOGS = "which changelogs sub-topology {} has is not known"


@dataclass(frozen=True, slots=True)
class RackView:
    """What a leader may have known: the racks of the replicas of each source topic, and of the changelogs of each
    sub-topology that has some."""

    sources: TopicsByReplica
    changelogs: Mapping[Key, TopicsByReplica] = field(default_factory=dict)

    def tells(self, stateful: Iterable[Key], *, with_changelogs: bool) -> bool:
        """Whether everything that a leader looks at is there, known or not known."""
        return not with_changelogs or all(self.changelogs.get(key) for key in stateful)

    def complete(self, stateful: Iterable[Key], *, with_changelogs: bool) -> bool:
        """Whether the rack of every replica that counts is known, so that a leader looks at racks."""
        topics = [*self.sources.values()]
        if with_changelogs:
            topics += [racks for key in stateful for racks in self.changelogs.get(key, {}).values()]
        return all(replicas and None not in replicas for partitions in topics for replicas in partitions)


@dataclass(frozen=True, slots=True)
class KnownRacks:
    """The contents that are possible, the likeliest first. `doubt`: why they may be others, empty where the one there
    is is sure; `of_changelogs`: the same of changelogs alone, which count only where there are standbys."""

    views: tuple[RackView, ...] = ()
    doubt: str = _NO_SAMPLE
    of_changelogs: str = ""

    def why(self, *, with_changelogs: bool) -> str:
        """The doubt; empty where there is none."""
        return self.doubt or (self.of_changelogs if with_changelogs else "")


NO_RACKS = KnownRacks()


def known_racks(
    topics: TopicHistory, text: str | None, application: str, seen: Seen, at_ms: int, until_ms: int | None = None
) -> KnownRacks:
    """The racks around this time. `text`: the topology's text; `until_ms`: when the record was surely written, by the
    monitor's clock."""
    told = {key: frozenset(names) for key, names in changelogs_of(text, application).items()}
    guessed = [name for name in topics.topics if is_changelog(name, application)] if text is None else []
    sources = [topic for part in seen for topic in part.topics]
    wanted = [*sources, *(name for names in told.values() for name in names), *guessed]
    contents = _contents(topics, wanted, at_ms)
    if not contents:
        return NO_RACKS
    missing = [
        topic
        for part in seen
        for topic, count in part.topics.items()
        if any(len(one.get(topic, ())) < count for one in contents)
    ]
    if missing:
        return KnownRacks(doubt=_TOPICS.format(missing[0]))
    views = tuple(
        RackView(
            {topic: one[topic][:count] for part in seen for topic, count in part.topics.items()},
            {part.key: _changelogs(part, one, told, guessed, seen) for part in seen},
        )
        for one in contents
    )
    doubt = ""
    if topics.answered_ms is None or topics.answered_ms < at_ms - METADATA_MAX_AGE_MS:
        doubt = _OLD
    elif topics.asked_ms is None or topics.asked_ms < (at_ms if until_ms is None else until_ms):
        doubt = _NO_LATER
    elif any(view.sources != views[0].sources for view in views) or not topics.shown(sources, at_ms).keys() >= set(
        sources
    ):
        doubt = _CHANGED
    unsure = [part for part in seen if not _changelogs_known(part, told, views)]
    number = next((f"{part.name}__{part.number}" if part.name else str(part.number) for part in unsure), "")
    of_changelogs = _CHANGELOGS.format(number) if unsure else "" if len(views) == 1 else _CHANGED
    return KnownRacks(views, doubt, of_changelogs)


def _changelogs_known(part: SubtopologySeen, told: Mapping[Key, frozenset[str]], views: Iterable[RackView]) -> bool:
    names = told.get(part.key, frozenset())
    if names:
        return all(view.changelogs[part.key].keys() == names for view in views)
    return not part.stateful if told else part.state_known is False


def _contents(topics: TopicHistory, wanted: Sequence[str], at_ms: int) -> list[dict[str, RacksByReplica]]:
    """What samples around this time show of these topics, each content once, the last one before the time first. A
    topic that one of them does not show was created since, with the replicas that the next one shows."""
    moments = topics.moments(wanted)
    before = [one.at_ms for one in moments if one.at_ms <= at_ms]
    oldest_ms = at_ms - METADATA_MAX_AGE_MS - CLOCKS_APART_MS
    held = before[-1:] + [one for one, until in pairwise(before) if until > oldest_ms][::-1]
    later = [one.at_ms for one in moments if one.at_ms > at_ms and one.after_ms <= at_ms + CLOCKS_APART_MS]
    shown = [topics.replica_racks(wanted, at) for at in (*held, *later)]
    everything = {name: racks for one in reversed(shown) for name, racks in one.items()}
    found: list[dict[str, RacksByReplica]] = []
    for by_topic in shown:
        whole = {**everything, **by_topic}
        if whole not in found:
            found.append(whole)
    return found[:MOST_VIEWS]


def _changelogs(
    part: SubtopologySeen,
    content: TopicsByReplica,
    told: Mapping[Key, frozenset[str]],
    guessed: Sequence[str],
    seen: Seen,
) -> TopicsByReplica:
    """The changelogs of a sub-topology as far as the content shows all their partitions."""
    count = max(part.topics.values(), default=0)
    names: Iterable[str] = told.get(part.key, frozenset())
    if guessed:
        alike = [one for one in seen if one.state_known is not False and max(one.topics.values(), default=0) == count]
        names = guessed if alike == [part] else ()
    return {name: content[name] for name in sorted(names) if len(content.get(name, ())) == count}


TAGS = "rack.aware.assignment.tags"
STRATEGY = "rack.aware.assignment.strategy"
COSTS = {
    "rack_traffic_cost": "rack.aware.assignment.traffic_cost",
    "rack_non_overlap_cost": "rack.aware.assignment.non_overlap_cost",
}
"""Fields of StreamsSettings, with Kafka's names."""
WEIGHT = {RackStrategy.NONE: 1, RackStrategy.MIN_TRAFFIC: 5, RackStrategy.BALANCE_SUBTOPOLOGY: 20}
"""How many times as much as without a strategy one run is taken to cost."""
MOST_CELLS = 15_000
"""Tasks times processes times weight: in a larger group a strategy is not tried."""
_LARGE = "the search for the cheapest placement by racks is too long in so large a group"


@dataclass(frozen=True, slots=True)
class RackMode:
    """One way to look at racks: the strategy, and what the leader knows of replicas."""

    strategy: RackStrategy = RackStrategy.NONE
    racks: RackView | None = None


PLAIN = RackMode()
"""As without a strategy."""


def tried(settings: StreamsSettings, record: ObservedRecord) -> list[list[RackMode]]:
    """The modes by their rank: those of a later list are tried if none of an earlier one gives the record's answer."""
    modes = [
        RackMode(strategy, view)
        for strategy in _strategies(settings)
        if _affordable(strategy, record)
        for view in record.racks.views
    ]
    if not _count(settings, record) or not modes:
        return [[PLAIN]]
    return [[PLAIN], modes] if settings.rack_strategy is None else [modes, [PLAIN]]


def shown_to_plug_in(settings: StreamsSettings, record: ObservedRecord) -> list[RackMode]:
    """What an application's own assignor may be shown, the likeliest first: the racks that samples tell, then none at
    all, under each strategy that is possible."""
    strategies = tuple(RackStrategy) if settings.rack_strategy is None else _strategies(settings)
    return [RackMode(strategy, view) for view in (*record.racks.views, None) for strategy in strategies]


def weight(modes: Iterable[RackMode]) -> int:
    """What one run costs at most."""
    return max(WEIGHT[mode.strategy] for mode in modes)


def missing(settings: StreamsSettings, record: ObservedRecord, releases: Sequence[Release]) -> Reason | None:
    """Why not everything was tried that a leader may have done with racks; None where everything was."""
    if not _count(settings, record) or not any(era_of(release).racks for release in releases):
        return None
    why = record.racks.why(with_changelogs=settings.standbys != 0)
    if why:
        return Reason(ReasonKind.UNKNOWN_RACKS, why)
    if not all(_affordable(strategy, record) for strategy in _strategies(settings)):
        return Reason(ReasonKind.TOO_MANY_POSSIBILITIES, _LARGE)
    costs = _unknown_costs(settings)
    if costs:
        text = f"no value that was tried gives this answer; not known: {', '.join(costs)}"
        return Reason(ReasonKind.UNKNOWN_SETTINGS, text)
    return None


def rests_on(
    settings: StreamsSettings, record: ObservedRecord, release: Release, assignor: object, configs: AssignmentConfigs
) -> Reason | None:
    """On what of racks this answer rests that is not known; None where it follows from what is known."""
    if not _count(settings, record) or not era_of(release).racks or len(record.processes()) == 1:
        return None
    strategy = configs.rack_aware_assignment_strategy
    if settings.rack_strategy is None:
        text = f"settings that are not known give this answer with these values: {STRATEGY} {strategy.value}"
        return Reason(ReasonKind.UNKNOWN_SETTINGS, text)
    why = record.racks.why(with_changelogs=configs.num_standby_replicas > 0)
    if strategy is RackStrategy.NONE:
        text = "this is the answer of a leader that does not know the rack of every replica"
        if not _affordable(RackStrategy(settings.rack_strategy), record):
            why = _LARGE
        return Reason(ReasonKind.UNKNOWN_RACKS, f"{text}; {why}" if why else text)
    if why:
        return Reason(ReasonKind.UNKNOWN_RACKS, f"with the racks that samples tell it is this answer; {why}")
    costs = _unknown_costs(settings)
    if costs and (configs.num_standby_replicas > 0 or assignor is not BuiltIn.PUBLIC_STICKY):
        listed = ", ".join(f"{name} as by default" for name in costs)
        text = f"settings that are not known give this answer with these values: {listed}"
        return Reason(ReasonKind.UNKNOWN_SETTINGS, text)
    return None


def _count(settings: StreamsSettings, record: ObservedRecord) -> bool:
    """Whether racks may count: every member states its rack, a strategy may be configured, and brokers may have
    racks."""
    if settings.rack_strategy == RackStrategy.NONE.value or not all(thread.wanted.rack for thread in record.threads):
        return False
    with_state = [part.key for part in record.seen if part.stateful]
    with_changelogs = settings.standbys is not None and settings.standbys > 0
    known = not record.racks.why(with_changelogs=with_changelogs)
    return not known or any(view.complete(with_state, with_changelogs=with_changelogs) for view in record.racks.views)


def _strategies(settings: StreamsSettings) -> tuple[RackStrategy, ...]:
    if settings.rack_strategy is not None:
        return (RackStrategy(settings.rack_strategy),)
    return RackStrategy.MIN_TRAFFIC, RackStrategy.BALANCE_SUBTOPOLOGY


def _affordable(strategy: RackStrategy, record: ObservedRecord) -> bool:
    return len(record.tasks) * len(record.processes()) * WEIGHT[strategy] <= MOST_CELLS


def _unknown_costs(settings: StreamsSettings) -> list[str]:
    return [name for field, name in COSTS.items() if getattr(settings, field) is None]
