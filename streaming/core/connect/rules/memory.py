"""What the laws across records must remember of a Connect group: little, and nothing of one job beyond the next record.

record 5  delay 300 s, c1-0 waits      window(loss, ends 10:05:10, waiting c1-0)
record 6  c1-1 taken from worker A     revoked {c1-1}
record 7  c1-1 in nobody's hands       CONNECT-K15, and from here on no longer remembered
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.observed import COOPERATIVE, ConnectorOrTask, Observed
from rebalance_monitor.streaming.core.fold.rounds import Round
from rebalance_monitor.streaming.core.model.results import Certainty, Evidence, Severity, Subject

FREE_ROUNDS = 3
"""Rounds within `rounds.SPAN_MS` that need no reason."""


class WindowKind(StrEnum):
    """Why a generation announces a delay: lost work, the pause between two revoking rounds, or nothing at all."""

    LOSS = "loss"
    BACKOFF = "backoff"
    WASTED = "wasted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The delay announced by the last record. The leader's clock lies in an interval, so the end does too."""

    kind: WindowKind
    leader: str
    earliest_end_ms: int
    latest_end_ms: int
    waiting: frozenset[ConnectorOrTask] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Downgrade:
    """The group speaks a lower protocol than before, since when, and who was there already."""

    before: str
    at_ms: int
    stayed: frozenset[str]


@dataclass(frozen=True, slots=True)
class Withheld:
    """A finding of the last record that a leader with an older config snapshot would excuse; the rule by its code."""

    code: str
    severity: Severity
    certainty: Certainty
    subjects: tuple[Subject, ...]
    message: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleMemory:
    """One group's memory, of this life of the group id. `withheld` opens if no record follows in time."""

    errors_in_row: int = 0
    lagging: Mapping[str, int] = field(default_factory=dict)
    top_offset: int | None = None
    revoked: frozenset[ConnectorOrTask] = frozenset()
    taken_back: frozenset[ConnectorOrTask] = frozenset()
    window: Window | None = None
    rounds: tuple[Round, ...] = ()
    aimless_rounds: int = 0
    downgrade: Downgrade | None = None
    withheld: tuple[Withheld, ...] = ()


def lagging_members(memory: RuleMemory, now: Observed, last: Observed | None) -> dict[str, int]:
    """For each process that was there before and has not read what the last assignment referred to: how often in a row.

    A process that has just joined is given one round to read the config topic. One that never catches up leaves and
    comes back under another member id every few seconds, with the jobs it was given and has not started.
    """
    top = memory.top_offset
    if last is None or top is None:
        return {}
    before = set(map(last.process_of, last.views))
    found = {}
    for member_id, view in now.views.items():
        process = now.process_of(member_id)
        came_back = view.had_allocation and process in before
        if (member_id in last.views or came_back) and view.config_offset is not None and view.config_offset < top:
            found[process] = memory.lagging.get(process, 0) + 1
    return found


def without_offsets(memory: RuleMemory) -> RuleMemory:
    """The memory when the config topic was made anew: its offsets start over."""
    return replace(memory, errors_in_row=0, lagging={}, top_offset=None)


def shifted(memory: RuleMemory, ms: int, *, window_ms: int) -> RuleMemory:
    """The memory on a clock that is ahead of the one before by `ms`; of a window it is known by how much."""
    window = memory.window
    if window is not None and window_ms:
        ends_ms = window.earliest_end_ms + window_ms, window.latest_end_ms + window_ms
        memory = replace(memory, window=replace(window, earliest_end_ms=ends_ms[0], latest_end_ms=ends_ms[1]))
    if not ms:
        return memory
    downgrade = memory.downgrade
    return replace(
        memory,
        rounds=tuple(replace(one, at_ms=one.at_ms + ms) for one in memory.rounds),
        downgrade=None if downgrade is None else replace(downgrade, at_ms=downgrade.at_ms + ms),
    )


def aimless(now: Observed, last: Observed | None, *, gap: int) -> bool:
    """Whether nothing asked for this round: same members, same offset, everything delivered, nothing left to do."""
    if last is None or gap or now.protocol != last.protocol or now.leader != last.leader:
        return False
    if last.error or now.error or last.delay_ms or last.revoked() or now.config_offset != last.config_offset:
        return False
    if now.views.keys() != last.views.keys():
        return False
    if now.protocol not in COOPERATIVE:
        return True
    return all(
        view.had_allocation and view.held == last.views[member_id].holds for member_id, view in now.views.items()
    )


def aimless_rounds(memory: RuleMemory, now: Observed, last: Observed | None, *, gap: int, config_changes: int) -> int:
    """Rounds in a row that nothing asked for. Below zero after a config change: each worker may ask for one round."""
    if aimless(now, last, gap=gap):
        return memory.aimless_rounds + 1
    return -len(now.views) if config_changes else 0


def round_of(now: Observed, last: Observed | None, *, config_changes: int) -> Round:
    """This generation with what it allows: two rounds for each member that came or went, one for each worker and
    config change, one after a revoking round, one after a delay."""
    before = frozenset(last.views) if last is not None else frozenset[str]()
    moved = len(before ^ frozenset(now.views))
    return Round(
        now.at_ms,
        2 * moved + len(now.views) * config_changes + bool(now.delay_ms),
        revoking=bool(now.revoked()),
        changes=moved + config_changes,
    )
