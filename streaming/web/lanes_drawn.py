"""A group's history as a drawing: from lanes to places, texts and addresses, which `lanes.html` writes as SVG. Pure.

Across, all places are percentages, so that the drawing is as wide as the window and its texts stay as large as the
page's. Down, they are pixels.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

from rebalance_monitor.streaming.core.incidents.maintenance import Maintenance
from rebalance_monitor.streaming.core.model.messages import listed
from rebalance_monitor.streaming.stories.cause_words import UNKNOWN, kind_text
from rebalance_monitor.streaming.stories.durations import duration
from rebalance_monitor.streaming.stories.holdings import by_number
from rebalance_monitor.streaming.stories.lanes import LaneBar, LaneMark, MemberLane
from rebalance_monitor.streaming.stories.rolling_restarts import RestartRun
from rebalance_monitor.streaming.stories.short_names import short_names
from rebalance_monitor.streaming.stories.story import words
from .lanes_read import GroupHistory
from .window import moment, window_address

Object = dict[str, Any]
LANE_HEIGHT = 34
MOST_IN_TITLE = 40
MOST_IN_TIP = 6
AROUND_MS = 60_000
"""A rebalance is shown with so much before it and behind the one that follows, which comes within LONGEST_STEP_MS."""
LONGEST_STEP_MS = 600_000
# The narrowest drawing is about 300 px wide, and a figure about 7 px.
_NARROWEST_PX, _FIGURE_PX = 300, 7
_THINNEST = 0.15

CAUSE_MARKS = {
    "▲": ("somebody came", ("worker_joined", "zombie_returned", "worker_bounced", "member_joined", "member_replaced")),
    "▼": (
        "somebody went",
        ("worker_left", "worker_lost", "worker_gone", "member_left", "member_lost", "member_gone"),
    ),
    "◆": (
        "other connectors, topics or settings",
        (
            "connector_created", "connector_deleted", "connector_rescaled", "connector_reconfigured",
            "config_mismatch", "protocol_changed", "topic_changed", "subscription_changed", "configuration_changed",
            "partitions_initialized",
        ),
    ),
    "●": (
        "follows from one before, was asked for by who was there, or the cause is not known",
        (
            "delay_expired", "revocation_follow_up", "backoff_follow_up", "leader_changed", "probing_rebalance",
            "version_probing", "worker_rejoined", "member_rejoined", "begun_by_coordinator", "unknown",
        ),
    ),
}  # fmt: skip
"""What stands at a rebalance, by its first cause: the meaning, and kinds of causes."""
_MARK_OF = {kind: mark for mark, (_, kinds) in CAUSE_MARKS.items() for kind in kinds}


class DrawnBar(NamedTuple):
    """`x` and `width` in percent. `title` is the whole text, `tip` one line of it; `inside` what fits into the bar."""

    x: str
    width: str
    kind: str
    inside: str
    title: str
    tip: str
    fact: str = ""


class DrawnLane(NamedTuple):
    """`y` in pixels from the top. `name` is short, `whole` is not."""

    y: int
    name: str
    whole: str
    bars: tuple[DrawnBar, ...]


class DrawnMark(NamedTuple):
    """A rebalance; `href` shows it alone."""

    x: str
    symbol: str
    grade: str
    title: str
    href: str


class AxisTick(NamedTuple):
    """A moment on the axis. `minor`: a narrow window has no place for its text."""

    x: str
    anchor: str
    text: str
    minor: bool


class LaneFact(NamedTuple):
    """One line of the list that tells the same as the drawing."""

    anchor: str
    who: str
    whole: str
    from_ms: int
    until_ms: int | None
    text: str
    href: str = ""


@dataclass(frozen=True, slots=True)
class LanesDrawing:
    """`height` in pixels; `lanes` end where `tip_y` stands."""

    height: int
    ticks: tuple[AxisTick, ...]
    marks: tuple[DrawnMark, ...]
    lanes: tuple[DrawnLane, ...]
    facts: tuple[LaneFact, ...]
    symbols: tuple[tuple[str, str], ...]

    @property
    def tip_y(self) -> int:
        """Where the line stands that says what has the focus."""
        return self.height - 6


class _Scale(NamedTuple):
    from_ms: int
    until_ms: int

    def at(self, ms: int) -> float:
        """Percent of the width, between 0 and 100."""
        inside = min(max(ms, self.from_ms), self.until_ms) - self.from_ms
        return 100 * inside / max(self.until_ms - self.from_ms, 1)

    def bar(self, from_ms: int, until_ms: int | None) -> tuple[float, float]:
        begins, ends = self.at(from_ms), self.at(self.until_ms if until_ms is None else until_ms)
        return min(begins, 100 - _THINNEST), max(ends - begins, _THINNEST)

    def time(self, ms: int) -> str:
        """With its date, unless that is the one on which the drawing ends."""
        at = moment(ms)
        return at.strftime("%H:%M:%S" if at.date() == moment(self.until_ms).date() else "%Y-%m-%d %H:%M:%S")


def lanes_drawing(cluster: str, group: str, history: GroupHistory) -> LanesDrawing:
    lanes, scale = history.lanes, _Scale(history.lanes.from_ms, history.lanes.until_ms)
    names = short_names(one.name for one in lanes.lanes)
    rows: list[tuple[str, str, tuple[DrawnBar, ...], list[LaneFact]]] = []
    for number, lane in enumerate(sorted(lanes.lanes, key=lambda one: by_number(one.called or one.name))):
        name = f"{lane.called}, {names[lane.name]}" if lane.called else names[lane.name]
        rows.append((name, lane.name, *_member(scale, f"lane-{number}", name, lane)))
    if lanes.nobody:
        rows.append(
            ("nobody", "held by nobody", *_member(scale, "lane-nobody", "nobody", MemberLane("", lanes.nobody)))
        )
    rows.extend(_incidents(scale, history.incidents))
    rows.extend(_restarts(scale, history.restarts))
    rows.extend(_maintenance(scale, history.windows))
    drawn = tuple(DrawnLane(44 + at * LANE_HEIGHT, name, whole, bars) for at, (name, whole, bars, _) in enumerate(rows))
    marks = tuple(
        _mark(cluster, group, scale, one, following) for one, following in zip_longest(lanes.marks, lanes.marks[1:])
    )
    rebalances = [
        LaneFact("", "rebalance", "", mark.at_ms, None, _rebalance(mark), drawn_mark.href)
        for mark, drawn_mark in zip(lanes.marks, marks, strict=True)
    ]
    return LanesDrawing(
        44 + len(rows) * LANE_HEIGHT + 24,
        tuple(_ticks(scale)),
        marks,
        drawn,
        (*rebalances, *(fact for *_, facts in rows for fact in facts)),
        tuple(
            (symbol, meaning) for symbol, (meaning, _) in CAUSE_MARKS.items() if symbol in {one.symbol for one in marks}
        ),
    )


def _member(scale: _Scale, anchor: str, name: str, lane: MemberLane) -> tuple[tuple[DrawnBar, ...], list[LaneFact]]:
    bars, facts = [], []
    for number, bar in enumerate(lane.bars):
        fact = f"{anchor}-{number}"
        x, width = scale.bar(bar.from_ms, bar.until_ms)
        count = "?" if bar.names is None else f"{len(bar.names)}"
        fits = width / 100 * _NARROWEST_PX >= len(count) * _FIGURE_PX
        span = f"{scale.time(bar.from_ms)} to {scale.time(bar.until_ms)}, {duration(bar.until_ms - bar.from_ms)}"
        title, tip = (f"{name}, {span}: {_content(bar, most)}" for most in (MOST_IN_TITLE, MOST_IN_TIP))
        kind = "none" if bar.names == frozenset() else "twice" if bar.twice else "nobody" if not lane.name else "held"
        kind += "" if bar.sure else " unsure"
        bars.append(DrawnBar(_percent(x), _percent(width), kind, count if fits else "", title, tip, fact))
        facts.append(LaneFact(fact, name, lane.name, bar.from_ms, bar.until_ms, _content(bar, MOST_IN_TITLE)))
    return tuple(bars), facts


def _content(bar: LaneBar, most: int) -> str:
    if bar.names is None:
        text = "not readable"
    elif not bar.names:
        text = "nothing"
    else:
        text = f"{len(bar.names)}: {listed(sorted(bar.names, key=by_number), most)}"
    if bar.twice:
        text += f"; at another member, too: {listed(sorted(bar.twice, key=by_number), most)}"
    return text if bar.sure else f"{text}; when it ended is not known, at the latest at the end"


def _incidents(
    scale: _Scale, incidents: Iterable[Object]
) -> Iterator[tuple[str, str, tuple[DrawnBar, ...], list[LaneFact]]]:
    """One row for each rule, the earliest incident first."""
    by_rule: dict[str, list[Object]] = {}
    for one in sorted(incidents, key=lambda one: (one["opened_at_ms"], one["incident_id"])):
        by_rule.setdefault(one["rule"], []).append(one)
    for rule, some in by_rule.items():
        name = f"incident: {words(rule)}"
        bars, facts = [], []
        for one in some:
            from_ms, until_ms = one["opened_at_ms"], one["resolved_at_ms"]
            ends = "still open" if until_ms is None else f"resolved {scale.time(until_ms)}"
            text = f"{words(rule)}, opened {scale.time(from_ms)}, {ends}: {one['message']}"
            x, width = map(_percent, scale.bar(from_ms, until_ms))
            bars.append(DrawnBar(x, width, f"found {one['alert']}", "", text, text))
            facts.append(LaneFact("", name, one["code"], from_ms, until_ms, f"{ends}: {one['message']}"))
        yield name, name, tuple(bars), facts


def _maintenance(
    scale: _Scale, windows: Sequence[Maintenance]
) -> Iterator[tuple[str, str, tuple[DrawnBar, ...], list[LaneFact]]]:
    bars, facts = [], []
    for one in sorted(windows, key=lambda one: (one.from_ms, one.until_ms)):
        text = f"maintenance by {one.owner}, {scale.time(one.from_ms)} to {scale.time(one.until_ms)}: {one.reason}"
        x, width = map(_percent, scale.bar(one.from_ms, one.until_ms))
        bars.append(DrawnBar(x, width, "maintenance", "", text, text))
        facts.append(LaneFact("", "maintenance", "", one.from_ms, one.until_ms, f"by {one.owner}: {one.reason}"))
    if bars:
        yield "maintenance", "maintenance", tuple(bars), facts


def _restarts(
    scale: _Scale, restarts: Sequence[RestartRun]
) -> Iterator[tuple[str, str, tuple[DrawnBar, ...], list[LaneFact]]]:
    bars, facts = [], []
    for one in restarts:
        text = f"rolling restart, as of a deployment, from {scale.time(one.from_ms)}: {one}"
        x, width = map(_percent, scale.bar(one.from_ms, one.until_ms))
        bars.append(DrawnBar(x, width, "maintenance", "", text, text))
        facts.append(LaneFact("", "rolling restart", "", one.from_ms, one.until_ms, f"as of a deployment: {one}"))
    if bars:
        yield "rolling restart", "rolling restart, as of a deployment", tuple(bars), facts


def _mark(cluster: str, group: str, scale: _Scale, mark: LaneMark, following: LaneMark | None) -> DrawnMark:
    next_ms = mark.at_ms if following is None else min(following.at_ms, mark.at_ms + LONGEST_STEP_MS)
    href = window_address(cluster, group, mark.at_ms - AROUND_MS, next_ms + AROUND_MS)
    symbol = _MARK_OF.get(mark.causes[0] if mark.causes else "unknown", "●")
    return DrawnMark(
        _percent(scale.at(mark.at_ms)), symbol, mark.grade, f"{scale.time(mark.at_ms)}, {_rebalance(mark)}", href
    )


def _rebalance(mark: LaneMark) -> str:
    causes = ", ".join(map(kind_text, mark.causes or (UNKNOWN,)))
    return f"generation {mark.generation}: {causes}; verdict {words(mark.grade)}"


def _ticks(scale: _Scale) -> Iterator[AxisTick]:
    width_ms = scale.until_ms - scale.from_ms
    shape = "%H:%M:%S" if width_ms < 600_000 else "%H:%M" if width_ms <= 172_800_000 else "%m-%d %H:%M"
    for part, anchor in ((0, "start"), (1, "middle"), (2, "middle"), (3, "middle"), (4, "end")):
        text = moment(scale.from_ms + width_ms * part // 4).strftime(shape)
        yield AxisTick(f"{25 * part}%", anchor, text, part in (1, 3))


def _percent(value: float) -> str:
    return f"{value:.2f}%"
