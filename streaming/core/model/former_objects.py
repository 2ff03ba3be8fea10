"""Objects as earlier releases stored them, completed with the fields that came later.

A stored document stays as it was written until its row is written again. Whoever reads documents completes them first,
so that pages, answers of the API and values all have the present shape.

    {"kind": "violation", …, "team": ""}   ->   {"kind": "violation", …, "team": "", "open_parts": 1, "cause": [], …}
"""

from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]

ADDED_TO_VIOLATIONS: Mapping[str, Any] = {
    "alert": "info",
    "firing": False,
    "fired_at_ms": None,
    "times_notified": 0,
    "team": "",
    "alert_name": "",
    "next_step": "",
    "open_parts": 1,
    "more_subjects": 0,
    "cause": [],
    "common": [],
    "also_broken": [],
}
"""Fields of an incident that its first release did not have, with what held then: an incident was one finding."""

ADDED_TO_STREAMS: Mapping[str, Any] = {
    "balance": {"stateful": [0, 0], "stateless": [0, 0]},
    "missing_standbys": None,
    "progress": None,
    "laws": {},
}
"""Fields of a generation's `streams` that its first release did not have, as where nothing is known."""


def completed_violation(document: Mapping[str, Any]) -> Object:
    """An incident's object with every field of this release; what it has stays as it is."""
    return {**ADDED_TO_VIOLATIONS, **document}


def completed_generation(document: Mapping[str, Any]) -> Object:
    """A generation's object with every field of this release that is read without asking whether it is there."""
    streams = document.get("streams")
    return {**document, "streams": {**ADDED_TO_STREAMS, **streams}} if streams else dict(document)
