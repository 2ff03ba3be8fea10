"""Laws across generations of a Streams group: S-18 to S-21 and S-29."""

from math import ceil

from rebalance_monitor.assignors.streams.application import RUNNING
from rebalance_monitor.assignors.streams.tasks import task_of
from rebalance_monitor.streaming.core.model.results import Certainty, Evidence, Severity
from rebalance_monitor.streaming.core.streams.catalogue_across import (
    NO_PROGRESS,
    NOT_CONVERGED,
    PING_PONG,
    STATE_LOST,
    UNSTABLE_OUTPUT,
)
from rebalance_monitor.streaming.core.streams.facts import OK, Facts, Violations, found, listed
from rebalance_monitor.streaming.core.streams.past import MOST_TURNS, Pace, Past, bound_of, copy_sums

NAMED = 3
"""Copies that a message names."""
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


def no_progress(before: Past, now: Past, facts: Facts) -> Violations:
    """S-19. A copy whose sum grows may still catch up: that depends on how fast its changelog is written. Where brokers
    say it, a copy that restores faster than that makes progress, however slow it is; where nobody says it, this is not
    known."""
    probing, bound = now.probing, bound_of(facts)
    if bound is None or not facts.high_availability:
        return None
    if probing.stuck <= bound:
        return OK
    sums, earlier = copy_sums(facts), before.probing.sums
    stuck = sorted(copy for copy, total in sums.items() if earlier.get(copy, -1) >= total)
    growing = sorted(sums.keys() - set(stuck))
    paces = {copy: probing.paces[copy] for copy in growing if copy in probing.paces and probing.paces[copy].known}
    nearing = [copy for copy, pace in paces.items() if pace.left_ms is not None]
    falls_behind = len(paces) == len(growing) and not nearing
    said = [f"{probing.rounds} probing rebalances, {bound} are enough if copies catch up"]
    if stuck:
        said.append("copies that made no progress: " + ", ".join(f"{copy} at {sums[copy]}" for copy in stuck[:NAMED]))
    said += [_paced(copy, paces[copy]) for copy in (nearing or list(paces))[:NAMED]]
    if len(paces) < len(growing) and not nearing:
        unknown = ", ".join(f"{copy} at {sums[copy]}" for copy in growing if copy not in paces)
        said.append(f"copies that restore, and how fast their changelogs are written is not known: {unknown}")
    text = "; ".join(said)
    first = (Evidence(source=probing.source),) if probing.source is not None else ()
    if growing and not falls_behind:
        certainty = Certainty.LIKELY if nearing else Certainty.POSSIBLE
        return found(NO_PROGRESS, facts, text, severity=Severity.INFO, certainty=certainty, evidence=first)
    certainty = Certainty.LIKELY if growing else Certainty.CERTAIN
    return found(NO_PROGRESS, facts, text, certainty=certainty, evidence=first)


def _paced(copy: str, pace: Pace) -> str:
    """How a copy restores, and when it catches up."""
    rates = f"{copy} restores {pace.restored_per_s:.1f} records a second, {pace.written_per_s:.1f} are written"
    if pace.left_ms is None:
        return f"{rates}: it is {pace.behind} behind and does not catch up so"
    return f"{rates}: it is {pace.behind} behind and catches up in about {ceil(pace.left_ms / 1000)} s if both go on so"


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
