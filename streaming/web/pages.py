"""The pages for people: rows to HTML. Jinja escapes every value; a name of `<script>` is text like any other."""

import hashlib
from collections.abc import Mapping
from functools import cache, partial
from importlib.resources import files
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from rebalance_monitor.streaming.core.catalogue import RULES
from rebalance_monitor.streaming.core.connect.advice.words import whole_text
from rebalance_monitor.streaming.core.incidents.commands import commands_of, on_kubernetes
from rebalance_monitor.streaming.core.incidents.own_alerts import OWN_ALERTS, OwnAlert, readable
from rebalance_monitor.streaming.core.model.messages import counted
from rebalance_monitor.streaming.core.runbooks import (
    by_codes,
    commands,
    damping_text,
    left_open,
    loudness_text,
    rules_titled,
)
from rebalance_monitor.streaming.core.streams.words import ON_END_OFFSETS, missing_end_offsets
from rebalance_monitor.streaming.stories.durations import duration
from rebalance_monitor.streaming.stories.expected_text import expected_text
from rebalance_monitor.streaming.stories.known import RECENT, GroupFacts
from rebalance_monitor.streaming.stories.lag_text import held_up_text, lag_text
from rebalance_monitor.streaming.stories.score import score_lines
from rebalance_monitor.streaming.stories.short_names import short_names
from rebalance_monitor.streaming.stories.six_lines import six_lines
from rebalance_monitor.streaming.stories.story import GRADES, Story, story, words
from rebalance_monitor.streaming.stories.whatif import usual_advice
from rebalance_monitor.streaming.stories.why import notes_on, ranking, ranking_object, told_in_lines
from . import fleet, queries
from .api import NotFound, PageSource, health
from .attention import incident_object
from .contract import MOST, PREFIX
from .fleet import STATES
from .fleet_table import KINDS, FleetQuery, fleet_table
from .lanes_drawn import AROUND_MS, lanes_drawing
from .lanes_read import GroupHistory, read_history
from .matrix import MARKS, NOTHING, matrix
from .parameters import address, cursor, place
from .rows import NOBODY
from .scope import Scope
from .tasks import task_view
from .why import violations_of
from .window import history_window, moment, window_address, zooms

INCIDENTS_SHOWN = 50
REBALANCES_SHOWN = 12
GENERATIONS_SHOWN = 30
MOST_HELD_PREDICTED = 1_000
"""On a page, which somebody waits for; of the API see `whatif.scored`."""
JOBS_READ = 20_000
STRIP_HEIGHT = 44
ALL_GROUPS = FleetQuery()
NOTHING_GIVEN: Mapping[str, str] = {}
_API = PREFIX.removeprefix("/")


class Bar(NamedTuple):
    """One generation in the strip; `height` in the picture's units."""

    generation: int
    grade: str
    moves: int
    height: int
    anchor: str


def _clock(ms: int) -> str:
    return moment(ms).strftime("%Y-%m-%d %H:%M:%S UTC")


def _iso(ms: int) -> str:
    return moment(ms).strftime("%Y-%m-%dT%H:%M:%SZ")


def _address_of_group(path: str, cluster: str, group: str, **more: object) -> str:
    return address(path, {"cluster": cluster, "group": group, **more})


def _marked(text: str) -> Markup:
    """The catalogue's text, in which what stands between backquotes is code."""
    parts = escape(text).split("`")
    return Markup("").join(Markup("<code>{}</code>").format(one) if at % 2 else one for at, one in enumerate(parts))


@cache
def static_files() -> dict[str, tuple[bytes, str]]:
    """Name to content and version."""
    folder = files("rebalance_monitor.streaming.web") / "static"
    found = {name: (folder / name).read_bytes() for name in ("monitor.css", "monitor.js", "icon.svg")}
    return {name: (content, hashlib.sha256(content).hexdigest()[:12]) for name, content in found.items()}


def _static(name: str) -> str:
    return f"static/{name}?v={static_files()[name][1]}"


