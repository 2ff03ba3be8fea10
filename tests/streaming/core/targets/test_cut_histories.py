"""Groups with targets whose history begins anywhere: at most a fifth of their targets is not judged, and nobody is
accused, neither there nor where another record is missing behind the beginning.

    RM_LONG=1 .venv/bin/python -m pytest -s tests/streaming/core/targets/test_cut_histories.py

cuts every capture before every twentieth record instead of at five places, and prints what became of the targets behind
the cuts.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from random import Random
from typing import Any

import pytest

from rebalance_monitor.streaming.core.replay import RawRecord, replay
from tests.profile import size
from tests.streaming.core.targets.remembering import Capture
from tests.vector_files import GROUP_CAPTURES

NAMES = ("kip848-a", "share-groups", "share-topics", "streams-kip1071-4.3.1")
OF_STREAMS = ("streams-kip1071-4.3.1",)
"""Which process a member runs in stands in its first record alone, and no target tells it."""
STEP, FEW_CUTS = 20, 5
CLASSIC = frozenset({"conversion"})
"""Kinds of reasons of targets that no assignor of the broker computed, and of the classic groups they came from."""


@cache
def captured(name: str) -> Capture:
    return Capture(GROUP_CAPTURES / name)


def records(capture: str) -> Sequence[RawRecord]:
    return captured(capture).records


def cuts(capture: str) -> list[int]:
    """The places of the first records that are read."""
    every = list(range(STEP, len(records(capture)), STEP))
    return every[:: size(len(every) // FEW_CUTS, 1)]


def targets(objects: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Verdicts on targets that an assignor of the broker computed."""
    verdicts = [one["verdict"] for one in objects if one["kind"] == "generation" and one.get("epoch") is not None]
    return [one for one in verdicts if one["reason_kind"] not in CLASSIC]


def accusations(objects: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        one
        for one in objects
        if (one["kind"] == "violation" and one["severity"] != "info")
        or (one["kind"] == "generation" and one["verdict"]["grade"] == "unexplained")
    ]


@pytest.mark.parametrize("capture", NAMES)
def test_most_targets_behind_a_cut_are_judged_and_nobody_is_accused(capture: str) -> None:
    grades, why = Counter[str](), Counter[str]()
    for first in cuts(capture):
        objects = captured(capture).told(records(capture)[first:])
        assert not accusations(objects), first
        for verdict in targets(objects):
            grades[verdict["grade"]] += 1
            why[str(verdict["reason"])] += verdict["grade"] == "not_judged"
    share = grades["not_judged"] / max(grades.total(), 1)
    print(f"{capture}: {len(cuts(capture))} cuts, {grades.total()} targets, {share:.1%} not judged", dict(grades), why)
    assert share <= 0.2 or capture in OF_STREAMS


@pytest.mark.parametrize("capture", NAMES)
def test_a_record_that_is_lost_behind_a_cut_accuses_nobody(capture: str) -> None:
    """Soon behind it, where the group is known in part, or has just become known."""
    every, dice = records(capture), Random(capture)
    for first in cuts(capture):
        last = min(first + 10 * STEP, len(every) - 1)
        if first + 1 >= last:
            continue
        lost = dice.randrange(first + 1, last)
        objects = captured(capture).told((*every[first:lost], *every[lost + 1 :]))
        assert not accusations(objects), (first, lost)


@pytest.mark.parametrize("capture", NAMES)
def test_what_is_looked_up_is_what_a_replay_says(capture: str) -> None:
    of = captured(capture)
    known = of.records[size(len(of.records) // 2, 0) :]
    some = known[len(known) // 2 :]
    of.told(known)
    assert of.told(some) == replay(some, of.settings, knowledge=of.knowledge).objects


def group_of(record: RawRecord) -> bytes:
    """The group id in a key of any type."""
    return record.key[4 : 4 + int.from_bytes(record.key[2:4], "big")] if record.key else b""


@pytest.mark.parametrize("capture", NAMES)
def test_a_history_that_ends_within_an_operation_accuses_nobody(capture: str) -> None:
    """A batch of the coordinator is read in part: targets whose epoch is missing are in force for nobody."""
    dice = Random(capture)
    for group in sorted({group_of(one) for one in records(capture)}):
        own = [one for one in records(capture) if group_of(one) == group]
        within = [at for at in range(1, len(own)) if own[at].timestamp_ms == own[at - 1].timestamp_ms]
        for end in dice.sample(within, min(len(within), size(3, len(within)))):
            assert not accusations(captured(capture).told(own[:end])), (group, end)
