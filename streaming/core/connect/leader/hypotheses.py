"""What may be in the mind of a Connect leader, as hypotheses (connect.md 5.4-5.6).

The incremental assignor keeps memory in the leader's process and writes none of it. Each worker that has led gets a
set of hypotheses; every generation runs each of them and keeps those that give the observed answer.

    generation 1   leader A has never led         {empty memory}                    -> match, memory m1
    generation 2   leader A again                 {m1}                              -> match, memory m2
    generation 3   leader B, never led            {empty memory}                    -> match
    generation 4   leader A, new id, null         {empty memory, m2}                -> whichever answers like the record
    generation 7   two generations are missing    {m} carried, then the fallback set -> at most "explainable"

At most MAX_HYPOTHESES are carried per process, the first found kept. From then on the process is marked as cut: one of
the carried minds that gives the observed answer is still a match, but where none does, the true one may be among those
that were left out, so the round is explainable by the bound, never unexplained; its memory then restarts from what the
record determines and is whole again. Memory of at most MAX_PROCESSES workers is kept, the most recent leaders.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from rebalance_monitor.assignors.connect.eras import ERAS, era_of
from rebalance_monitor.assignors.connect.model import Jobs, LeaderMemory
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.observed import ConnectorOrTask, Observed, WorkerView
from rebalance_monitor.streaming.core.model.derived import Derives, derived
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.settings import ConnectSettings
from .packed import LeaderHypothesis, PackedMinds, pack, unpack
from .unseen_leaders import UnseenGenerations

MAX_HYPOTHESES = 64
MAX_PROCESSES = 64
DEFAULT_MAX_DELAY_MS = 300_000
BOUND_EXCEEDED = Reason(
    ReasonKind.MEMORY_BOUND, f"more than {MAX_HYPOTHESES} leader memories were possible, the rest was not followed"
)


@dataclass(frozen=True, slots=True)
class Process(Derives):
    """A worker process that has led, under the member id it last led with.

    `unsure`: it may remember something else than these minds, for some of its rounds were not seen; `uncounted`: nobody
    knows how many of its rounds in a row have revoked for balance; `astray`: its last answer was unexplained.
    """

    member_id: str
    minds: PackedMinds
    cut: bool = False
    unsure: bool = False
    uncounted: bool = False
    astray: bool = False

    @classmethod
    def of(cls, member_id: str, known: "Carried") -> "Process":
        """The process with these possible minds."""
        return cls(member_id, pack(known.hypotheses), known.cut, known.unsure, known.uncounted, known.astray)

    @property
    @derived
    def hypotheses(self) -> tuple[LeaderHypothesis, ...]:
        return unpack(self.minds)


@dataclass(frozen=True, slots=True)
class Carried:
    """Hypotheses a round starts from. `complete` is False where unseen history may hide another memory, `cut` is True
    where the bound left some out, `unsure`, `uncounted` and `astray` are those of `Process`. `other_releases` are minds
    of a process that was never seen to lead, should it run another release than the leaders before it: clusters are
    upgraded worker by worker."""

    hypotheses: tuple[LeaderHypothesis, ...]
    complete: bool
    cut: bool = False
    other_releases: tuple[LeaderHypothesis, ...] = ()
    unsure: bool = False
    uncounted: bool = False
    astray: bool = False


def longest_delay_ms(settings: ConnectSettings, observed: Observed | None) -> int:
    """The maximum delay of this generation's leader by the configuration, else Kafka's default."""
    leading = None if observed is None else observed.leading
    known_ms = settings.max_delay_of(None if leading is None else leading.worker)
    return DEFAULT_MAX_DELAY_MS if known_ms is None else known_ms


def first_eras(settings: ConnectSettings) -> tuple[str, ...]:
    """The families to start from: the configured release's, or all, newest first; a release from before all families
    cannot be what leads a group that needs one."""
    if settings.release is not None:
        with suppress(ValueError):
            return (era_of(settings.release).name,)
    return all_eras()


def all_eras() -> tuple[str, ...]:
    return tuple(reversed(tuple(ERAS)))


def newest_first(eras: Iterable[str]) -> tuple[str, ...]:
    """Each of these families once, in the order of `all_eras`."""
    found = frozenset(eras)
    return tuple(era for era in all_eras() if era in found)


def eras_of(known: tuple[str, ...], settings: ConnectSettings) -> tuple[str, ...]:
    """The families a new leader is expected to be of: the configured release's, else those that the group has shown."""
    return first_eras(settings) if settings.release is not None or not known else known


