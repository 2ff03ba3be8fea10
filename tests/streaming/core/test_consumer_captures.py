"""Real consumer groups through `replay`: what is recomputed is right, the rest says why, nothing is an alarm."""

from collections import Counter
from pathlib import Path

import pytest

from streaming.cli.replay import _settings, records_of
from streaming.core.replay import Replayed, replay

CAPTURES = Path(__file__).parents[2] / "vectors" / "captures-groups"


def replayed(name: str) -> Replayed:
    path = CAPTURES / name
    return replay(records_of(path), _settings(path, None, use_settings=True))


@pytest.mark.parametrize("name", ["java-classic", "kip848-a"])
def test_no_false_alarm(name: str) -> None:
    told = replayed(name)
    assert not told.found
    assert told.objects[-1]["grades"]["unexplained"] == 0
    assert not [one for one in told.objects if one["kind"] == "violation"]


def test_range_and_roundrobin_are_recomputed_with_the_topics_as_they_were() -> None:
    grades = Counter(
        (one["protocol"], one["verdict"]["grade"])
        for one in replayed("java-classic").objects
        if one["kind"] == "generation"
    )
    assert grades["range", "match"] > 45
    assert grades["roundrobin", "match"] > 45


def test_a_replaced_static_member_is_no_assignment() -> None:
    reasons = [
        one["verdict"]["reason"] or ""
        for one in replayed("java-classic").objects
        if one["kind"] == "generation" and one["protocol"] in ("range", "roundrobin")
    ]
    assert any(reason.startswith("the same generation was written again") for reason in reasons)


def test_groups_of_other_kinds_are_counted() -> None:
    assert replayed("kip848-a").objects[-1]["other_groups"] == {"consumer": 7}
