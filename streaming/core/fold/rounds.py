"""How often a group rebalances, held against what explains it: the measure of a storm, for every kind of group.

    10:00:00  generation 7    two members came        explains four rounds: each may cause one, and one that follows it
    10:00:01  generation 8    partitions were revoked explains one round, so often for each change
    10:00:03  generation 9    nothing                 one of the free ones

What one kind of group knows beside that (configuration changes, delays) goes into `Round.allowed`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rebalance_monitor.schemas.frozen import replace

SPAN_MS = 600_000
CALM_MS = 300_000
"""A storm is over so long after its last round."""
STEP_MS = 5_000
"""Rounds that come so close together are kept as one value, so that a storm of any rate takes little room."""
REVOKING_ROUNDS = 3
"""So many rounds that take work away may follow one change; a right leader needs one, or two around a back-off."""


@dataclass(frozen=True, slots=True)
class Round:
    """One completed generation, or `count` of them that came close together, and how many further ones their reasons
    allow. `at_ms`: the time of the first.

    `revoking`: it took work away, which allows one more; but only so often for each of the `changes` (members that
    came or went, config changes): a group whose balance is restored has nothing more to take away.
    """

    at_ms: int
    allowed: int
    revoking: int = 0
    changes: int = 0
    count: int = 1


def with_round(rounds: tuple[Round, ...], latest: Round, *, repeats: bool = False) -> tuple[Round, ...]:
    """The rounds of the last SPAN_MS. `repeats`: the round counts as one with the one before."""
    recent = tuple(old for old in rounds if old.at_ms > latest.at_ms - SPAN_MS)
    if not recent:
        return (latest,)
    before = recent[-1]
    if not repeats and latest.at_ms >= before.at_ms + STEP_MS:
        return (*recent, latest)
    both = replace(
        before,
        at_ms=latest.at_ms if repeats and before.count == 1 else before.at_ms,
        allowed=before.allowed + latest.allowed,
        revoking=before.revoking + latest.revoking,
        changes=before.changes + latest.changes,
        count=before.count + (0 if repeats else latest.count),
    )
    return (*recent[:-1], both)


def number(rounds: Sequence[Round]) -> int:
    return sum(one.count for one in rounds)


def surplus(rounds: Sequence[Round], *, free: int, most: int | None = None) -> int:
    """How many rounds more than their reasons explain; zero or less is calm. `free`: rounds that need no reason;
    `most`: how many all reasons together can explain."""
    revoking = min(sum(one.revoking for one in rounds), REVOKING_ROUNDS * (1 + sum(one.changes for one in rounds)))
    explained = revoking + sum(one.allowed for one in rounds)
    return number(rounds) - free - (explained if most is None else min(explained, most))
