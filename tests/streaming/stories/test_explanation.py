"""Rebalances told in plain words, by real captures and by stories."""

from pathlib import Path

import pytest

from rebalance_monitor.streaming.cli.group_sources import capture_of
from rebalance_monitor.streaming.stories.explanation import disruptive, explanation, rebalance_of
from tests.streaming.stories.drills import VECTORS

OF_EVERY_KIND = ("java-classic", "kip848-a", "share-groups", "streams-kip1071-4.3.1", "streams-probing")
CAPTURES = [*sorted((VECTORS / "captures").iterdir()), *(VECTORS / "captures-groups" / name for name in OF_EVERY_KIND)]
TITLES = ["What happened", "Why", "What the assignor did", "What the laws say", "What comes next"]


def told(capture: str, group: str, number: int) -> dict[str, tuple[str, ...]]:
    found = capture_of(str(VECTORS / capture))
    (key,) = [key for key in found.names() if key[1] == group]
    known = list(found.generations(key))
    place = next(at for at, one in enumerate(known) if one["generation"] == number)
    rebalance = rebalance_of(known, place, found.incidents(key, None))
    return {one.title: one.sentences for one in explanation(rebalance, found.at_ms)}


def test_a_worker_that_is_lost() -> None:
    story = told("captures/zombie", "zombies", 9)
    assert list(story) == TITLES
    assert story["What the assignor did"] == (
        "The leader, 127.0.0.1:19303, compared what 3 workers reported as theirs with what is configured.",
        "Of a worker that is gone: idle-a-1, idle-a-4, idle-b-2 of 127.0.0.1:19304. It is held back until 2026-11-20"
        " 12:29:02 UTC, in case the worker comes back (9.0 s, scheduled.rebalance.max.delay.ms).",
        "12 connectors and tasks stayed where they were and went on: only changes are sent.",
        "Connectors and tasks per worker after it: 3 to 5; nobody has idle-a-1, idle-a-4, idle-b-2.",
    )
    assert story["What comes next"][0] == "9.7 s later came generation 10: the scheduled delay was over (likely)."


def test_a_worker_that_comes_back_with_what_others_have() -> None:
    story = told("captures/zombie", "zombies", 11)
    steps = " ".join(story["What the assignor did"])
    assert "127.0.0.1:19302, 127.0.0.1:19304 all reported idle-a-1, idle-b-2: it was revoked from each of them" in steps
    laws = " ".join(story["What the laws say"])
    assert "CONNECT-I2 duplicate_active (medium, likely)" in laws
    assert "The law: No two workers report the same connector or task as theirs" in laws
    assert "duplicate_active was over at 2026-11-20 12:29:15 UTC." in story["What comes next"]


def test_what_was_revoked_is_handed_out_next() -> None:
    story = told("captures/zombie", "zombies", 12)
    assert (
        "It gave what an earlier rebalance had taken from another worker: idle-a-1, idle-a-4, idle-b-2 to"
        in " ".join(story["What the assignor did"])
    )


def test_a_probing_rebalance_says_what_warms_up() -> None:
    story = told("captures-groups/streams-probing", "never", 9)
    assert any("it warms up: 0_1 on 127.0.0.1" in one for one in story["What the assignor did"])
    assert any("STREAMS-S19" in one for one in story["What the laws say"])


def test_of_the_last_generation_what_is_due_is_told() -> None:
    found = capture_of(str(VECTORS / "captures/zombie"), 1795177737000)
    (key,) = found.names()
    known = list(found.generations(key))
    story = {one.title: one.sentences for one in explanation(rebalance_of(known, 0, ()), found.at_ms)}
    (due,) = story["What comes next"]
    assert due.endswith("At 2026-11-20 12:29:02 UTC, in 5.6 s the delay ends, and a rebalance assigns them.")


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.name)
def test_every_generation_can_be_told(capture: Path) -> None:
    found = capture_of(str(capture))
    for key in found.names():
        known, incidents = list(found.generations(key)), found.incidents(key, None)
        for place in range(len(known)):
            story = explanation(rebalance_of(known, place, incidents), found.at_ms)
            assert [one.title for one in story] == TITLES
            for chapter in story:
                assert chapter.sentences
                assert all(one.strip() and "\n" not in one and "None" not in one for one in chapter.sentences)


def test_the_first_assignment_of_new_connectors_disrupts_nobody() -> None:
    found = capture_of(str(VECTORS / "captures/steady"))
    (key,) = found.names()
    assert [one["generation"] for one in found.generations(key) if disruptive(one)] == []
