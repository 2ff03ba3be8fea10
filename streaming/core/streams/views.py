"""How far a Streams application is from its target placement, how evenly its tasks are shared, which copies it lacks.

A probing rebalance moves the tasks whose copies have caught up, and gives warm-ups to others, at most
max.warmup.replicas at a time. So at best

    5 tasks to move, 2 of them have copies where they go, 2 warm-ups allowed
    3 probing rebalances: 2 tasks move and 2 warm up, 2 move and 1 warms up, 1 moves

and the last one is two intervals after the next one. Where nobody tells the interval, the record does: the deadline is
one interval after the moment in which the leader assigned, and so at least as far from the record as it is.

    record 10:00:00, deadline 10:09:58     the interval is 9 min 58 s at least: not before 10:29:54

No time is told while threads join again at once, as they do when tasks change hands: then each such rebalance moves
what has caught up.
"""

from math import ceil

from rebalance_monitor.assignors.streams.tasks import sorted_tasks
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.model.details import Balance, PlacedBy, StreamsDetail, StreamsProgress
from .facts import Facts
from .grading import Judged
from .observed import detail_of
from .past import Past


def viewed(facts: Facts, past: Past, at_ms: int) -> StreamsDetail:
    """The record's detail with what is seen in it beyond single tasks; `past` is that after the record."""
    stateful = [sum(map(facts.with_state, tasks)) for tasks in facts.active.values()]
    every = [len(tasks) for tasks in facts.active.values()]
    stateless = [total - part for total, part in zip(every, stateful, strict=True)]
    wanted = facts.wanted_copies
    detail = detail_of(
        facts.record,
        facts.judged.roles,
        wanted=None if facts.failed else wanted,
        balance=Balance(
            stateful=(min(stateful), max(stateful)),
            stateless=(min(stateless), max(stateless)),
        ),
        progress=_progress(facts, past, at_ms),
        ends=facts.last_end,
    )
    return replace(detail, placed_by=_placed_by(facts.judged))


def _placed_by(judged: Judged) -> PlacedBy | None:
    found = judged.hypothesis
    if found is None or judged.ideal is None or found.racks is not None or found.configs.rack_aware_assignment_tags:
        return None
    return PlacedBy(
        standbys=found.configs.num_standby_replicas,
        warm_ups=found.configs.max_warmup_replicas,
        acceptable_lag=found.configs.acceptable_recovery_lag,
        ends={str(task): found.ends[task] for task in sorted_tasks(found.ends)},
    )


def _progress(facts: Facts, past: Past, at_ms: int) -> StreamsProgress | None:
    misplaced, found = facts.misplaced, facts.judged.hypothesis
    ideal, target = facts.judged.ideal, facts.judged.target()
    if misplaced is None or found is None or ideal is None or target is None:
        return None
    left = len(misplaced)
    next_ms = min((time for time in facts.times if time > 0), default=None)
    cold = sum(ideal[task].active not in (target[task].active, *target[task].copies) for task in misplaced)
    rebalances = 1 + ceil(cold / max(found.configs.max_warmup_replicas, 1)) if left else 0
    interval_ms = facts.settings.probing_interval_ms
    if interval_ms is None and next_ms is not None:
        interval_ms = max(next_ms - at_ms, 0)
    first_ms = next_ms if next_ms is not None or interval_ms is None else at_ms + interval_ms
    not_before_ms = first_ms if rebalances else None
    if _at_once(facts):
        not_before_ms = None
    elif rebalances > 1 and first_ms is not None:
        not_before_ms = None if interval_ms is None else first_ms + (rebalances - 1) * interval_ms
    return StreamsProgress(
        moves_left=left,
        rebalances=rebalances,
        not_before_ms=not_before_ms,
        next_ms=next_ms,
        probed=past.probing.rounds,
        stuck=past.probing.stuck,
    )


def _at_once(facts: Facts) -> bool:
    """Whether threads join again without waiting for a probing rebalance: they are told to, or give partitions up."""
    given_up = any(set(thread.wanted.owned) - set(thread.given.partitions) for thread in facts.record.threads)
    return given_up or 0 in facts.times
