"""What was predicted against what came: real captures, one planted case for each fate, and laws."""

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.cli.group_sources import capture_of
from rebalance_monitor.streaming.stories.score import Fate, Foretold, judged, score_lines, score_object
from rebalance_monitor.streaming.stories.six_lines import six_lines

VECTORS = Path(__file__).parents[2] / "vectors"
DUE_MS, TIMEOUT_MS = 100_000, 60_000
Object = dict[str, Any]


@cache
def _generations(capture: str) -> tuple[tuple[Object, ...], ...]:
    source = capture_of(str(VECTORS / capture))
    return tuple(tuple(source.generations(key)) for key in source.names())


def _counts(capture: str) -> dict[str, dict[str, int]]:
    made = [one for own in _generations(capture) for one in judged(own)]
    return {what: dict(Counter(one.fate for one in made if one.what is what)) for what in {one.what for one in made}}


@pytest.mark.parametrize(
    ("capture", "expected"),
    [
        ("captures/compatible-2.8.2", {"delay_ends": {"hit": 3, "overtaken": 2}}),
        ("captures/sessioned-4.3.1", {"delay_ends": {"hit": 2, "overtaken": 1}}),
        ("captures/zombie", {"delay_ends": {"hit": 1, "overtaken": 4}}),
        ("captures/steady", {}),
        (
            "captures-groups/streams-churn",
            {
                "moves_left": {"hit": 8, "not_judged": 1, "open": 1, "overtaken": 5},
                "probing_due": {"hit": 6, "not_judged": 1, "open": 1, "overtaken": 15},
            },
        ),
        (
            "captures-groups/streams-probing",
            {
                "moves_left": {"hit": 79, "open": 2},
                "probing_due": {"hit": 80, "open": 1, "overtaken": 1},
            },
        ),
        ("captures-groups/streams-classic-4.3.1", {"moves_left": {"overtaken": 8}, "probing_due": {"overtaken": 12}}),
    ],
)
def test_the_fates_in_captures_of_real_clusters(capture: str, expected: Object) -> None:
    assert _counts(capture) == expected


def _generation(number: int, at_ms: int, *causes: str, moves: int | None = None, **given: Any) -> Object:
    progress = None if moves is None else {"moves_left": moves, "next_ms": None, "not_before_ms": None}
    return {
        "incarnation": 0,
        "generation": number,
        "at_ms": at_ms,
        "source": {"offset": at_ms},
        "cause": [{"kind": kind} for kind in causes],
        "members": [{"rebalance_timeout_ms": TIMEOUT_MS}],
        "streams": {"progress": progress},
        **given,
    }


WAITS = _generation(1, 90_000, "worker_lost", wait={"until_ms": DUE_MS, "ended_ms": None})


@pytest.mark.parametrize(
    ("after", "fate"),
    [
        (_generation(2, DUE_MS, "delay_expired"), Fate.HIT),
        (_generation(2, DUE_MS + TIMEOUT_MS, "delay_expired", "leader_changed"), Fate.HIT),
        (_generation(2, DUE_MS - 1, "delay_expired"), Fate.EARLY),
        (_generation(2, DUE_MS + TIMEOUT_MS + 1, "delay_expired"), Fate.LATE),
        (_generation(2, DUE_MS + TIMEOUT_MS + 1, "worker_joined"), Fate.LATE),
        (_generation(2, DUE_MS - 1, "worker_joined"), Fate.OVERTAKEN),
        (_generation(2, DUE_MS + 1, "worker_joined", "delay_expired"), Fate.OVERTAKEN),
        (_generation(2, DUE_MS - 1, "unknown"), Fate.NOT_JUDGED),
        (_generation(3, DUE_MS + 1, "delay_expired"), Fate.NOT_JUDGED),
        (_generation(2, DUE_MS + 1, "delay_expired", incarnation=1), Fate.NOT_JUDGED),
        (_generation(2, DUE_MS + 1, "delay_expired", sampled={"after_ms": 1}), Fate.NOT_JUDGED),
        (None, Fate.OPEN),
        ({**WAITS, "source": {"offset": 1}}, Fate.OPEN),
    ],
)
def test_what_came_of_a_delay(after: Object | None, fate: Fate) -> None:
    (told,) = judged([WAITS] if after is None else [after, WAITS])
    assert (told.what, told.fate) == (Foretold.DELAY_ENDS, fate)
    assert (told.after_ms is None) == (fate is not Fate.HIT)


def test_a_delay_is_not_judged_where_no_record_tells_how_long_members_may_take() -> None:
    unknown = {**WAITS, "members": [{"rebalance_timeout_ms": None}]}
    assert [one.fate for one in judged([unknown, _generation(2, DUE_MS, "delay_expired")])] == [Fate.NOT_JUDGED]


@pytest.mark.parametrize(
    ("after", "fate"),
    [
        ([_generation(2, DUE_MS - 1, "probing_rebalance", moves=0)], Fate.EARLY),
        ([_generation(2, DUE_MS - 1, "probing_rebalance", moves=1), _generation(3, DUE_MS, "unknown")], Fate.HIT),
        ([_generation(2, DUE_MS - 1, "member_joined", moves=0)], Fate.OVERTAKEN),
        ([_generation(2, DUE_MS - 1, "probing_rebalance")], Fate.NOT_JUDGED),
        ([_generation(3, DUE_MS, "probing_rebalance", moves=0)], Fate.NOT_JUDGED),
        ([_generation(2, DUE_MS - 1, "probing_rebalance", moves=1)], Fate.OPEN),
    ],
)
def test_what_came_of_moves_that_were_left(after: list[Object], fate: Fate) -> None:
    progress = {"moves_left": 2, "next_ms": None, "not_before_ms": DUE_MS}
    made = _generation(1, 90_000, "member_joined", streams={"progress": progress})
    assert [(one.what, one.fate) for one in judged([made, *after])] == [(Foretold.MOVES_LEFT, fate)]


