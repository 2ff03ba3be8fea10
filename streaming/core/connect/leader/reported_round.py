"""What members report of a round that left no record: the answer it ended with, and so what its leader remembers.

Each member joins with the assignment that it applied last (connect.md 1.2): its jobs, and the header, which names the
leader, the config offset and the delay. Where one generation is missing between two records, a member of both that
shows neither the answer of the first one nor what it had before shows the answer of the missing one.

    generation 7   delay 0, offset 18                            seen
    generation 8   not seen
    generation 9   members show delay 0, offset 19               generation 8 was answered with no delay: so none ran

If the same member leads the generation after it, its memory is bound:

    no delay                            no window is open; a job that it took away for balance is one that nobody who
                                        has applied the answer has, and that existed at its offset
    a delay                             a window is open, and of its rest no more is left than this delay
"""

from collections.abc import Iterable
from dataclasses import dataclass

from rebalance_monitor.assignors.connect.model import LeaderMemory
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.configured import configured_at, unsure_at
from rebalance_monitor.streaming.core.connect.leader.fallback import hides_delays
from rebalance_monitor.streaming.core.connect.leader.rounds import Case
from rebalance_monitor.streaming.core.connect.leader.runs import CLOCK_SLACK_MS
from rebalance_monitor.streaming.core.connect.observed import STATIC, Observed


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftBehind:
    """What a round surely leaves in its leader's memory: who took part (None: not known), the earliest and the latest
    end of its delay (0: it announced none), and whether it may have revoked for balance."""

    members: frozenset[str] | None
    ends_ms: tuple[int, int]
    delay_ms: int
    balanced: bool

    def in_mind(self, memory: LeaderMemory, now: Observed) -> LeaderMemory | None:
        """This memory with what is known; None if the two do not go together."""
        if memory.revoked_in_previous and not self.balanced:
            return None
        members = memory.previous_members if self.members is None else self.members
        earliest, latest = self.ends_ms
        scheduled_ms = memory.scheduled_ms
        if not latest:
            return replace(memory, previous_members=members, scheduled_ms=0, delay_ms=0)
        if now.delay_ms and scheduled_ms == now.at_ms + now.delay_ms:  # the leader's clock is one between two readings
            within = first_reading_ms(now) + now.delay_ms <= latest
            if within and earliest <= now.at_ms + CLOCK_SLACK_MS + now.delay_ms:
                return replace(memory, previous_members=members)
        over = earliest <= now.at_ms + CLOCK_SLACK_MS
        ends_ms = min(latest, now.at_ms) if over else latest
        return replace(memory, previous_members=members, scheduled_ms=ends_ms, delay_ms=self.delay_ms)

    def admits(self, memory: LeaderMemory, now: Observed) -> bool:
        """Whether this memory, as it is, can be the leader's."""
        if memory.revoked_in_previous and not self.balanced:
            return False
        latest = self.ends_ms[1]
        return memory.scheduled_ms == 0 if not latest else 0 < memory.scheduled_ms <= latest + 2 * CLOCK_SLACK_MS


def first_reading_ms(observed: Observed) -> int:
    """The earliest time that the leader's clock can have shown in this round."""
    return (observed.state_ms if observed.state_ms > 0 else observed.at_ms) - CLOCK_SLACK_MS


Header = tuple[str, int, int, int]
"""Leader, config offset, error, delay in ms."""


def reported_round(case: Case) -> LeftBehind | None:
    """What the missing round before this one has left behind; None where the members do not show it."""
    last, now = case.last, case.observed
    if last is None or case.missing_generations != 1 or last.generation != now.generation - 2:
        return None
    if last.error or last.blind or STATIC in (last.protocol, now.protocol):
        return None
    showing = {one: shown for one in now.views if (shown := _shows_the_missing(one, last, now)) is not None}
    if len(set(showing.values())) != 1:
        return None
    header = leader, _, error, delay_ms = next(iter(showing.values()))
    if leader != now.leader or error or hides_delays(case.carried, lying=True):
        return None
    return LeftBehind(
        members=None,
        ends_ms=(0, first_reading_ms(now) + delay_ms) if delay_ms else (0, 0),
        delay_ms=delay_ms,
        balanced=_may_have_balanced(case, showing, header),
    )


def _shows_the_missing(member_id: str, last: Observed, now: Observed) -> Header | None:
    view, before = now.views[member_id], last.views.get(member_id)
    if before is None or view.shown is None:
        return None
    given = (last.leader, last.config_offset, last.error, last.delay_ms)
    known = ((given, before.holds), (before.shown, before.held))
    return None if (view.shown, view.held) in known else view.shown


def _may_have_balanced(case: Case, showing: Iterable[str], header: Header) -> bool:
    """Whether the missing round may have taken jobs away for balance. One with a delay may only if the round before it
    did: then it was a pause between two such rounds."""
    _, offset, _, delay_ms = header
    if delay_ms:
        carried = case.carried
        doubted = carried.cut or carried.unsure or not carried.complete
        return doubted or any(one.memory.revoked_in_previous for one in carried.hypotheses)
    history, then = case.history, replace(case.observed, config_offset=offset, views={})
    existed = configured_at(history, then)
    if existed is None or (history.hole_offset is not None and history.hole_offset < offset):
        return True
    applied = frozenset(job for one in showing for job in case.observed.views[one].held)
    return bool((existed | unsure_at(history, then, None)) - applied)
