"""What a leader may have been configured with, where nobody says: the values that are tried, the likeliest first.

Known settings are the only value of theirs; the release only if the leader's payload does not contradict it. Of the
others the value that explained the record before comes first, then what this record suggests, then Kafka's defaults.

One such choice is a frame. Within it `Assumptions` are about the end offsets, and which of them are worth a run.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, islice, pairwise, permutations, product

from rebalance_monitor.assignors.streams.application import AssignmentConfigs, RackStrategy
from rebalance_monitor.assignors.streams.built_in import BuiltIn, built_in_of
from rebalance_monitor.assignors.streams.eras import FIRST_WITH_PLUG_INS, Era, era_of, release_of
from rebalance_monitor.assignors.streams.members import newest_version
from rebalance_monitor.assignors.streams.other_ends import OtherEnds
from rebalance_monitor.assignors.streams.tasks import Release, TaskId
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.schemas.streams_tasks import NEWEST_VERSION, UNKNOWN_VERSION
from rebalance_monitor.streaming.core.cluster.end_offsets import EndBounds
from rebalance_monitor.streaming.core.model.settings import PlugIn, StreamsSettings
from .caught_up import Possible, Sums
from .described import stores_by_part
from .members import StreamsThread
from .observed import ObservedRecord
from .rack_modes import PLAIN, RackMode
from .replica_racks import RackView
from .rounds import Hypothesis
from .topology import Key, key_of

DEFAULT_WARM_UPS, DEFAULT_LAG = 2, 10_000
DEFAULT_PROBING_MS = AssignmentConfigs().probing_rebalance_interval_ms
ANY_LAG = 1 << 36
"""Under so large an acceptable lag every caught-up set is possible."""
UNBOUNDED_WARM_UPS = 1 << 30
MOST_STANDBYS = 3
MOST_UNKNOWN_PARTS = 6
"""Sub-topologies of which nobody knows whether they have state: of more, not every combination is tried."""
MOST_TAGS = 2

_BY_VERSION: tuple[tuple[int, int, tuple[Release, ...]], ...] = (
    # newest Streams version, newest consumer-protocol version, the releases that have both: one of each era
    (11, 3, ((4, 3), (3, 7), (3, 6), (3, 5, 2), (3, 4))),
    (11, 1, ((3, 3), (3, 2))),
    (10, 1, ((3, 1), (3, 0))),
    (9, 1, ((2, 8),)),
    (8, 1, ((2, 7), (2, 6, 1))),
    (7, 1, ((2, 6),)),
    (6, 1, ((2, 5),)),
    (5, 1, ((2, 4),)),
)
_LATER_PATCH = 99


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """Settings that explained the record before: None where none did. `built_in`: one of Kafka's own assignors gave an
    answer of this group."""

    standbys: int | None = None
    warm_ups: int | None = None
    built_in: bool = False


NOTHING_REMEMBERED = Remembered()


@dataclass(frozen=True, slots=True)
class Frame:
    """Everything of a hypothesis but end offsets."""

    release: Release
    assignor: BuiltIn | PlugIn
    configs: AssignmentConfigs
    stateful: frozenset[Key]
    blind: bool = False
    racks: RackView | None = None


def releases(settings: StreamsSettings, record: ObservedRecord) -> tuple[Release, ...]:
    """Releases of the leader, newest first; empty where it is older than all whose algorithm is known, or than all that
    run plug-ins where it runs one."""
    found = _releases(settings, record)
    return tuple(release for release in found if release >= FIRST_WITH_PLUG_INS) if settings.plug_in else found


def _releases(settings: StreamsSettings, record: ObservedRecord) -> tuple[Release, ...]:
    leader = next((thread for thread in record.threads if thread.id == record.leader), None)
    told = _believed(settings, leader)
    if told is not None:
        return (told,)
    if leader is None:
        return ()
    latest, protocol = leader.said.latest_supported, leader.wanted.version
    for version, consumer, found in _BY_VERSION:
        if latest >= version and protocol >= consumer:
            return found
    return ()


def contradicted(settings: StreamsSettings, record: ObservedRecord) -> bool:
    """Whether the leader's own payload says that it is not of the configured release: so it is while an application is
    upgraded, and until the configuration follows."""
    leader = next((thread for thread in record.threads if thread.id == record.leader), None)
    return settings.release is not None and _believed(settings, leader) is None


def _believed(settings: StreamsSettings, leader: StreamsThread | None) -> Release | None:
    """The configured release, if such a leader may say this newest version. `upgrade.from` lets a leader of any release
    say none, and a version that nobody has described is of any release to come. "2.6" is any release 2.6.x."""
    if settings.release is None:
        return None
    told = release_of(settings.release)
    latest = UNKNOWN_VERSION if leader is None else leader.said.latest_supported
    if latest == UNKNOWN_VERSION or latest > newest_version(told) == NEWEST_VERSION:
        return told
    return next((one for one in (told, (*told, _LATER_PATCH)) if newest_version(one) == latest), None)


def assignors(settings: StreamsSettings) -> tuple[BuiltIn | PlugIn, ...]:
    """The assignors that may have run; empty where the configured one is neither Kafka's nor a plug-in."""
    if settings.plug_in is not None:
        return (settings.plug_in,)
    if settings.assignor is None:
        return BuiltIn.HIGH_AVAILABILITY, BuiltIn.LEGACY_STICKY, BuiltIn.PUBLIC_STICKY
    known = built_in_of(settings.assignor)
    return () if known is None else (known,)