@cache
def environment() -> Environment:
    """The templates, with their filters and functions."""
    made = Environment(
        loader=PackageLoader("rebalance_monitor.streaming.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # An installation that is replaced under a running page must not give it templates of another version.
        auto_reload=False,
    )
    made.filters |= {
        "whole": whole_text,
        "pasted": commands_of,
        "on_kubernetes": on_kubernetes,
        "iso": _iso,
        "clock": _clock,
        "words": words,
        "marked": _marked,
    }
    made.globals |= {
        "link": partial(_address_of_group, "group"),
        "link_generation": lambda cluster, source: address(f"{_API}/generation", {"cluster": cluster, **source}),
        "link_jobs": partial(_address_of_group, f"{_API}/connectors_and_tasks", limit=MOST),
        "link_summaries": partial(_address_of_group, f"{_API}/summaries"),
        "link_runbook": lambda title: address("runbook", {"rule": title}),
        "link_why": partial(_address_of_group, f"{_API}/why"),
        "link_advice": partial(_address_of_group, f"{_API}/advice"),
        "static": _static,
        "count": counted,
        "lag_text": lag_text,
        "held_up_text": held_up_text,
        "duration": duration,
        "nobody": NOBODY,
        "meanings": {"State": STATES, "Last verdict": GRADES},
        "rules": {rule.code: rule for rule in RULES},
    }
    return made


def _render(template: str, **values: Any) -> str:
    return environment().get_template(template).render(**values)


def error_page(status: int, sentence: str, path: str) -> str:
    """`path`: what was asked for, as the browser wrote it. What there is not may be anywhere below the root."""
    root = "../" * (path.count("/") - 1) or "./"
    return _render("error.html", status=status, sentence=sentence, root=root)


def fleet_page(source: PageSource, scope: Scope, query: FleetQuery = ALL_GROUPS) -> str:
    """Groups as the address asks for them, open incidents, last rebalances."""
    known, only, now_ms = source.shown(scope), source.only(scope), source.clock_ms()
    last = source.reader.generations({}, only, REBALANCES_SHOWN)
    return _render(
        "fleet.html",
        title="Fleet · rebalance-monitor",
        here="fleet",
        live_key=None,
        now_ms=now_ms,
        version=source.version,
        health=health(source, scope),
        total=len(known.groups),
        counts=known.counts,
        query=query,
        table=fleet_table(known.groups, source.reader.rebalances(now_ms - 3_600_000, only), query),
        kinds=KINDS,
        incidents=known.incidents[:INCIDENTS_SHOWN],
        more_incidents=max(0, len(known.incidents) - INCIDENTS_SHOWN),
        last=[story(row) for row in last.items],
        at_once=source.recent.events(source.reader, scope, only, now_ms),
    )


def runbook_page(title: str) -> str:
    """What a rule, or an alert about the monitor, means and what to do, from the catalogue; NotFound."""
    own = next((one for one in OWN_ALERTS if one.name == title), None)
    if own is not None:
        return _own_runbook(own)
    found = rules_titled(title)
    if not found:
        raise NotFound("no rule and no alert has this name")
    title = found[0].title
    checks = tuple(dict.fromkeys(check for rule in found for check in rule.confirm))
    steps = by_codes(found, lambda rule: rule.advice)
    return _render(
        "runbook.html",
        title=f"{title} · rebalance-monitor",
        here="runbook",
        live_key=None,
        now_ms=0,
        name=title,
        rules=found,
        laws=tuple(dict.fromkeys(rule.meaning for rule in found)),
        loudness=loudness_text,
        damping=damping_text,
        checks=checks,
        left_open=left_open(commands(checks, (step for _, some in steps for step in some))),
        steps=steps,
        resolves=by_codes(found, lambda rule: (rule.resolves,)),
        exceptions=tuple(dict.fromkeys(text for rule in found for text in rule.exceptions)),
        issues=tuple(sorted({issue for rule in found for issue in rule.issues})),
    )


def _own_runbook(own: OwnAlert) -> str:
    return _render(
        "own_runbook.html",
        title=f"{own.name} · rebalance-monitor",
        here="runbook",
        live_key=None,
        now_ms=0,
        own=own,
        summary=readable(own.summary),
        description=readable(own.description),
        checks=own.confirm,
        left_open=left_open(commands(own.confirm, own.advice)),
    )


def group_page(
    source: PageSource, scope: Scope, cluster: str, group: str, given: Mapping[str, str] = NOTHING_GIVEN
) -> str:
    """One group: incidents, who has what and had what, and its generations. `given`: the address' other parameters."""
    window, before = history_window(given, source.clock_ms()), given.get("before")
    state = source.group(scope, (cluster, group))
    history = read_history(source.reader, state.row, source.windows, window.from_ms, window.until_ms)
    where = {"cluster": cluster, "group": group}
    after = place(before, queries.GENERATIONS.place)
    shown = source.reader.generations(where, None, GENERATIONS_SHOWN, after)
    newest = shown if after is None else source.reader.generations(where, None, 1)
    latest = newest.items[0] if newest.items else None
    jobs = source.reader.connectors_and_tasks(where, None, JOBS_READ)
    progress = source.reader.progress((cluster, group))
    recent = [row.document for row in (shown if after is None else newest).items]
    complete = after is None and shown.next is None
    looked_at = recent
    if state.state != "fine" and not complete:
        looked_at = [row.document for row in source.reader.generations(where, None, RECENT).items]
    facts = GroupFacts(
        fleet.group_object(state),
        source.clock_ms(),
        looked_at,
        [incident_object(one) for one in state.incidents],
        progress,
        spans=False,
    )
    stories = [story(row) for row in shown.items]
    table = NOTHING if latest is None else matrix(latest.document, [row.document for row in jobs.items])
    told = None if latest is None else story(latest)
    violations = violations_of(source.reader, (cluster, group), recent[-1]["at_ms"], facts.now_ms) if recent else []
    why = ranking_object(
        cluster, group, None,
        ranking(recent, violations=violations, all_of_them=complete, most_held=MOST_HELD_PREDICTED),
    )  # fmt: skip
    there = state.row.status not in NOBODY
    advice = (
        source.recent_advice.of((cluster, group), recent, complete=complete, there=there) if after is None else None
    )
    return _render(
        "group.html",
        title=f"{group} · rebalance-monitor",
        here="group",
        live_key=(cluster, group),
        now_ms=source.clock_ms(),
        version=source.version,
        health=health(source, scope),
        one=state,
        expected=expected_text(facts.group),
        answer=() if state.state == "fine" else six_lines(facts).lines(),
        leader="" if told is None else told.leader,
        wait="" if told is None else told.wait,
        marks=MARKS,
        table=table,
        short=short_names(table.workers),
        tasks=None if latest is None else task_view(latest.document),
        why=told_in_lines(why) if after is None else [],
        beside_why=notes_on(why),
        score=score_lines(why["predictions"]),
        advice=[] if advice is None else usual_advice.worth_it(advice),
        beside_advice=[] if advice is None else usual_advice.notes_on(advice),
        strip=bars(stories),
        history=history,
        drawn=lanes_drawing(cluster, group, history),
        window=window,
        zooms=zooms(cluster, group, window),
        last_href=_last_rebalance(cluster, group, history),
        stories=stories,
        resting=missing_end_offsets(group) if any(one.reason == ON_END_OFFSETS for one in stories) else "",
        gaps=source.gaps((cluster, group)),
        progress=progress,
        paged=after is not None,
        older=cursor(shown.next),
        cut_before_ms=None if shown.next else source.reader.cut_before_ms(),
    )


def _last_rebalance(cluster: str, group: str, history: GroupHistory) -> str:
    """The address that shows it alone; "" where it is among those that are shown."""
    if history.lanes.marks or history.last_ms is None:
        return ""
    return window_address(cluster, group, history.last_ms - AROUND_MS, history.last_ms + AROUND_MS)


def bars(stories: list[Story]) -> list[Bar]:
    """The oldest first, so that time runs to the right; the most moves fill the height."""
    most = max((one.moves for one in stories), default=0) or 1
    return [
        Bar(one.generation, one.grade, one.moves, 6 + (STRIP_HEIGHT - 6) * one.moves // most, one.anchor)
        for one in reversed(stories)
    ]
