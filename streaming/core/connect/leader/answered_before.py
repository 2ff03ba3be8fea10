"""The answers that the assignor gave last, for rounds that only their number and their time tell from one before.

In most rounds of a group nothing changes. Such a round has the answer of the one before, if that did not rest on the
time: `ConnectResult.rests_on` says so. It rests on generation numbers in one way alone: whether the last one that the
leader completed is the one that it remembers. Everything else must be equal: members in their order with all that they
report, the configuration, what the leader remembers, its era, its maximum delay and its Java.

    generation 7   computed
    generation 8   the same members report the same jobs         the answer of 7; the leader remembers 8
    generation 9   a member reports another config offset        computed
"""

from dataclasses import dataclass

from rebalance_monitor.assignors.connect import incremental
from rebalance_monitor.assignors.connect.eras import Era
from rebalance_monitor.assignors.connect.model import ConnectResult, ConnectRound, LeaderMemory
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.model.derived import Latest

MOST_LEADERS = 64
"""Of so many leaders the last answer is remembered."""
Leader = tuple[str, str, int, int]
"""Member id, era, maximum delay and Java."""


@dataclass(frozen=True, slots=True)
class _Answered:
    """A round without its number and its time, and what came of it. `trusts`: the leader remembers the generation that
    it completed last."""

    memory: LeaderMemory
    trusts: bool
    round: ConnectRound
    result: ConnectResult
    after: LeaderMemory


LAST = Latest[Leader, _Answered](MOST_LEADERS)


def assign(
    memory: LeaderMemory, round_: ConnectRound, *, max_delay_ms: int, era: Era, java_version: int
) -> tuple[ConnectResult, LeaderMemory]:
    """What `incremental.assign` gives. Raises CannotAssign."""
    leader = (round_.leader, era.name, max_delay_ms, java_version)
    trusts = memory.previous_generation == round_.last_completed_generation
    before, asked = replace(memory, previous_generation=-1), _unnumbered(round_)
    known = LAST.get(leader)
    if known is not None and (known.trusts, known.memory, known.round) == (trusts, before, asked):
        return known.result, replace(known.after, previous_generation=round_.generation)
    result, after = incremental.assign(memory, round_, max_delay_ms=max_delay_ms, era=era, java_version=java_version)
    if "now_ms" not in result.rests_on and after is not memory:
        LAST.put(leader, _Answered(before, trusts, asked, result, after))
    return result, after


def _unnumbered(round_: ConnectRound) -> ConnectRound:
    return replace(round_, now_ms=0, generation=0, last_completed_generation=0)