def stateful_sets(
    settings: StreamsSettings, record: ObservedRecord, *, doubted: bool = False
) -> tuple[list[frozenset[Key]], bool]:
    """Which sub-topologies may have state, the likeliest first, and whether all combinations are there. `doubted`: also
    those that seem to have none, because members that owned their tasks reported nothing. A task that is not set up yet
    is not reported either."""
    stores = stores_by_part(settings.topology) if settings.topology is not None else {}
    sure = frozenset(part.key for part in record.seen if part.stateful)
    unknown = [
        part.key
        for part in record.seen
        if (not part.stateful if doubted else part.state_known is None) and stores.get(part.key, True)
    ]
    likely = sure | {key for key in unknown if stores.get(key, False)}
    if len(unknown) > MOST_UNKNOWN_PARTS:
        return list(dict.fromkeys((likely, sure, sure | frozenset(unknown)))), False
    sizes = chain.from_iterable(combinations(unknown, size) for size in range(len(unknown) + 1))
    return sorted((sure | frozenset(some) for some in sizes), key=lambda keys: len(keys ^ likely)), True


def frames(
    settings: StreamsSettings,
    record: ObservedRecord,
    remembered: Remembered,
    *,
    doubted: bool = False,
    modes: Sequence[RackMode] = (PLAIN,),
) -> Iterator[Frame]:
    """Every combination, the likeliest first: the release changes last. `doubted`: only those in which a sub-topology
    has state that seemed to have none. `modes`: the ways to look at racks."""
    sets, _ = stateful_sets(settings, record, doubted=doubted)
    if doubted:
        plain, _ = stateful_sets(settings, record)
        sets = [one_set for one_set in sets if one_set not in plain]
    tried = _tried(settings, record)
    lags: Sequence[int] = (DEFAULT_LAG, ANY_LAG) if settings.acceptable_lag is None else (settings.acceptable_lag,)
    copies, warming, tagged = (
        _standbys(settings, record, remembered),
        _warm_ups(settings, record, remembered),
        possible_tags(settings, record),
    )
    sticky: list[Frame] = []
    first = lags[0], warming[0], tagged[0]  # the sticky assignors look at none of these
    for wanted, release, mode, lag, standbys, warm_ups, tags, stateful in product(
        assignors(settings), tried, modes, lags, copies, warming, tagged, sets
    ):
        era = era_of(release)
        # A plug-in is shown whatever there is, and looks at what it wants.
        if wanted is not settings.plug_in and not _followed(mode, era, stateful, standbys):
            continue
        if wanted is BuiltIn.PUBLIC_STICKY and not era.plug_ins:
            continue
        assignor = wanted if era.high_availability else BuiltIn.LEGACY_STICKY
        if assignor not in (BuiltIn.HIGH_AVAILABILITY, settings.plug_in) and (lag, warm_ups, tags) != first:
            continue
        configs = AssignmentConfigs(
            acceptable_recovery_lag=lag,
            max_warmup_replicas=warm_ups,
            num_standby_replicas=standbys,
            probing_rebalance_interval_ms=settings.probing_interval_ms or DEFAULT_PROBING_MS,
            rack_aware_assignment_tags=tags,
            rack_aware_assignment_strategy=mode.strategy,
            rack_aware_traffic_cost=settings.rack_traffic_cost,
            rack_aware_non_overlap_cost=settings.rack_non_overlap_cost,
        )
        frame = Frame(release, assignor, configs, stateful, racks=mode.racks)
        yield frame
        if assignor in (BuiltIn.LEGACY_STICKY, BuiltIn.PUBLIC_STICKY) and era.high_availability and stateful:
            sticky.append(frame)
    if PLAIN in modes and BuiltIn.HIGH_AVAILABILITY in assignors(settings):
        # Where the leader could not read end offsets, everybody keeps what it had, whatever its rack.
        for release, standbys, stateful in product(tried, copies, sets):
            configs = AssignmentConfigs(acceptable_recovery_lag=lags[0], num_standby_replicas=standbys)
            yield Frame(release, BuiltIn.HIGH_AVAILABILITY, configs, stateful, blind=True)
    # The sticky ones place tasks as ever then, but threads keep their tasks in another order.
    yield from (replace(frame, blind=True) for frame in sticky)


