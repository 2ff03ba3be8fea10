"""A group's story as one HTML file that opens without a network: six lines, rebalances, generations, incidents."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any

from rebalance_monitor.streaming.core.model.messages import utc
from .explanation import disruptive, explanation, rebalance_of
from .known import GroupFacts
from .six_lines import six_lines
from .story import GenerationRow, story

TOLD_AT_LENGTH = 20
"""So many rebalances of a group are told step by step; all are in the table."""
_STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #8884; }
summary { cursor: pointer; font-weight: 600; margin-top: .5rem; }
td, li, dd, summary { overflow-wrap: anywhere; }
dt { font-weight: 600; }
.note { border-left: 4px solid #c80; padding-left: .75rem; }
"""
Object = dict[str, Any]


def offline_page(title: str, notes: Iterable[str], groups: Sequence[tuple[GroupFacts, Sequence[Object]]]) -> str:
    """`groups`: what is known of each, its generations with the newest first, and all its incidents."""
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
            f"<h1>{escape(title)}</h1>",
            *(f'<p class="note">{escape(note)}</p>' for note in notes),
            *(line for known, incidents in groups for line in _group(known, incidents)),
            "</body></html>\n",
        )
    )


def _group(known: GroupFacts, incidents: Sequence[Object]) -> Iterator[str]:
    group = known.group
    yield f"<h2>{escape(group['group'])} ({escape(group['cluster'])}) at {utc(known.now_ms)}</h2><dl>"
    for name, text in six_lines(known).lines():
        yield f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>"
    yield "</dl>"
    generations = list(known.generations)
    places = [at for at, one in enumerate(generations) if disruptive(one, incidents)] or [0][: len(generations)]
    yield "<h3>Rebalances that moved or stopped something, the newest first</h3>"
    for place in places[:TOLD_AT_LENGTH]:
        yield from _rebalance(generations, place, incidents, known.now_ms)
    if len(places) > TOLD_AT_LENGTH:
        yield f"<p>{len(places) - TOLD_AT_LENGTH} earlier ones are in the table alone.</p>"
    rows = (story(GenerationRow(dict(one), one["cluster"], one["group"], "")) for one in generations)
    yield from _table(
        "Generations",
        ("generation", "at", "members", "verdict", "cause", "moved"),
        (
            (str(one.generation), utc(one.at_ms), str(one.members), _verdict(one.grade, one.reason),
             "; ".join(one.causes), one.moved)
            for one in rows
        ),
    )  # fmt: skip
    yield from _table("Incidents", ("rule", "severity", "from", "until", "what"), map(_incident, incidents))


def _rebalance(generations: Sequence[Any], place: int, incidents: Sequence[Any], now_ms: int) -> Iterator[str]:
    one = generations[place]
    yield f"<details><summary>Generation {one['generation']}, {utc(one['at_ms'])}</summary>"
    for chapter in explanation(rebalance_of(generations, place, incidents), now_ms):
        yield f"<h4>{escape(chapter.title)}</h4><ul>"
        yield from (f"<li>{escape(sentence)}</li>" for sentence in chapter.sentences)
        yield "</ul>"
    yield "</details>"


def _verdict(grade: str, reason: str) -> str:
    return f"{grade.replace('_', ' ')}{f': {reason}' if reason else ''}"


def _incident(incident: Object) -> tuple[str, ...]:
    found = incident["violation"]
    ended_ms = found["resolved_at_ms"]
    return (
        f"{found['rule']} ({found['code']})", f"{found['severity']}, {found['certainty']}", utc(found["opened_at_ms"]),
        "open" if ended_ms is None else utc(ended_ms), " ".join(found["message"].split()),
    )  # fmt: skip


def _table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"<h3>{title}</h3><table><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>"
    for row in rows:
        yield f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
    yield "</table>"
