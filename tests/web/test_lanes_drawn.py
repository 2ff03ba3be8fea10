"""A group's history as a drawing: places, texts and addresses; one real history as golden SVG."""

import re
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from rebalance_monitor.streaming.core.incidents.maintenance import Maintenance
from rebalance_monitor.streaming.core.model.details import GroupEmptied
from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.results import CAUSES
from rebalance_monitor.streaming.stories.lanes import GroupLanes, LaneBar, LaneMark, MemberLane
from rebalance_monitor.streaming.stories.rolling_restarts import RestartRun
from rebalance_monitor.streaming.web.lanes_drawn import CAUSE_MARKS, lanes_drawing
from rebalance_monitor.streaming.web.lanes_read import (
    AFTERWARDS_MS,
    MOST_GENERATIONS,
    MOST_LANES,
    GroupHistory,
    read_history,
)
from rebalance_monitor.streaming.web.parameters import BadRequest
from rebalance_monitor.streaming.web.reader import Reader
from rebalance_monitor.streaming.web.statements import Unavailable
from rebalance_monitor.streaming.web.window import SPANS, HistoryWindow, history_window, zooms
from tests.streaming import builders
from tests.web import filled
from tests.web.conftest import database

GOLDEN = Path(__file__).parent / "lanes-zombies.svg"
ZOMBIES = (1_795_177_670_000, 1_795_177_845_000)
"""Around all of `captures/zombie` that the cluster alpha is filled with."""
NOW = 1_795_000_000_000


def lanes(*bars: LaneBar, marks: tuple[LaneMark, ...] = ()) -> GroupLanes:
    return GroupLanes(1_000_000, 2_000_000, (MemberLane("w1:8083", bars),), (), marks)


def of_zombies(page: httpx.Client, from_ms: int = ZOMBIES[0], until_ms: int = ZOMBIES[1]) -> str:
    where = {"cluster": "alpha", "group": "zombies", "from": f"{from_ms}", "to": f"{until_ms}"}
    answer = page.get("/group", params=where)
    assert answer.status_code == 200
    return answer.text


def test_a_bar_stands_where_its_time_is() -> None:
    bars = (
        LaneBar(1_000_000, 1_250_000, frozenset({"a-10", "a-9"})),
        LaneBar(1_250_000, 1_500_000, frozenset({"a-1"}), frozenset({"a-1"}), sure=False),
        LaneBar(1_500_000, 2_000_000, None),
    )
    (lane,) = lanes_drawing("c", "g", GroupHistory(lanes(*bars))).lanes
    assert [(one.x, one.width, one.kind, one.inside) for one in lane.bars] == [
        ("0.00%", "25.00%", "held", "2"),
        ("25.00%", "25.00%", "twice unsure", "1"),
        ("50.00%", "50.00%", "held", "?"),
    ]
    assert lane.bars[0].title == "w1:8083, 00:16:40 to 00:20:50, 4 min: 2: a-9, a-10"
    assert "at another member, too: a-1; when it ended is not known" in lane.bars[1].title
    assert lane.bars[2].title.endswith(": not readable")


def test_every_cause_has_a_symbol() -> None:
    told = [kind for _, kinds in CAUSE_MARKS.values() for kind in kinds]
    assert sorted(told) == sorted(CAUSES)


def test_a_rebalance_leads_to_itself_and_what_came_of_it() -> None:
    marks = (
        LaneMark(1_500_000, 4, ("worker_lost", "leader_changed"), "match"),
        LaneMark(1_560_000, 5, (), "unexplained"),
    )
    drawing = lanes_drawing("c", "g&h", GroupHistory(lanes(marks=marks)))
    assert [(one.symbol, one.x, one.grade) for one in drawing.marks] == [
        ("▼", "50.00%", "match"),
        ("●", "56.00%", "unexplained"),
    ]
    assert drawing.marks[0].title == "00:25:00, generation 4: workers were lost, another worker leads; verdict match"
    assert parse_qs(urlsplit(drawing.marks[0].href).query) == {
        "cluster": ["c"], "group": ["g&h"], "from": ["1440000"], "to": ["1620000"],
    }  # fmt: skip
    assert [meaning for _, meaning in drawing.symbols] == [CAUSE_MARKS["▼"][0], CAUSE_MARKS["●"][0]]


def test_incidents_and_maintenance_have_rows_of_their_own() -> None:
    incident = builders.incident(message="it runs twice", opened_at_ms=1_500_000)
    window = Maintenance(cluster="*", groups="*", owner="jane", reason="upgrade", from_ms=0, until_ms=1_100_000)
    drawing = lanes_drawing("c", "g", GroupHistory(lanes(), [as_object(incident)], [window]))
    assert [lane.name for lane in drawing.lanes] == ["w1:8083", "incident: duplicate active", "maintenance"]
    (opened,), (muted,) = drawing.lanes[1].bars, drawing.lanes[2].bars
    assert (opened.x, opened.width, opened.kind) == ("50.00%", "50.00%", "found critical")
    assert "still open: it runs twice" in opened.title
    assert (muted.x, muted.width) == ("0.00%", "10.00%")
    assert {fact.text for fact in drawing.facts} == {"still open: it runs twice", "by jane: upgrade"}