def first_of(found: Iterator[Frame], most: int) -> tuple[list[Frame], bool]:
    """So many of the frames, and whether these are all."""
    listed = list(islice(found, most))
    return listed, next(found, None) is None


def _followed(mode: RackMode, era: Era, stateful: frozenset[Key], standbys: int) -> bool:
    """Whether a leader of this era can look at racks so, and all of them that it looks at were sampled."""
    if mode.racks is None:
        return True
    balances = era.balances_subtopologies or mode.strategy is not RackStrategy.BALANCE_SUBTOPOLOGY
    return era.racks and balances and mode.racks.tells(stateful, with_changelogs=standbys > 0)


def _tried(settings: StreamsSettings, record: ObservedRecord) -> Sequence[Release]:
    """One release of each set of eras that answer alike: without racks the newest ones do."""
    found = releases(settings, record)
    if all(thread.wanted.rack for thread in record.threads):
        return found
    return tuple(release for release in found if release == found[0] or not release >= (3, 5, 2))


def copies_of(record: ObservedRecord) -> Counter[TaskId]:
    """Copies of each task that is run in this generation: those of a withheld task may be transient."""
    running = record.running()
    return Counter(task for thread in record.threads for task in thread.standby if task in running)


def _standbys(settings: StreamsSettings, record: ObservedRecord, remembered: Remembered) -> Sequence[int]:
    if settings.standbys is not None:
        return (settings.standbys,)
    most = min(len(record.processes()) - 1, MOST_STANDBYS)
    if most <= 0:
        return (remembered.standbys or 0,)
    stateful = {part.key for part in record.seen if part.stateful}
    copies, running = copies_of(record), record.running()
    shown = min((copies[task] for task in running if key_of(task) in stateful), default=0)
    return _distinct(remembered.standbys, min(shown, most), *range(most + 1))


def _warm_ups(settings: StreamsSettings, record: ObservedRecord, remembered: Remembered) -> Sequence[int]:
    if settings.warm_ups is not None:
        return (settings.warm_ups,)
    if len(record.processes()) == 1:
        return (remembered.warm_ups or DEFAULT_WARM_UPS,)
    copies = copies_of(record)
    least = min(copies.values(), default=0)
    extra = sum(count - least for count in copies.values())
    return _distinct(remembered.warm_ups, DEFAULT_WARM_UPS, max(extra, 1), UNBOUNDED_WARM_UPS, 1)


def possible_tags(settings: StreamsSettings, record: ObservedRecord) -> Sequence[tuple[str, ...]]:
    """The rack tags that are tried, the likeliest first."""
    if settings.rack_tags is not None:
        return (settings.rack_tags,)
    keys = _tag_keys(record)
    if not keys:
        return ((),)
    return [(), *chain.from_iterable(permutations(keys, size) for size in range(1, min(len(keys), MOST_TAGS) + 1))]


