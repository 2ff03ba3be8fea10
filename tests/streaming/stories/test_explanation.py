"""Rebalances told in plain words, by real captures and by stories."""

from pathlib import Path

import pytest

from rebalance_monitor.streaming.cli.group_sources import capture_of
from rebalance_monitor.streaming.stories.explanation import disruptive, explanation, rebalance_of
from rebalance_monitor.streaming.stories.steps import steps
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
    reported = "127.0.0.1:19302, 127.0.0.1:19304 both reported idle-a-1, idle-b-2"
    assert f"{reported}: they were revoked from each of these workers" in steps
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
    assert due.endswith("At 2026-11-20 12:29:02 UTC, in 5.6 s, the delay ends, and a rebalance assigns them.")


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


def test_a_record_that_repeats_a_generation_is_no_rebalance() -> None:
    """A static member took its place back: the coordinator wrote generation 6 three times more."""
    found = capture_of(str(VECTORS / "captures-groups/java-classic"))
    known = list(found.generations(("java-classic", "j-cooperative-sticky")))
    sixth = [at for at, one in enumerate(known) if one["generation"] == 6]
    again, first = sixth[0], sixth[-1]
    assert len(sixth) == 4
    told_again = {one.title: one.sentences for one in explanation(rebalance_of(known, again, []), found.at_ms)}
    assert "wrote again, without a rebalance, generation 6" in told_again["What happened"][0]
    assert told_again["What the assignor did"] == ("Nothing: no assignment was computed, and the one before stands.",)
    assert not disruptive(known[again])
    comes_next = {one.title: one.sentences for one in explanation(rebalance_of(known, first, []), found.at_ms)}
    assert "came generation 7" in comes_next["What comes next"][0]


def test_members_that_know_an_eager_assignor_gave_up_all_for_the_cooperative_one() -> None:
    """In the midst of an upgrade from range: the group agrees on cooperative-sticky, the members act as before."""
    capture, group = "captures-groups/java-classic", "j-upgrade"
    assert "No member said as it joined that it had partitions" in told(capture, group, 6)["What the assignor did"][0]
    assert "1 of 3 members kept their partitions" in told(capture, group, 9)["What the assignor did"][0]
    assert "Every member kept its partitions" in told(capture, group, 14)["What the assignor did"][0]


def test_what_the_oldest_leaders_left_in_several_hands_was_not_revoked() -> None:
    """Before Kafka 2.5.1 a task that two workers report stays with both (KAFKA-9841)."""
    found = capture_of(str(VECTORS / "captures/zombie"))
    document = next(one for one in found.generations(("zombie", "zombies")) if one["generation"] == 11)
    kept = {**document, "members": [{**one, "revoked": None} for one in document["members"]]}
    assert any("they were revoked from each of these workers" in one for one in steps(document))
    assert any("they were not revoked from each of these workers" in one for one in steps(kept))


def test_what_is_left_of_a_delay_is_not_the_setting() -> None:
    """A second worker is lost while the delay runs: its tasks wait for what is left of it."""
    found = capture_of(str(VECTORS / "captures/zombie"))
    document = next(one for one in found.generations(("zombie", "zombies")) if one["generation"] == 9)
    later = {**document, "wait": {**document["wait"], "since_ms": document["at_ms"] - 5_000}, "delay_ms": 4_000}
    (sentence,) = (one for one in steps(later) if one.startswith("Of a worker that is gone"))
    assert sentence.endswith("in case the worker comes back.")


def test_an_assignment_that_cannot_be_read_is_no_empty_one() -> None:
    found = capture_of(str(VECTORS / "captures/eager-2.8.2"))
    document = next(found.generations(("eager-2.8.2", "eager-282")))
    first, *others = document["members"]
    unread = {**document, "members": [{**first, "assigned": None}, *others]}
    assert steps(document)[-1] == "Connectors and tasks per worker now: 5 to 6."
    assert steps(unread)[-1] == "Connectors and tasks per worker now: not known, since only 4 of 5 could be read."


def test_a_cause_that_only_the_record_before_shows_is_told_as_why_tells_it() -> None:
    cause = (
        "the second rebalance of a cooperative assignor: what members gave up in the one before is handed out (likely)"
    )
    assert told("captures-groups/kip848-a", "k-migrate-coop", 15)["Why"] == (cause,)
    before = told("captures-groups/kip848-a", "k-migrate-coop", 14)["What comes next"]
    assert any(line.endswith(f"later came generation 15: {cause}.") for line in before)
