"""A Streams application's history with other standbys, warm-ups or acceptable lag: who was there is kept, and what each
process had copied of a task in the records; where tasks and copies go is computed.

    recorded, no standby             computed, one standby
    generation 7   A 0_0   B 0_1     A 0_0 (0_1)   B 0_1 (0_0)
    generation 8   B 0_0 0_1         B 0_0 0_1     if B's copy of 0_0 had caught up, nothing is restored

The leader's target is computed: where tasks are once threads have given up what goes to others. A rebalance is computed
if the record's own settings give its target from what its members report. A copy that was in no record may have caught
up at once, or not at all: both are courses. So are the end offsets that give the recorded target: those of the verdict,
the least and far ones.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from uuid import UUID

from rebalance_monitor.assignors.streams.application import (
    RUNNING,
    AssignmentConfigs,
    StreamsApplication,
    StreamsClient,
    StreamsConsumer,
    StreamsTask,
)
from rebalance_monitor.assignors.streams.built_in import BuiltIn, recompute
from rebalance_monitor.assignors.streams.eras import ERAS
from rebalance_monitor.assignors.streams.failures import LeaderFailed
from rebalance_monitor.assignors.streams.tasks import Release, TaskId, task_of
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.streams.caught_up import FAR
from rebalance_monitor.streaming.stories.known import Published
from .change import CannotPredict, WrongChange
from .history import HistoryAnswer, HistoryFigures
from .other_members import EARLIER_LIFE, last_life

MOST_COPIES = 100
NOT_PLACED_BY_LAG = "its placement is not known to come from lags alone: another assignor, racks or an error"
NO_FIT = "what its members report does not give its recorded placement"
NOT_SAMPLED = "brokers did not say where the changelogs of its copies end"
NOT_NEXT = "the generation before is missing, or could not be computed"
_RELEASES: Mapping[str, Release] = {era.name: era.since for era in ERAS}
ReportedSums = Mapping[str, Mapping[TaskId, int]]
"""What each process reports of each task with state."""


@dataclass(frozen=True, slots=True)
class StreamsSetting:
    """What is asked about; None stays as it is. By Kafka's names: num.standby.replicas, max.warmup.replicas and
    acceptable.recovery.lag (records)."""

    standbys: int | None = None
    warm_ups: int | None = None
    acceptable_lag: int | None = None


@dataclass(frozen=True, slots=True)
class PlacedTasks:
    """Where tasks run, and where copies of them are."""

    active: Mapping[TaskId, str] = field(default_factory=dict)
    copies: frozenset[tuple[TaskId, str]] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsRound:
    """One rebalance as its leader sees it. `sampled`: brokers said where the changelogs of all reported copies end.
    `begins`: computing begins with it."""

    at_ms: int
    release: Release
    tasks: tuple[TaskId, ...]
    threads: Mapping[str, tuple[str, ...]]
    sums: ReportedSums
    ends: Mapping[TaskId, int]
    sampled: bool
    configs: AssignmentConfigs
    recorded: PlacedTasks
    begins: bool = False

    def placed(self, sums: ReportedSums, ends: Mapping[TaskId, int], configs: AssignmentConfigs) -> PlacedTasks | None:
        """What the leader gives; None where it fails."""
        answer = self.answer(sums, ends, configs)
        return None if answer is None else answer[0]

    def answer(
        self, sums: ReportedSums, ends: Mapping[TaskId, int], configs: AssignmentConfigs
    ) -> tuple[PlacedTasks, bool] | None:
        """The same, and whether a probing rebalance follows."""
        application = StreamsApplication(
            release=self.release,
            tasks=tuple(
                StreamsTask(id=one, stateful=one in ends, end_offset_sum=ends.get(one, 0)) for one in self.tasks
            ),
            clients=tuple(
                StreamsClient(
                    process_id=UUID(name),
                    consumers=tuple(
                        StreamsConsumer(id=thread, offset_sums=sums.get(name, {}) if thread == threads[0] else {})
                        for thread in threads
                    ),
                )
                for name, threads in self.threads.items()
            ),
            configs=configs,
        )
        try:
            found = recompute(application, BuiltIn.HIGH_AVAILABILITY)
        except LeaderFailed:
            return None
        placed = PlacedTasks(
            {task: str(name) for name, share in found.shares.items() for task in share.active},
            frozenset((task, str(name)) for name, share in found.shares.items() for task in share.standby),
        )
        return placed, found.followup


@dataclass(frozen=True, slots=True)
class CopyCourse:
    """`at_once`: copies that were in no record have caught up by the next rebalance; if not, they never do."""

    at_once: bool
    ends: str


COURSES = [CopyCourse(*one) for one in product((True, False), ("verdict", "least", "far"))]


def under_streams_setting(
    generations: Sequence[Published], setting: StreamsSetting, until_ms: int = 0
) -> HistoryAnswer:
    """`generations`: the newest first; those of its last life are computed. `until_ms`: so long the newest one lasted.
    CannotPredict, WrongChange."""
    for name, asked in (("standbys", setting.standbys), ("warm-ups", setting.warm_ups)):
        if asked is not None and not 0 <= asked <= MOST_COPIES:
            raise WrongChange(f"{asked} is no number of {name} that is computed; take one from 0 to {MOST_COPIES}")
    if setting.warm_ups == 0 or (setting.acceptable_lag or 0) < 0:
        raise WrongChange("Kafka takes no max.warmup.replicas below 1, and no acceptable.recovery.lag below 0")
    if not generations or "streams" not in generations[0] or generations[0]["lifecycle"] != "classic":
        raise CannotPredict(
            "only Kafka Streams with the classic protocol is computed under this setting; of other consumers those are"
            " another assignor, static members, another number of members and the protocol of KIP-848"
        )
    life = last_life(generations)
    left_out: Counter[str] = Counter({EARLIER_LIFE: len(generations) - len(life)})
    rounds = list(_rounds(life, setting, left_out))
    if all(one.begins for one in rounds):
        told = "; ".join(f"{count} times: {why}" for why, count in (+left_out).items())
        raise CannotPredict(f"no rebalance can be computed ({told or 'there was none'})")
    ends_ms = _ends_ms(rounds, life, until_ms)
    courses = [found for one in COURSES if (found := _played(rounds, one, setting, ends_ms)) is not None]
    if not courses:
        raise CannotPredict("the leader gives no answer under this setting")
    recorded = _recorded(rounds, ends_ms)
    return HistoryAnswer(recorded=recorded, courses=tuple(dict.fromkeys(courses)), left_out=+left_out)


def own_setting(generations: Sequence[Published]) -> StreamsSetting:
    """What the newest generation that tells it was placed by."""
    for one in generations:
        by = one.get("streams", {}).get("placed_by")
        if by is not None:
            return StreamsSetting(by["standbys"], by["warm_ups"], by["acceptable_lag"])
    return StreamsSetting()


def _rounds(life: Sequence[Published], setting: StreamsSetting, left_out: Counter[str]) -> Iterator[StreamsRound]:
    """Those that can be computed; where computing begins, the first one is the state that it begins with."""
    number, begins = life[0]["generation"] - 1, True
    for one in (one for one in life if not one.get("repeats")):
        begins = begins or one["generation"] != number + 1
        number = one["generation"]
        found = round_of(one, setting)
        if one is not life[0] and (begins or isinstance(found, str)):
            left_out[found if isinstance(found, str) else NOT_NEXT] += 1
        if not isinstance(found, str):
            yield replace(found, begins=begins)
        begins = isinstance(found, str)


def round_of(generation: Published, setting: StreamsSetting) -> StreamsRound | str:
    """As the leader of this generation saw it; why it cannot be computed, if it cannot."""
    streams = generation["streams"]
    by = streams.get("placed_by")
    if by is None or not streams["roles_known"] or generation["verdict"]["era"] not in _RELEASES:
        return NOT_PLACED_BY_LAG
    ends = {task_of(name): end for name, end in by["ends"].items()}
    active, copies, sums = dict[TaskId, str](), set[tuple[TaskId, str]](), dict[str, dict[TaskId, int]]()
    sampled = True
    for one in streams["processes"]:
        name = one["process_id"]
        reported = {task_of(task): total for task, total in one["offset_sums"].items()}
        sums[name] = {task: total for task, total in reported.items() if task in ends}
        lags = {task_of(task): lag for task, lag in (one.get("lags") or {}).items()}
        for task, total in sums[name].items():
            if total >= 0:
                sampled = sampled and task in lags
                if task in lags:
                    ends[task] = max(ends[task], total + lags[task])
        for thread in one["threads"]:
            active |= {task_of(task): name for task in (*thread["active"], *thread["withheld"])}
            copies |= {(task_of(task), name) for task in thread["standby"] if task not in thread["transient"]}
    if setting.acceptable_lag is not None and not sampled:
        return NOT_SAMPLED
    found = StreamsRound(
        at_ms=generation["at_ms"],
        release=_RELEASES[generation["verdict"]["era"]],
        tasks=tuple(active),
        threads={
            one["process_id"]: tuple(thread["member_id"] for thread in one["threads"]) for one in streams["processes"]
        },
        sums=sums,
        ends=ends,
        sampled=sampled,
        configs=AssignmentConfigs(
            num_standby_replicas=by["standbys"],
            max_warmup_replicas=by["warm_ups"],
            acceptable_recovery_lag=by["acceptable_lag"],
        ),
        recorded=PlacedTasks(active, frozenset(copies)),
    )
    return found if found.placed(sums, ends, found.configs) == found.recorded else NO_FIT


def _ends_of(one: StreamsRound, course: CopyCourse) -> Mapping[TaskId, int]:
    """The end offsets of this course, if the recorded placement comes with them; else those of the verdict."""
    if one.sampled or course.ends == "verdict":
        return one.ends
    most = {task: max((sums.get(task, 0) for sums in one.sums.values()), default=0) for task in one.ends}
    far = one.configs.acceptable_recovery_lag + FAR if course.ends == "far" else 0
    ends = {task: max(total, 0) + far for task, total in most.items()}
    return ends if one.placed(one.sums, ends, one.configs) == one.recorded else one.ends


def _played(
    rounds: Sequence[StreamsRound], course: CopyCourse, setting: StreamsSetting, ends_ms: Sequence[int]
) -> HistoryFigures | None:
    """None where the leader fails."""
    total = HistoryFigures()
    placed, had, before = PlacedTasks(), dict[str, set[TaskId]](), rounds[0]
    for one, end_ms in zip(rounds, ends_ms, strict=True):
        ends = _ends_of(one, course)
        configs = _asked(one.configs, setting)
        if one.begins:
            had = {name: set(sums) for name, sums in one.sums.items()}
            start = one.placed(one.sums, ends, configs)
            if start is None:
                return None
            placed = start
        else:
            sums = _reports(one, before, placed, had, ends, at_once=course.at_once)
            now = one.placed(sums, ends, configs)
            if now is None:
                return None
            total += _step(placed, now, sums, ends)
            placed = now
        before = one
        for task, name in (*placed.active.items(), *placed.copies):
            if task in ends:
                had.setdefault(name, set()).add(task)
        total += HistoryFigures(bare_ms=_bare(placed, ends) * (end_ms - one.at_ms))
    return total


def _asked(own: AssignmentConfigs, setting: StreamsSetting) -> AssignmentConfigs:
    standbys, warm_ups, lag = setting.standbys, setting.warm_ups, setting.acceptable_lag
    return replace(
        own,
        num_standby_replicas=own.num_standby_replicas if standbys is None else standbys,
        max_warmup_replicas=own.max_warmup_replicas if warm_ups is None else warm_ups,
        acceptable_recovery_lag=own.acceptable_recovery_lag if lag is None else lag,
    )


def _reports(
    one: StreamsRound,
    before: StreamsRound,
    placed: PlacedTasks,
    had: Mapping[str, set[TaskId]],
    ends: Mapping[TaskId, int],
    *,
    at_once: bool,
) -> ReportedSums:
    """What each process would report: as recorded of what it has here, too. One that is new brings what its disk has.
    `placed`: by the generation before."""
    found: dict[str, dict[TaskId, int]] = {}
    for name, threads in one.threads.items():
        recorded = one.sums.get(name, {})
        if name not in had:
            found[name] = dict(recorded)
            continue
        runs = {task for task, process in placed.active.items() if process == name and task in ends}
        own = found[name] = {
            task: ends[task] if total == RUNNING and task not in runs else total
            for task, total in recorded.items()
            if task in had[name] or task not in before.ends
        }
        runs_here_alone = [task for task in runs if before.recorded.active.get(task) != name]
        if set(threads) & set(before.threads.get(name, ())):
            own |= dict.fromkeys(runs_here_alone, RUNNING)
        else:  # it was started again, with what its disk has
            own |= {task: ends[task] for task in runs_here_alone if task not in own}
        if at_once:
            copied = [task for task, process in placed.copies - before.recorded.copies if process == name]
            own |= {task: ends[task] for task in copied if task in ends and task not in own}
    return found


def _step(before: PlacedTasks, now: PlacedTasks, sums: ReportedSums, ends: Mapping[TaskId, int]) -> HistoryFigures:
    went = {task: name for task, name in now.active.items() if before.active.get(task, name) != name}
    begun = {(task, name) for task, name in now.copies if before.active.get(task) != name} - before.copies
    restored = [task for task, name in went.items() if task in ends and task not in sums[name]]
    return HistoryFigures(1, len(went), restored=len(restored), copied=len(begun))


def _bare(placed: PlacedTasks, ends: Mapping[TaskId, int]) -> int:
    """How many tasks with state have no copy in another process."""
    copied = {task for task, _ in placed.copies}
    return sum(task in ends and task not in copied for task in placed.active)


def _recorded(rounds: Sequence[StreamsRound], ends_ms: Sequence[int]) -> HistoryFigures:
    total, placed = HistoryFigures(), PlacedTasks()
    for one, end_ms in zip(rounds, ends_ms, strict=True):
        if not one.begins:
            total += _step(placed, one.recorded, one.sums, one.ends)
        placed = one.recorded
        total += HistoryFigures(bare_ms=_bare(placed, one.ends) * (end_ms - one.at_ms))
    return total


def _ends_ms(rounds: Sequence[StreamsRound], life: Sequence[Published], until_ms: int) -> list[int]:
    """Until when each lasted: until the next record, whether it can be computed or not."""
    times = sorted({one["at_ms"] for one in life} | {max(until_ms, life[-1]["at_ms"])})
    after = dict(pairwise(times))
    return [after.get(one.at_ms, one.at_ms) for one in rounds]