def test_a_rolling_restart_is_shown_as_of_a_deployment() -> None:
    restart = RestartRun((4, 5, 6, 7), 1_500_000, 1_600_000, 3)
    drawing = lanes_drawing("c", "g", GroupHistory(lanes(), restarts=[restart]))
    assert [lane.name for lane in drawing.lanes] == ["w1:8083", "rolling restart"]
    (bar,) = drawing.lanes[1].bars
    assert (bar.x, bar.width) == ("50.00%", "10.00%")
    assert bar.title == ("rolling restart, as of a deployment, from 00:25:00: 3 members in 4 rebalances within 2 min")
    assert [(fact.from_ms, fact.until_ms) for fact in drawing.facts] == [(1_500_000, 1_600_000)]


def test_a_time_of_another_day_than_the_end_of_the_drawing_has_its_date() -> None:
    """As that of an incident that is open for days, or one before midnight in the last 24 h."""
    opened_ms, from_ms, until_ms = 1_795_000_000_000, 1_795_219_000_000, 1_795_221_000_000
    midnight_ms = 1_795_219_200_000
    bar = LaneBar(from_ms, until_ms, frozenset({"a-1"}))
    history = GroupLanes(
        from_ms, until_ms, (MemberLane("w1:8083", (bar,)),), (), (LaneMark(midnight_ms, 4, (), "match"),)
    )
    incident = builders.incident(opened_at_ms=opened_ms)
    drawing = lanes_drawing("c", "g", GroupHistory(history, [as_object(incident)]))
    ((held,), (opened,)) = (lane.bars for lane in drawing.lanes)
    assert held.title.startswith("w1:8083, 2026-11-20 23:56:40 to 00:30:00, 33 min: ")
    assert ", opened 2026-11-18 11:06:40, still open: " in opened.title
    assert drawing.marks[0].title.startswith("00:00:00, generation 4")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"from": "1"}, "the address must have to as milliseconds since 1970"),
        ({"from": "x", "to": "2"}, "the address must have from as milliseconds since 1970"),
        ({"from": "2", "to": "2"}, "the time to must be after from and at most 31 days later"),
        ({"from": "0", "to": "999999999999999"}, "the time to must be after from and at most 31 days later"),
        ({"span": "2h"}, "a span that is none of 15m, 1h, 6h, 24h"),
    ],
)
def test_an_address_that_names_no_time_is_refused(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(BadRequest, match=sentence):
        history_window(given, NOW)


def test_the_last_hour_is_shown_unless_another_time_is_asked_for() -> None:
    assert history_window({}, NOW) == HistoryWindow(NOW - 3_600_000, NOW, "1h")
    assert history_window({"span": "15m"}, NOW) == HistoryWindow(NOW - 900_000, NOW, "15m")
    assert history_window({"from": "5", "to": "9"}, NOW) == HistoryWindow(5, 9)


def test_links_lead_to_other_times_around_the_same_middle() -> None:
    links = {text: parse_qs(urlsplit(href).query) for text, href, _ in zooms("c", "g", HistoryWindow(NOW, NOW + 100))}
    assert [*links] == [*(text for text, _ in SPANS.values()), "Earlier", "Later", "Now"]
    assert (links["15 min"]["from"], links["15 min"]["to"]) == ([f"{NOW + 50 - 450_000}"], [f"{NOW + 50 + 450_000}"])
    assert (links["Earlier"]["from"], links["Later"]["to"]) == ([f"{NOW - 50}"], [f"{NOW + 150}"])
    live = {text: (href, shown) for text, href, shown in zooms("c", "g", history_window({}, NOW))}
    assert live["6 h"] == ("group?cluster=c&group=g&span=6h#lanes", False)
    assert live["1 h"][1]


def test_a_real_history_is_drawn_as_it_was_before(page: httpx.Client, tmp_path: Path) -> None:
    """The first 167 s of tests/vectors/captures/zombie: workers that freeze and come back."""
    found = re.search(r'<svg class="lanes".*?\n</svg>', of_zombies(page), re.DOTALL)
    assert found is not None
    drawn = tmp_path / GOLDEN.name
    drawn.write_text(found[0] + "\n", encoding="utf-8")
    assert drawn.read_text(encoding="utf-8") == GOLDEN.read_text(encoding="utf-8"), f"if intended: cp {drawn} {GOLDEN}"


def test_the_list_tells_what_the_drawing_tells(page: httpx.Client) -> None:
    text = of_zombies(page)
    bars = re.findall(r'<a href="#(lane-[^"]+)"><title>([^<]*)</title>', text)
    rows = dict(re.findall(r'<tr id="(lane-[^"]+)">(.*?)</tr>', text))
    assert len(bars) > 30
    for anchor, title in bars:
        assert unescape(title).split(": ", 1)[1] in unescape(re.sub(r"<[^>]+>", "", rows[anchor]))
    assert len(rows) == len(bars)


def test_the_api_tells_the_same_lanes_as_the_page(page: httpx.Client) -> None:
    where: dict[str, str | int] = {"cluster": "alpha", "group": "zombies"}
    where |= {"since_ms": ZOMBIES[0], "until_ms": ZOMBIES[1]}
    told = page.get("/api/v1/lanes", params=where).json()
    text = of_zombies(page)
    counted = sum(len(lane["bars"]) for lane in told["lanes"]) + len(told["nobody"])
    assert counted == len(re.findall(r'<a href="#lane-', text))
    assert [lane["member"] for lane in told["lanes"]] == [f"127.0.0.1:1930{number}" for number in (2, 3, 4, 5)]
    assert len(told["rebalances"]) == len(re.findall(r'<text class="mark ', text))
    refused = page.get("/api/v1/lanes", params={**where, "until_ms": 2**62})
    assert (refused.status_code, refused.json()["error"]) == (
        400, "the time until_ms must be after since_ms and at most 31 days later; correct it",
    )  # fmt: skip


def test_a_part_shows_what_the_whole_shows_there(page: httpx.Client) -> None:
    """Also what nobody held all the time of the part, which no record in it tells."""
    where = {"cluster": "alpha", "group": "zombies"}

    def nobody(from_ms: int, until_ms: int) -> list[tuple[int, int, list[str]]]:
        told = page.get("/api/v1/lanes", params={**where, "since_ms": from_ms, "until_ms": until_ms}).json()
        return [(bar["from_ms"], bar["until_ms"], bar["names"]) for bar in told["nobody"]]

    whole = nobody(*ZOMBIES)
    assert len(whole) > 3
    for from_ms, until_ms, names in whole:
        assert nobody(from_ms + 1, until_ms - 1) == [(from_ms + 1, until_ms - 1, names)]


def test_windows_that_are_over_are_still_shown(page: httpx.Client) -> None:
    """`under-work` is muted by a window of the configuration."""
    where = {"cluster": "gamma", "group": "under-work", "span": "6h"}
    assert "maintenance by jane" in page.get("/group", params=where).text
    assert "maintenance by jane" not in page.get("/group", params={**where, "group": "waits"}).text


@pytest.mark.parametrize(
    ("back", "ends_ms", "sure"), [({"emptied": GroupEmptied(NOW + 30_000)}, 30_000, True), ({}, 60_000, False)]
)
def test_what_comes_hours_later_tells_until_when_the_last_one_lasted(
    server: str, back: dict[str, GroupEmptied], ends_ms: int, sure: bool
) -> None:
    later_ms = 2 * AFTERWARDS_MS
    with database(server) as store:
        filled.put(
            store,
            builders.generation(1, group="g", generation=1, at_ms=NOW),
            builders.generation(3, group="g", generation=3, at_ms=NOW + later_ms, **back),
            builders.generation(4, group="g", generation=4, at_ms=NOW + later_ms + 1_000),
        )
        reader = Reader([store.database], Unavailable)
        row = reader.group(("c", "g"))
        assert row is not None
        (bar,) = read_history(reader, row, (), NOW, NOW + 60_000).lanes.lanes[0].bars
    assert (bar.until_ms - NOW, bar.sure) == (ends_ms, sure)


def test_what_does_not_fit_is_counted(server: str) -> None:
    with database(server) as store:
        members = tuple(builders.member(one) for one in range(MOST_LANES + 2))
        filled.put(
            store,
            *(
                builders.generation(
                    offset=number,
                    cluster="c",
                    group="g",
                    generation=number,
                    at_ms=NOW + number * 1_000,
                    members=members,
                )
                for number in range(MOST_GENERATIONS + 1)
            ),
        )
        reader = Reader([store.database], Unavailable)
        row = reader.group(("c", "g"))
        assert row is not None
        history = read_history(reader, row, (), NOW, NOW + 100_000)
    assert [text.partition(";")[0] for text in history.left_out] == [
        f"Only the last {MOST_GENERATIONS} generations are shown",
        "Not shown: 2 members whose assignment changed less often.",
    ]
    assert (len(history.lanes.lanes), len(history.lanes.marks)) == (MOST_LANES, MOST_GENERATIONS)
    assert history.lanes.lanes[0].bars[0].from_ms == NOW + 1_000
