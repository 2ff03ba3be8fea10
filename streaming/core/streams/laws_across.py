"""Laws across generations of a Streams group: S-18 to S-21 and S-29."""

from rebalance_monitor.assignors.streams.application import RUNNING
from rebalance_monitor.assignors.streams.tasks import task_of
from rebalance_monitor.streaming.core.model.results import Evidence
from rebalance_monitor.streaming.core.streams.catalogue_across import (
    NO_PROGRESS,
    NOT_CONVERGED,
    PING_PONG,
    STATE_LOST,
    UNSTABLE_OUTPUT,
)
from rebalance_monitor.streaming.core.streams.facts import OK, Facts, Violations, found, listed
from rebalance_monitor.streaming.core.streams.no_progress import no_progress
from rebalance_monitor.streaming.core.streams.past import MOST_TURNS, Past

FAR_BELOW = 10_000
"""The default of acceptable.recovery.lag: a sum that is lower by less may be what a store does when it opens."""


def needless_moves(before: Past, now: Past, facts: Facts) -> Violations:
    """S-18."""
    moved = _moved(before, now, facts)
    if moved is None:
        return None
    stateful = [task_of(task) for task in moved if facts.with_state(task_of(task))]
    text = f"{listed(stateful)} moved between the same members, and nothing was to move any more"
    return found(NOT_CONVERGED, facts, text) if stateful else OK


def unstable_output(before: Past, now: Past, facts: Facts) -> Violations:
    """S-20."""
    moved = _moved(before, now, facts)
    if moved is None or any(facts.with_state(task_of(task)) for task in moved):
        return None
    text = f"{listed(map(task_of, moved))} moved between the same members, and no task with state did"
    return found(UNSTABLE_OUTPUT, facts, text) if moved else OK


def _moved(before: Past, now: Past, facts: Facts) -> list[str] | None:
    """Tasks in other places than before, where nothing that an assignor looks at has changed."""
    if not (before.settled and now.settled and facts.high_availability and facts.state_known):
        return None
    if (before.processes, before.leader) != (now.processes, now.leader) or before.runs.keys() != now.runs.keys():
        return None
    return [task for task, process in now.runs.items() if before.runs[task] != process]


def ping_pong(before: Past, now: Past, facts: Facts) -> Violations:
    """S-21."""
    turns = [
        task_of(task)
        for task, path in now.paths.items()
        if len(path) == MOST_TURNS and path[0] == path[2] and path[1] == path[3] and path[0] != path[1]
    ]
    return found(PING_PONG, facts, f"{listed(turns)} went back and forth twice between two processes") if turns else OK


def state_lost(before: Past, now: Past, facts: Facts) -> Violations:
    """S-29. Where every process reports less of a task than before, its changelog was made anew."""
    far = max(facts.settings.acceptable_lag or 0, FAR_BELOW)
    for name, won in sorted(before.won.items()):
        task = task_of(name)
        sums = {str(process): total for process, total in facts.sums.get(task, {}).items()}
        total = sums.get(won.process)
        if total is None or total in (RUNNING, 0) or total + far > won.total:
            continue
        others = [other for process, other in sums.items() if process != won.process]
        if others and all(0 <= other < won.total - far for other in others):
            continue
        text = f"{name} was given to process {won.process}, which reported {won.total} of it, and now reports {total}"
        return found(STATE_LOST, facts, text, evidence=(Evidence(source=won.source),))
    return OK


ACROSS_LAWS = (
    (NOT_CONVERGED, needless_moves),
    (NO_PROGRESS, no_progress),
    (UNSTABLE_OUTPUT, unstable_output),
    (PING_PONG, ping_pong),
    (STATE_LOST, state_lost),
)
