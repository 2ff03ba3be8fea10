"""One group that was played under one setting: its capture, and what that shows."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from lab.errors import LabError
from rebalance_monitor.streaming.cli.group_sources import capture_of
from rebalance_monitor.streaming.stories.holdings import held
from rebalance_monitor.streaming.stories.known import Published
from rebalance_monitor.streaming.stories.whatif.connect_past import configured, hands, jobs_of
from rebalance_monitor.streaming.stories.whatif.history import HistoryFigures


@dataclass(frozen=True, slots=True)
class IdleTime:
    """How long connectors and tasks had no worker, all together. `rebalancing_ms`: the part of it that rebalances took:
    after the end of an announced delay, or after a revocation, until the next record."""

    total_ms: int = 0
    rebalancing_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """`generations`: the newest first. `begun_ms`: when the script of comings and goings began."""

    generations: Sequence[Published]
    begun_ms: int

    @property
    def script(self) -> Sequence[Published]:
        """The oldest is the one that was there when the script began."""
        fresh = [one for one in self.generations if one["at_ms"] >= self.begun_ms]
        return self.generations[: len(fresh) + 1]


def idle(generations: Sequence[Published]) -> IdleTime:
    """Between the records of a Connect group, the newest first. What has no worker for another reason than a delay or a
    revocation waits for no rebalance, so that is no part of what rebalances took."""
    total_ms, rebalancing_ms = 0, 0
    for one, following in pairwise(generations[::-1]):
        counts = configured(one)
        held = sum(len(jobs.connectors) + len(jobs.tasks) for jobs in hands(one, 17).values())
        without = len(counts) + sum(counts.values()) - held
        gap_ms, delay_ms = following["at_ms"] - one["at_ms"], one["delay_ms"] or 0
        total_ms += without * gap_ms
        if _revokes(one):
            rebalancing_ms += without * gap_ms
        elif delay_ms:
            rebalancing_ms += without * max(0, gap_ms - delay_ms)
    return IdleTime(total_ms, rebalancing_ms)


def of_targets(generations: Sequence[Published]) -> HistoryFigures:
    """What a coordinator's targets moved, from each to the next; the newest first."""
    targets = [{one["member_id"]: set(held(one)) for one in each["members"]} for each in generations[::-1]]
    total = HistoryFigures()
    for before, after in pairwise(targets):
        if before != after:
            moved = sum(len(own - before.get(member, set())) for member, own in after.items())
            stopped = sum(len(before.get(member, set()) - own) for member, own in after.items())
            total += HistoryFigures(1, moved, stopped)
    return total


def _revokes(generation: Published) -> bool:
    revoked = (jobs_of(one["revoked"]) for one in generation["members"])
    return any(jobs.connectors or jobs.tasks for jobs in revoked)


def captured(folder: Path, bootstrap: str, group: str) -> Sequence[Published]:
    """Take the group's capture with the product's own command, and judge it; the newest generation first."""
    command = [
        sys.executable, "-m", "rebalance_monitor", "capture",
        "--out", str(folder), "--bootstrap-servers", bootstrap, "--group", group,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"no capture of {group}: {done.stderr.strip()}")
    source = capture_of(str(folder))
    (key,) = source.names()
    return list(source.generations(key))