def all_tags_tried(settings: StreamsSettings, record: ObservedRecord) -> bool:
    """Whether no other tags can be configured than those that are tried: some of the members' client tags."""
    return settings.rack_tags is not None or len(_tag_keys(record)) <= MOST_TAGS


def _tag_keys(record: ObservedRecord) -> list[str]:
    return sorted({key for thread in record.threads for key, _ in thread.said.client_tags})


def _distinct(*values: int | None) -> Sequence[int]:
    return tuple(dict.fromkeys(value for value in values if value is not None))


Choice = tuple[int, ...]
"""For each task with state the number of its option."""


@dataclass(frozen=True, slots=True)
class Worth:
    """Tasks whose caught-up sets are worth changing, and tasks whose end offsets are within the same set."""

    sets: frozenset[TaskId] = frozenset()
    order: frozenset[TaskId] = frozenset()


NOTHING = Worth()


class Assumptions:
    """All assumptions about end offsets within one frame: for each stateful task the number of its option."""

    def __init__(
        self,
        frame: Frame,
        tasks: Sequence[TaskId],
        options: Sequence[Sequence[Possible]],
        unpruned: Sequence[Sequence[Possible]],
        other: OtherEnds | None = None,
    ) -> None:
        """`other`: the round under other end offsets, where they may move tasks."""
        self.frame, self.tasks, self.unpruned, self.other = frame, tasks, unpruned, other
        self._options = options
        self.start: Choice = (0,) * len(tasks)
        self.seen: dict[Choice, Worth] = {}
        self.exhausted = False

    def hypothesis(self, choice: Choice) -> Hypothesis:
        ends = {
            task: options[number].end for task, options, number in zip(self.tasks, self._options, choice, strict=True)
        }
        return hypothesis_of(self.frame, ends)

    def by_task(self) -> dict[TaskId, Sequence[Possible]]:
        """The end offsets of each task that stand for all."""
        return dict(zip(self.tasks, self._options, strict=True))

    def neighbours(self, choice: Choice) -> Iterator[Choice]:
        """The assumptions that differ in one task that is worth changing."""
        worth = self.seen[choice]
        for at, options in enumerate(self._options):
            now = options[choice[at]]
            sets, order = self.tasks[at] in worth.sets, self.tasks[at] in worth.order
            for number, other in enumerate(options):
                if number == choice[at]:
                    continue
                if order if other.ranks == now.ranks else sets and other.first:
                    yield (*choice[:at], number, *choice[at + 1 :])

    def all_choices(self) -> Iterator[Choice]:
        """Every assumption; there must be few."""
        found: list[Choice] = [()]
        for options in self._options:
            found = [(*choice, number) for choice in found for number in range(len(options))]
        yield from found

    def ordered_by_lag(self, record: ObservedRecord, known: Mapping[TaskId, EndBounds], sums: Sums) -> bool:
        """Whether the order in which a thread keeps its tasks depends on end offsets beyond what is `known` of them: it
        reports two tasks that it does not run. A process with one thread gives it everything, in any order."""
        stateful = self.frame.stateful
        for threads in record.processes().values():
            for thread in threads if len(threads) > 1 else ():
                behind = [t for t, total in thread.offset_sums.items() if total >= 0 and key_of(t) in stateful]
                if len(behind) > 1 and not (
                    known.keys() >= set(behind)
                    and _in_one_order((known[task], sums[task][thread.process_id]) for task in behind)
                ):
                    return True
        return False


def _in_one_order(ends: Iterable[tuple[EndBounds, int]]) -> bool:
    """Whether tasks have one order by lag, whatever their end offsets are within the bounds: by the bounds of the end
    offset and the sum of each."""
    lags = sorted(
        (bounds.least - total, bounds.most - total) if total >= 0 else (total, total) for bounds, total in ends
    )
    return all(
        most < least or (first, most) == (least, last) == (least, least)
        for (first, most), (least, last) in pairwise(lags)
    )


def hypothesis_of(frame: Frame, ends: Mapping[TaskId, int]) -> Hypothesis:
    return Hypothesis(
        release=frame.release,
        assignor=frame.assignor,
        configs=frame.configs,
        stateful=frame.stateful,
        ends=ends,
        blind=frame.blind,
        racks=frame.racks,
    )
