"""Causes of a target that several group epochs share."""

from collections.abc import Iterable
from dataclasses import replace

from rebalance_monitor.streaming.core.model.results import Cause, Certainty, Subject

MOST_SUBJECTS = 100
MOST_EVIDENCE = 10


def merged(before: tuple[Cause, ...], after: tuple[Cause, ...]) -> tuple[Cause, ...]:
    """Causes of several epochs that share a target: each kind once, with all its subjects up to a bound."""
    found: dict[tuple[str, Certainty], Cause] = {}
    for cause in (*before, *after):
        known = found.get((cause.kind, cause.certainty))
        if known is None:
            found[cause.kind, cause.certainty] = cause
            continue
        subjects = tuple(dict.fromkeys((*known.subjects, *cause.subjects)))[:MOST_SUBJECTS]
        evidence = tuple(dict.fromkeys((*known.evidence, *cause.evidence)))[:MOST_EVIDENCE]
        found[cause.kind, cause.certainty] = replace(known, subjects=subjects, evidence=evidence)
    return tuple(found.values())


def members(names: Iterable[str]) -> tuple[Subject, ...]:
    """Members as subjects of a cause, up to a bound."""
    return tuple(Subject("member", one) for one in sorted(names))[:MOST_SUBJECTS]
