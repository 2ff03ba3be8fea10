"""What `whatif` would have said of the changes in captures of real clusters, against the records that followed."""

from collections import Counter
from typing import Any

import pytest

from rebalance_monitor.streaming.cli.group_sources import capture_of
from rebalance_monitor.streaming.stories.known import Published
from rebalance_monitor.streaming.stories.score import Fate, Foretold, JudgedPrediction, score_lines, score_object
from rebalance_monitor.streaming.stories.whatif import scored as scoring
from rebalance_monitor.streaming.stories.whatif.scored import scored
from tests.vector_files import VECTORS

LEAVE, JOIN, BOUNCE, SCALE = (
    Foretold.WHATIF_LEAVE, Foretold.WHATIF_JOIN, Foretold.WHATIF_BOUNCE, Foretold.WHATIF_SCALE,
)  # fmt: skip


def groups(capture: str) -> list[list[Published]]:
    source = capture_of(str(VECTORS / capture))
    return [list(source.generations(key)) for key in source.names()]


def counts(made: list[JudgedPrediction]) -> dict[tuple[Foretold, Fate], int]:
    return dict(Counter((one.what, one.fate) for one in made))


@pytest.mark.parametrize(
    ("capture", "expected"),
    [
        ("captures/compatible-2.8.2", {LEAVE: 3, JOIN: 4, BOUNCE: 1, SCALE: 1}),
        ("captures/eager-2.8.2", {LEAVE: 4, JOIN: 7, BOUNCE: 4, SCALE: 2}),
        ("captures/sessioned-4.3.1", {LEAVE: 3, JOIN: 4, BOUNCE: 2, SCALE: 4}),
        ("captures/zombie", {LEAVE: 4, JOIN: 1}),
        ("captures-upgrades/connect-4.3.1", {LEAVE: 4, JOIN: 6, BOUNCE: 2}),
        ("captures/steady", {}),
        ("captures-groups/streams-churn", {}),
        ("captures-groups/share-groups", {}),
    ],
)
def test_all_that_is_said_of_workers_came_true(capture: str, expected: dict[Foretold, int]) -> None:
    """Of Streams and of what the coordinator assigns, nothing is predicted."""
    made = [one for own in groups(capture) for one in scored(own)]
    assert counts(made) == {(what, Fate.HIT): count for what, count in expected.items()}


def test_where_members_subscribe_alike_it_came_true_and_elsewhere_it_is_missed_or_not_judged() -> None:
    """Subscriptions are in no document: that they are equal is presumed, and in some of these groups they are not."""
    alike = [one for own in groups("captures-groups/python-clients") for one in scored(own)]
    assert counts(alike)[LEAVE, Fate.HIT] == 10
    assert not any(one.fate is Fate.MISSED for one in alike)
    different = [one for own in groups("captures-groups/java-releases") for one in scored(own)]
    assert {one.fate for one in different} >= {Fate.HIT, Fate.MISSED, Fate.NOT_JUDGED}


def test_another_answer_than_predicted_is_missed() -> None:
    (own,) = groups("captures/zombie")
    at, before = next((one, own[place + 1]) for place, one in enumerate(own) if _lost(one))
    (told,) = (one for one in scored([before, at]) if one.what is LEAVE)
    assert told.fate is Fate.OPEN, "the delay has not ended"
    assert [one.fate for one in scored([before, {**at, "delay_ms": 0}])] == [Fate.MISSED]
    first, *others = at["members"]
    less = {**first, "assigned": {"connectors": [], "tasks": []}, "owned": {"connectors": [], "tasks": []}}
    assert [one.fate for one in scored([before, {**at, "members": [less, *others]}])] == [Fate.MISSED]
    wrong = {**at, "verdict": {**at["verdict"], "grade": "unexplained"}}
    assert [one.fate for one in scored([before, wrong])] == [Fate.NOT_JUDGED]


def _lost(generation: Published) -> bool:
    return any(one["kind"] == "worker_lost" for one in generation["cause"]) and bool(generation["delay_ms"])


def test_two_events_at_once_are_no_change_that_is_asked_about() -> None:
    (own,) = groups("captures/zombie")
    at, before = next((one, own[place + 1]) for place, one in enumerate(own) if _lost(one))
    created: dict[str, Any] = {"kind": "connector_created", "subjects": [], "certainty": "certain"}
    assert scored([before, {**at, "cause": [*at["cause"], created]}]) == []
    assert scored([before, {**at, "sampled": {"after_ms": 1}}]) == []


@pytest.mark.parametrize("capture", ["captures/sessioned-4.3.1", "captures-groups/python-clients"])
def test_what_is_decided_stays_so_when_more_generations_come(capture: str) -> None:
    for newest_first in groups(capture):
        own = newest_first[::-1]
        whole = {(one.made_ms, one.what): one.fate for one in scored(own)}
        for end in range(len(own)):
            for one in scored(own[:end]):
                assert one.fate in (Fate.OPEN, whole.get((one.made_ms, one.what), one.fate))


def test_as_much_is_computed_as_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    (own,) = groups("captures/sessioned-4.3.1")
    made = scored(own)
    assert scored(own, made[-2].made_ms) == made[-2:]
    assert scored(own, most_held=0) == []
    monkeypatch.setattr(scoring, "MOST_CHANGES", 3)
    assert scored(own) == made[-3:]


def test_it_is_told_with_the_other_predictions() -> None:
    (own,) = groups("captures/sessioned-4.3.1")
    assert score_lines(score_object(scored(own))) == [
        "members leave (whatif): 3 of 3 predictions true",
        "members join (whatif): 4 of 4 predictions true",
        "a member bounces (whatif): 2 of 2 predictions true",
        "a connector is scaled (whatif): 4 of 4 predictions true",
    ]
