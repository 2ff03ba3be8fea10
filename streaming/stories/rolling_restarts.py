"""Rolling restarts, as of a deployment: every dynamic member of a group is replaced, once.

Static members that come back within their session time-out need no rebalance for it (coordinator-log.md 5.2).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rebalance_monitor.streaming.core.model.messages import counted, utc
from .durations import duration
from .rebalances import Explained, SeenRebalance

RESTART_GAP_MS = 300_000
"""Rebalances of one rolling restart follow each other within this time."""
LEAST_REPLACED = LEAST_REBALANCES = 3
"""Members that a rolling restart replaces, at least, and rebalances of it."""
MOST_TOLD = 3
CLOSED = "the consumer is being closed"
"""What Kafka's own consumer gives as its reason when its process stops (`ConsumerCoordinator.java`, 3.2 and later)."""


@dataclass(frozen=True, slots=True)
class RestartRun:
    """`places`: its rebalances among those that were looked at. `replaced`: members, each once."""

    places: tuple[int, ...]
    from_ms: int
    until_ms: int
    replaced: int

    def __str__(self) -> str:
        took = duration(self.until_ms - self.from_ms)
        return f"{counted(self.replaced, 'member')} in {counted(len(self.places), 'rebalance')} within {took}"


def restart_runs(known: Sequence[SeenRebalance]) -> list[RestartRun]:
    """Runs of rebalances in which every dynamic member was replaced by another, once."""
    runs = _apart([part for run in _runs(known) for part in _replacing_all(run, known)], known)
    return [
        RestartRun(tuple(run), known[run[0]].at_ms, known[run[-1]].at_ms, sum(len(known[place].went) for place in run))
        for run in runs
    ]


def rolling_restarts(known: Sequence[SeenRebalance]) -> Mapping[int, Explained]:
    """What is to be said of each rebalance of a rolling restart."""
    restarts = restart_runs(known)
    if not restarts:
        return {}
    runs = [one.places for one in restarts]
    told = [f"{one} from {utc(one.from_ms)}" for one in restarts[-MOST_TOLD:]]
    avoided, all_of_them = sum(_avoidable(run, known) for run in runs), sum(map(len, runs))
    unknown = any(known[place].left(member) is None for run in runs for place in run for member in known[place].went)
    times = "a rolling restart" if len(runs) == 1 else f"{len(runs)} rolling restarts"
    text = (
        f"{times}, as of a deployment: every dynamic member was replaced, once: {'; '.join(told)}; static membership"
        f" (`group.instance.id`) would have avoided {avoided} of {all_of_them}, those of members that were back within"
        f" their session time-out{', if these left by a request, which no record tells' if unknown and avoided else ''}"
    )
    return {place: Explained(code="rolling_restart", names=(), text=text) for run in runs for place in run}


def _runs(known: Sequence[SeenRebalance]) -> Iterator[list[int]]:
    """Places of rebalances, close behind each other, in which only dynamic members came or went."""
    run: list[int] = []
    for place, one in enumerate(known):
        moves = one.after and one.classic and bool(one.movers) and one.only_moves
        dynamic = not any(member.static for member in (*one.came, *one.went))
        late = bool(run) and one.at_ms - known[run[-1]].at_ms > RESTART_GAP_MS
        stopped = all(CLOSED in (cause.client_reason or CLOSED) for who in one.went for cause in one.proven(who.name))
        replaces = moves and dynamic and stopped
        if run and (late or not (one.hands_out or replaces)):
            yield run
            run = []
        if replaces or (one.hands_out and run):
            run.append(place)
    if run:
        yield run


def _apart(runs: Sequence[list[int]], known: Sequence[SeenRebalance]) -> list[list[int]]:
    """Without those that follow each other closely and replace members of the same names: they crash in turn."""
    names = [{who.name for place in run for who in known[place].went} for run in runs]
    crashes = set[int]()
    for at in range(1, len(runs)):
        gap_ms = known[runs[at][0]].at_ms - known[runs[at - 1][-1]].at_ms
        if gap_ms <= RESTART_GAP_MS and names[at - 1] & names[at]:
            crashes |= {at - 1, at}
    return [run for at, run in enumerate(runs) if at not in crashes]


def _replacing_all(run: Sequence[int], known: Sequence[SeenRebalance]) -> Iterator[list[int]]:
    """Parts of a run after which all who were there before are gone, as many with the same client ids came, and all
    of those are there."""
    start = 0
    while start < len(run):
        first = known[run[start]]
        if not first.movers:  # it hands out what one outside this part made members give up
            start += 1
            continue
        before = {one.member_id for one in first.members.values()} - {one.member_id for one in first.came}
        before |= {one.member_id for one in first.went}
        came, went = dict[str, str](), dict[str, str]()
        for end in range(start, len(run)):
            one = known[run[end]]
            went |= {each.member_id: each.client for each in one.went}
            came |= {each.member_id: each.client for each in one.came}
            if not went.keys() <= before:
                start += 1
                break
            alike = sorted(came.values()) == sorted(went.values()) and came.keys() == one.members.keys()
            if (
                went.keys() == before
                and alike
                and len(before) >= LEAST_REPLACED
                and end - start + 1 >= LEAST_REBALANCES
            ):
                while end + 1 < len(run) and not known[run[end + 1]].movers:
                    end += 1
                yield list(run[start : end + 1])
                start = end + 1
                break
        else:
            start += 1


def _avoidable(run: Sequence[int], known: Sequence[SeenRebalance]) -> int:
    """Rebalances of a rolling restart that only members asked for who were back within their session time-out: not
    those that were removed for having been silent as long. Of several with one client id who went first is taken for
    who came first: nothing but the order tells them apart."""
    needed = set[int]()
    for client in {member.client for place in run for member in known[place].went}:
        gone = [
            (place, 0 if known[place].left(one) is False else one.session_ms or 0)
            for place in run
            for one in known[place].went
            if one.client == client
        ]
        back = [place for place in run for one in known[place].came if one.client == client]
        for (went, session_ms), came in zip(gone, back, strict=True):
            if not 0 <= known[came].at_ms - known[went].at_ms < session_ms:
                needed |= {went, came}
    avoided = 0
    for place in run:
        mover = place
        while not known[mover].movers:  # it hands out what the one before made members give up
            mover -= 1
        avoided += mover not in needed
    return avoided