def carried_into(
    view: WorkerView,
    processes: Mapping[str, Process],
    eras: Iterable[str],
    settings: ConnectSettings,
    *,
    seen_from_start: bool,
    may_have_led: bool = False,
    nameless: bool = False,
    new: bool = False,
) -> Carried:
    """What a leader may know when its round starts, by the identity rules of connect.md 5.4.

    A process that was never seen to lead `may_have_led` in rounds that were not seen, or before the history begins. A
    member without an allocation may be one that gave its jobs up, and has kept its memory.

    `nameless`: its address does not tell it from others, so only its member id does; then nobody knows who a `new`
    member, one that is not in the record before, was earlier.
    """
    max_delay_ms = settings.max_delay_of(view.worker)
    initial = first_minds(eras, max_delay_ms)
    known = next((one for one in processes.values() if one.member_id == view.member_id), None)
    if known is None and not nameless:
        known = processes.get(view.worker or view.member_id)
    if known is None:
        stranger = nameless and new
        complete = not view.had_allocation or (seen_from_start and not stranger)
        unsure = stranger or may_have_led or not seen_from_start
        others = _other_releases(initial, max_delay_ms)
        return Carried(initial, complete=complete, other_releases=others, unsure=unsure, uncounted=unsure)
    either, cut = with_configured(known.hypotheses, max_delay_ms), known.cut
    if known.member_id != view.member_id and not view.had_allocation:
        either, cut = bounded((*initial, *either))
    expected, others = _by_configured(either, settings)
    return Carried(
        expected,
        complete=True,
        cut=cut or known.cut,
        other_releases=(*others, *_other_releases(either, max_delay_ms)),
        unsure=known.unsure,
        uncounted=known.uncounted,
        astray=known.astray,
    )


def first_minds(eras: Iterable[str], max_delay_ms: int | None) -> tuple[LeaderHypothesis, ...]:
    """A process that has just started, of each of these families, with the maximum delay that is configured for it."""
    return tuple(LeaderHypothesis(era, LeaderMemory(), max_delay_ms) for era in eras)


def with_configured(hypotheses: tuple[LeaderHypothesis, ...], max_delay_ms: int | None) -> tuple[LeaderHypothesis, ...]:
    """The same with the configured maximum delay, whatever was inferred before somebody configured it."""
    if max_delay_ms is None or all(one.max_delay_ms == max_delay_ms for one in hypotheses):
        return hypotheses
    return tuple(dict.fromkeys(replace(one, max_delay_ms=max_delay_ms, at_least_ms=0) for one in hypotheses))


def guessed(hypotheses: Iterable[LeaderHypothesis], observed: Observed) -> list[LeaderHypothesis]:
    """With a maximum delay that the record would show, where none is known: the announced delay, or one ms more (a
    back-off is rounded down), or 0. A process that announced a longer delay before has another maximum."""
    seen_ms = observed.delay_ms
    tries = (seen_ms, seen_ms + 1) if seen_ms > 0 else (0,)
    return [
        replace(one, max_delay_ms=ms, at_least_ms=0)
        for one in hypotheses
        if one.max_delay_ms is None
        for ms in tries
        if ms >= one.at_least_ms
    ]


def usual(hypotheses: Iterable[LeaderHypothesis]) -> list[LeaderHypothesis]:
    """With Kafka's default maximum delay, or the longest announced, where none is known."""
    return [
        replace(one, max_delay_ms=max(DEFAULT_MAX_DELAY_MS, one.at_least_ms), at_least_ms=0)
        if one.max_delay_ms is None
        else one
        for one in hypotheses
    ]


