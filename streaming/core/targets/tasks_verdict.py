"""Was this target of a Streams group right? Re-runs the broker's `sticky` task assignor on what the log holds.

Members with their processes and previous tasks, the topology and, since 4.2, the configuration of the assignment are in
the records. Not in them are the partition counts (`tasks`), up to 4.1 the number of standbys, and the release. What is
not known is tried, the likeliest first: a target that no assumption gives is unexplained.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product

from rebalance_monitor.assignors.broker import streams_sticky
from rebalance_monitor.assignors.broker.model import NEWEST, Release, member_orders
from rebalance_monitor.assignors.broker.streams_model import (
    StreamsGroup,
    StreamsMember,
    StreamsResult,
    StreamsShare,
    Subtopology,
    Task,
)
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.schemas.streams_values import StreamsTarget, Tasks
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.results import ExpectedShare, Grade, Verdict
from rebalance_monitor.streaming.core.model.settings import StreamsSettings
from . import tasks
from .expected import Comparison, orders_to_try
from .operation import Computed
from .reasons import OVERTAKEN, RECORDS_MISSING, not_judged
from .shown import read_by
from .tasks import STANDBYS, TopologyView
from .units import ACTIVE, NONE, STANDBY, Units, tasks_in

ASSIGNOR = "sticky"
DEFAULT_STANDBYS, MOST_STANDBYS = 0, 2
"""What a broker gives a group that configures none, and the highest number that is tried where it is not known."""
BY_LOAD, BY_PAIRS = (">=4.2", NEWEST), ("4.1", (4, 1))
"""Ranges of releases that compute alike, and one release of each."""

MEMBER_MISSING = Reason(ReasonKind.EVIDENCE_MISSING, "the record of a member was not read")
TOPOLOGY_MISSING = Reason(ReasonKind.TOPOLOGY_UNKNOWN, "the record of the topology was not read")
COUNTS_MISSING = Reason(ReasonKind.PARTITIONS_UNKNOWN, "no sample shows the topics of the topology with these tasks")
UNSURE = Reason(
    ReasonKind.EQUAL_CHOICE, "the coordinator chose among equals in an order that rests on its memory, not on records"
)
FAILED = Reason(ReasonKind.CANNOT_RUN, "the assignor cannot be run on this input")
EARLY_ACCESS = Reason(ReasonKind.OTHER_RELEASE, f"{ASSIGNOR} of the release 4.1")


@dataclass(frozen=True, slots=True)
class StandbyCount:
    """A number of standbys that the coordinator may have used; `why`: what is assumed by that."""

    number: int
    why: Reason | None = None


@dataclass(frozen=True, slots=True)
class TasksVerdict:
    """The verdict, and what each member should have had; None where nothing was computed."""

    verdict: Verdict
    expected: dict[str, Units] | None = None


def published(computed: Computed, settings: StreamsSettings, history: TopicHistory, at_ms: int) -> Verdict:
    """The verdict on one target, with the partitions that each member should read."""
    found = judge(computed, settings, history, at_ms)
    if found.expected is None:
        return found.verdict
    reads = tasks.reads(computed.after, history, at_ms)
    expected = {name: ExpectedShare(assigned=read_by(tasks_in(of), reads)) for name, of in found.expected.items()}
    return replace(found.verdict, expected=expected)


def judge(computed: Computed, settings: StreamsSettings, history: TopicHistory, at_ms: int) -> TasksVerdict:
    """The verdict on one target, as if every record of the group before it was read."""
    group = computed.after
    if group.behind:
        return _not_judged(OVERTAKEN)
    if any(member.process is None for member in group.members.values()):
        return _not_judged(MEMBER_MISSING)
    if any(one.untold for one in computed.before.members.values()):
        return _not_judged(RECORDS_MISSING)
    if group.topology is None:
        return _not_judged(TOPOLOGY_MISSING)
    views = list(tasks.views(group, history, at_ms))
    if not views:
        return _not_judged(COUNTS_MISSING)
    first: dict[str, Units] | None = None
    unsure = False
    assumptions = list(product(_releases(computed), _counts(computed, settings), views))
    for (era, release, early), count, view in assumptions:
        why = early or view.why or (count.why if _has_state(view) else None)
        answer, expected = _answer(computed, view, count.number, release, len(assumptions))
        if answer is Comparison.SAME:
            grade = Grade.MATCH if why is None else Grade.EXPLAINABLE
            eras = () if view.subtopologies is None else (era,)
            return TasksVerdict(Verdict(grade=grade, assignor=ASSIGNOR, eras=eras, reason=why), expected)
        unsure |= answer is Comparison.UNSURE
        first = first or expected
    if unsure:
        return _not_judged(UNSURE)
    if first is None:
        return _not_judged(FAILED)
    if not any(one.sampled and tasks.fits(group, one) for one in views) and not tasks.holed(group):
        return _not_judged(COUNTS_MISSING)
    given = {name: member.wanted() for name, member in group.members.items()}
    other = next((name for name, of in first.items() if of != given[name]), "a member")
    reason = Reason(ReasonKind.OTHER_ANSWER, f"{other} was given other tasks than {ASSIGNOR} computes")
    return TasksVerdict(Verdict(grade=Grade.UNEXPLAINED, assignor=ASSIGNOR, reason=reason), first)


def _not_judged(why: Reason) -> TasksVerdict:
    return TasksVerdict(not_judged(ASSIGNOR, why))


def _has_state(view: TopologyView) -> bool:
    return any(one.stateful for one in view.subtopologies or ())


def _releases(computed: Computed) -> Iterator[tuple[str, Release, Reason | None]]:
    """The releases that can have computed the target. Only from 4.2 on the record of the group has tagged fields."""
    group = computed.after
    yield *BY_LOAD, None
    if group.validated is None and group.configs is None:
        yield *BY_PAIRS, EARLY_ACCESS


def _counts(computed: Computed, settings: StreamsSettings) -> list[StandbyCount]:
    """How many standbys a task with state may have, the likeliest number first."""
    stated = tasks.standbys_of(computed.after.configs)
    if stated is not None:
        return [StandbyCount(stated)]
    if computed.after.configs is not None:
        return [StandbyCount(DEFAULT_STANDBYS)]
    if settings.standbys is not None:
        return [StandbyCount(settings.standbys)]
    return [
        StandbyCount(
            number,
            Reason(ReasonKind.UNKNOWN_SETTINGS, f"{STANDBYS} is not known; {number} gives this answer"),
        )
        for number in range(DEFAULT_STANDBYS, MOST_STANDBYS + 1)
    ]


def _answer(
    computed: Computed, view: TopologyView, standbys: int, release: Release, assumptions: int
) -> tuple[Comparison, dict[str, Units] | None]:
    """How the target compares with what is computed from this view, and what is computed; one of so many assumptions,
    which share what may be tried. Where the assignor itself chose among equals, other orders tell nothing more."""
    wanted = {name: member.wanted() for name, member in computed.after.members.items()}
    if view.subtopologies is None:
        nothing = dict.fromkeys(wanted, NONE)
        return Comparison.SAME if wanted == nothing else Comparison.OTHER, nothing
    members = _members(computed)
    size = len(members) + (1 + standbys) * sum(one.partitions for one in view.subtopologies)
    orders = member_orders(members)
    first: dict[str, Units] | None = None
    for order in islice(orders, orders_to_try(size * assumptions)):
        outcome = streams_sticky.assign(_group(order, view.subtopologies, standbys), release=release)
        if not isinstance(outcome, StreamsResult):
            return Comparison.FAILED, None
        expected = {name: units_of(share) for name, share in outcome.shares.items()}
        if expected == wanted:
            return Comparison.SAME, expected
        first = first or expected
        if outcome.unsure:
            return Comparison.UNSURE, first
    if next(orders, None) is not None:
        return Comparison.UNSURE, first
    return Comparison.OTHER, first


def _group(members: tuple[StreamsMember, ...], parts: tuple[Subtopology, ...], standbys: int) -> StreamsGroup:
    return StreamsGroup(members=members, subtopologies=parts, standby_replicas=standbys)


def _members(computed: Computed) -> list[StreamsMember]:
    """The members with the tasks of their targets before."""
    found = []
    for name, member in computed.after.members.items():
        known = computed.before.members.get(name)
        target = known.target if known is not None and isinstance(known.target, StreamsTarget) else None
        found.append(
            StreamsMember(
                id=name,
                process_id=member.process or "",
                active=() if target is None else listed(target.active),
                standby=() if target is None else listed(target.standby),
            )
        )
    return found


def listed(of: Tasks) -> tuple[Task, ...]:
    return tuple((one.subtopology, number) for one in of for number in one.numbers)


def units_of(share: StreamsShare) -> Units:
    active = frozenset((ACTIVE, *task) for task in share.active)
    return active | frozenset((STANDBY, *task) for task in share.standby)
