"""Stored documents back as values: what was published before the process started."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from rebalance_monitor.streaming.core.model.published import from_object
from rebalance_monitor.streaming.core.model.results import Incident


class LastGeneration(NamedTuple):
    """What is published of a group's latest generation; the first two fields say which one is the latest.

    `unassigned` is None while it is not judged: who waits is worked out with the verdict.
    """

    incarnation: int
    offset: int
    cluster: str
    group: str
    generation: int
    members: int
    at_ms: int
    unassigned: int | None
    delay_ms: int | None
    connect: bool


def incident_of(document: Mapping[str, Any], transition: str, historic: bool = False) -> Incident:
    """The incident that `as_object` made this document from."""
    return from_object(Incident, {**document, "transition": transition, "historic": historic})
