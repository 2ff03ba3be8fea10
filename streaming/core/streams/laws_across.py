"""Laws across generations of a Streams group: S-18 to S-21 and S-29.

S-19 is about probing rebalances that lead nowhere, and the causes that fit what was seen.

A copy that is not caught up keeps its task from moving. Offset sums over the rounds tell whether it restores, end
offsets over time how fast its changelog is written:

    sums over the rounds      end offsets       what fits
    900, 900, 900             5,000, 6,000      it does not restore
    900, 1,000, 1,100         5,000, 5,250      it restores more slowly than its changelog is written
    4,800, 5,800, 6,800       5,000, 6,000 …    it stays at a distance that is above acceptable.recovery.lag
    900, 20, 120              whatever          its state was lost: the directory was emptied, or was another one

A process that comes back under another id begins a new count, so changing process ids are never the cause. A cause
that nothing speaks for is not named.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from math import ceil

from rebalance_monitor.assignors.streams.application import RUNNING
from rebalance_monitor.assignors.streams.tasks import task_of
from rebalance_monitor.streaming.core.model import messages
from rebalance_monitor.streaming.core.model.messages import utc
from rebalance_monitor.streaming.core.model.results import Certainty, Evidence, Severity
from .bugs import IGNORED_REJOINS
from .catalogue_across import NO_PROGRESS, NOT_CONVERGED, PING_PONG, STATE_LOST, UNSTABLE_OUTPUT
from .facts import OK, Facts, Violations, found, listed
from .past import MOST_TURNS, Pace, Past, Probing, bound_of, copy_sums

NAMED = 3
"""Copies that a message names."""


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
    paces = {copy: probing.paces[copy] for copy in sums if copy in probing.paces and probing.paces[copy].known}
    known = {copy: paces[copy] for copy in growing if copy in paces}
    nearing = [copy for copy, pace in known.items() if pace.left_ms is not None]
    falls_behind = len(known) == len(growing) and not nearing
    said = [f"{probing.rounds} probing rebalances, {bound} are enough if copies catch up"]
    if stuck:
        listed = ", ".join(f"{copy} at {_over_rounds(probing, copy, sums)}" for copy in stuck[:NAMED])
        said.append(f"copies that made no progress: {listed}")
    said += [
        _paced(copy, known[copy], _over_rounds(probing, copy, sums), facts.at_ms)
        for copy in (nearing or list(known))[:NAMED]
    ]
    if len(known) < len(growing) and not nearing:
        unknown = ", ".join(f"{copy} at {_over_rounds(probing, copy, sums)}" for copy in growing if copy not in known)
        said.append(f"copies that restore, and how fast their changelogs are written is not known: {unknown}")
    causes = list(_causes(facts, probing, stuck, known if falls_behind else {}, paces))
    if causes:
        said.append(f"what fits: {'; '.join(causes)}")
    text = "; ".join(said)
    first = (Evidence(source=probing.source),) if probing.source is not None else ()
    if growing and not falls_behind:
        certainty = Certainty.LIKELY if nearing else Certainty.POSSIBLE
        return found(NO_PROGRESS, facts, text, severity=Severity.INFO, certainty=certainty, evidence=first)
    certainty = Certainty.LIKELY if growing else Certainty.CERTAIN
    return found(NO_PROGRESS, facts, text, certainty=certainty, evidence=first)


def _over_rounds(probing: Probing, copy: str, sums: Mapping[str, int]) -> str:
    """The copy's offset sums in the last rounds, oldest first."""
    return " → ".join(map(str, probing.trails.get(copy, (sums[copy],))))


def _paced(copy: str, pace: Pace, over_rounds: str, at_ms: int) -> str:
    """How a copy restored at this time, and when it catches up; else its offset sums."""
    rates = f"{copy} restored {pace.restored_per_s:.1f} records a second, {pace.written_per_s:.1f} were written"
    if pace.left_ms is None:
        return f"{rates}: at {over_rounds} it was {pace.behind} behind and does not catch up at this rate"
    then = utc(at_ms + 1_000 * ceil(pace.left_ms / 1000))
    return f"{rates}: it was {pace.behind} behind and catches up at about {then} if both go on so"


def _causes(
    facts: Facts, probing: Probing, stuck: Iterable[str], behind: Mapping[str, Pace], paces: Mapping[str, Pace]
) -> Iterator[str]:
    """The causes that speak from the data. `behind`: copies that restore and come no nearer; `paces`: of all copies."""
    lost = [copy for copy, trail in probing.trails.items() if any(later < sum_ for sum_, later in pairwise(trail))]
    if lost:
        yield f"state was lost, its directory emptied or another one: the offset sum fell ({_named(lost)})"
    still = [copy for copy in stuck if copy not in lost and (copy not in paces or paces[copy].behind)]
    if still:
        yield f"a copy does not restore: its process or its disk stands still ({_named(still)})"
    slower = [copy for copy, pace in behind.items() if not pace.steady]
    if slower:
        yield f"copies restore more slowly than their changelogs are written ({_named(slower)})"
    acceptable = facts.settings.acceptable_lag
    apart = [copy for copy, pace in behind.items() if pace.steady and (acceptable is None or pace.behind > acceptable)]
    if apart:
        least = min(behind[copy].behind for copy in apart)
        limit = "is not known" if acceptable is None else f"is {acceptable}"
        yield f"acceptable.recovery.lag ({limit}) is below the lag at which a copy stays ({least}; {_named(apart)})"
    if probing.late and facts.may_have(IGNORED_REJOINS):
        yield f"{IGNORED_REJOINS.issue}: {probing.late} rebalances came long after the time that the leader had set"


def _named(copies: list[str]) -> str:
    return messages.listed(sorted(copies), NAMED)


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