def _incident(opened_ms: int, resolved_ms: int | None, incident_id: str = "one") -> Object:
    return {
        "incident_id": incident_id, "code": "CONNECT-K7", "opened_at_ms": opened_ms, "resolved_at_ms": resolved_ms
    }  # fmt: skip


IN_TIME = _generation(2, DUE_MS + 2, "delay_expired")
SOON, NEXT = (_generation(3, at_ms, "worker_joined") for at_ms in (DUE_MS + 4, DUE_MS + TIMEOUT_MS + 1))


@pytest.mark.parametrize(
    ("after", "resolved_ms", "fate"),
    [
        ([IN_TIME], DUE_MS, Fate.HIT),
        ([IN_TIME], DUE_MS + TIMEOUT_MS, Fate.HIT),
        ([IN_TIME], DUE_MS + TIMEOUT_MS + 1, Fate.LATE),
        ([IN_TIME], DUE_MS - 1, Fate.EARLY),
        ([IN_TIME], None, Fate.OPEN),
        ([IN_TIME, NEXT], None, Fate.LATE),
        ([IN_TIME, SOON], DUE_MS + 4, Fate.LATE),
        ([IN_TIME, SOON], DUE_MS + 3, Fate.HIT),
        ([], DUE_MS, Fate.OPEN),
        ([_generation(2, DUE_MS, "worker_joined")], DUE_MS, Fate.OVERTAKEN),
        ([_generation(3, DUE_MS, "delay_expired")], DUE_MS, Fate.NOT_JUDGED),
    ],
)
def test_what_came_of_an_incident_that_was_to_end(after: list[Object], resolved_ms: int | None, fate: Fate) -> None:
    made = judged([WAITS, *after], [_incident(95_000, resolved_ms)])
    (told,) = (one for one in made if one.what is Foretold.INCIDENT_ENDS)
    assert (told.fate, told.made_ms, told.from_ms, told.incident_id) == (fate, 95_000, DUE_MS, "one")
    assert told.after_ms == (resolved_ms - DUE_MS if resolved_ms is not None and fate is Fate.HIT else None)


@pytest.mark.parametrize(
    ("opened_ms", "resolved_ms", "said"),
    [(0, DUE_MS, True), (0, 90_000, False), (DUE_MS, DUE_MS + 1, False), (DUE_MS - 1, None, True)],
)
def test_an_end_is_said_of_what_is_open_before_it(opened_ms: int, resolved_ms: int | None, said: bool) -> None:
    made = judged([WAITS, IN_TIME], [_incident(opened_ms, resolved_ms)])
    assert any(one.what is Foretold.INCIDENT_ENDS for one in made) is said


def test_each_incident_has_a_prediction_of_its_own_and_none_where_no_moment_is_told() -> None:
    several = [_incident(80_000, DUE_MS, name) for name in ("two", "one")]
    made = [one for one in judged([WAITS, IN_TIME], several) if one.what is Foretold.INCIDENT_ENDS]
    assert [one.incident_id for one in made] == ["one", "two"]
    assert judged([_generation(1, 90_000, "worker_lost"), IN_TIME], several) == []


def test_no_end_is_said_of_an_incident_that_a_delay_does_not_end() -> None:
    """A task that has failed outlasts the delay."""
    failed = {**_incident(0, None), "code": "CONNECT-K4"}
    assert [one.what for one in judged([WAITS, IN_TIME], [failed])] == [Foretold.DELAY_ENDS]


@pytest.mark.parametrize("group", ["slowly", "never"])
def test_no_end_is_said_of_a_stuck_application(group: str) -> None:
    """In this capture probing rebalances come as said, and its incident outlasted 58 of 59 of them."""
    source = capture_of(str(VECTORS / "captures-groups" / "streams-probing"))
    (key,) = (one for one in source.names() if one[1] == group)
    told = source.why(key, 0)["predictions"]
    assert {one["what"] for one in told} == {"probing_due", "moves_left"}
    known = source.known(key)
    answer = six_lines(known)
    assert known.open_incidents or group == "slowly"
    assert answer.ends_ms is None


@given(st.data())
def test_the_score_does_not_depend_on_the_order_in_which_generations_are_read(data: st.DataObject) -> None:
    for own in _generations("captures/zombie"):
        assert judged(data.draw(st.permutations(own))) == judged(own)


@pytest.mark.parametrize("capture", ["captures/zombie", "captures-groups/streams-churn"])
def test_what_is_decided_stays_so_when_more_generations_come(capture: str) -> None:
    for newest_first in _generations(capture):
        own = newest_first[::-1]
        whole = judged(own)
        for end in range(len(own) + 1):
            cut = judged(own[:end])
            pairs = zip(cut, whole, strict=False)
            assert all(early == late for early, late in pairs if early.fate is not Fate.OPEN)


def test_the_rate_is_of_those_that_came_to_a_test() -> None:
    late = _generation(2, DUE_MS + TIMEOUT_MS + 1, "worker_joined", wait={"until_ms": 2 * DUE_MS, "ended_ms": None})
    assert score_lines(score_object(judged([WAITS, late]))) == [
        "end of a scheduled delay: 0 of 1 prediction true; 1 late; 1 open"
    ]
    assert score_lines(score_object(judged([WAITS]))) == ["end of a scheduled delay: none came to a test; 1 open"]
    assert score_lines(score_object([])) == []