def widest(hypotheses: Iterable[LeaderHypothesis]) -> list[LeaderHypothesis]:
    """Without those whose maximum delay is one of many that the answer allows."""
    found = list(hypotheses)
    open_ = {(one.era, one.memory) for one in found if one.max_delay_ms is None}
    return [one for one in found if one.max_delay_ms is None or (one.era, one.memory) not in open_]


def agreed_maximum(hypotheses: Iterable[LeaderHypothesis]) -> int | None:
    """The maximum delay of a process if all that it may remember agree on it: it stays what it is, whatever else the
    process remembers."""
    values = {one.max_delay_ms for one in hypotheses}
    return values.pop() if len(values) == 1 else None


def _by_configured(
    carried: tuple[LeaderHypothesis, ...], settings: ConnectSettings
) -> tuple[tuple[LeaderHypothesis, ...], tuple[LeaderHypothesis, ...]]:
    """Those of the configured release's family, and those of others. All are expected where the last answer showed
    another family, whose minds then come first."""
    family = first_eras(settings)
    if not carried or carried[0].era not in family:
        return carried, ()
    return tuple(one for one in carried if one.era in family), tuple(one for one in carried if one.era not in family)


def _other_releases(carried: tuple[LeaderHypothesis, ...], max_delay_ms: int | None) -> tuple[LeaderHypothesis, ...]:
    """First minds of further families, where the process may be one that has never led."""
    fresh = {one.era for one in carried if one.memory == LeaderMemory()}
    return first_minds((era for era in all_eras() if era not in fresh), max_delay_ms) if fresh else ()


def with_returning(
    processes: Mapping[str, Process],
    observed: Observed,
    last: Observed | None,
    eras: Iterable[str],
    settings: ConnectSettings,
    hole: UnseenGenerations | None = None,
) -> dict[str, Process]:
    """With those who come back to an address that has led, under their new member ids.

    Who brings jobs along is the process that left. Who brings none is another process or has given its jobs up: it may
    remember nothing, and by the time it leads itself its first join is long gone.
    """
    found = dict(processes)
    if hole is not None:  # of the leader behind it the answer tells more
        leader = observed.leader
        leading = observed.process_of(leader) if leader is not None and leader in observed.views else None
        doubted = [name for name in processes if name != leading and hole.may_have_led(name)]
        found |= {name: replace(processes[name], unsure=True, uncounted=True) for name in doubted}
    for member_id, view in observed.views.items():
        name = observed.process_of(member_id)
        known = found.get(name)
        if known is None or known.member_id == member_id or (last is not None and member_id in last.views):
            continue
        minds, cut = known.hypotheses, False
        if not view.had_allocation or observed.unseen:
            minds, cut = bounded((*first_minds(eras, settings.max_delay_of(view.worker)), *known.hypotheses))
        found[name] = replace(known, member_id=member_id, minds=pack(minds), cut=cut or known.cut)
    return found


def bounded(hypotheses: Iterable[LeaderHypothesis]) -> tuple[tuple[LeaderHypothesis, ...], bool]:
    """Equal ones once, in the order found, at most MAX_HYPOTHESES; and whether others were left out."""
    distinct = tuple(dict.fromkeys(hypotheses))
    return distinct[:MAX_HYPOTHESES], len(distinct) > MAX_HYPOTHESES


def remembered(processes: Mapping[str, Process], worker: str, process: Process) -> dict[str, Process]:
    """With this process as the most recent leader."""
    kept = {name: one for name, one in processes.items() if name != worker and one.member_id != process.member_id}
    while len(kept) >= MAX_PROCESSES:
        del kept[next(iter(kept))]
    return {**kept, worker: process}


def jobs(items: Iterable[ConnectorOrTask]) -> Jobs:
    """Split into connectors and tasks, sorted: memory is only ever asked for membership."""
    items = list(items)
    return Jobs(
        tuple(sorted(job for job in items if isinstance(job, str))),
        tuple(sorted(job for job in items if not isinstance(job, str))),
    )
