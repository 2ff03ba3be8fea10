"""Which keys a section of the configuration has, by its place."""

from collections.abc import Iterator, Sequence
from typing import Any, get_args

from rebalance_monitor.streaming.config.section import Section
from rebalance_monitor.streaming.config.settings import Settings


def known_keys(place: Sequence[str | int]) -> list[str]:
    """The keys that may stand there. Positions in lists and names that the user chose are passed over."""
    sections: list[type[Section]] = [Settings]
    for part in place:
        fields = [section.model_fields[part] for section in sections if part in section.model_fields]
        if fields:
            sections = [found for field in fields for found in _sections(field.annotation)]
    return sorted({key for section in sections for key in section.model_fields})


def _sections(annotation: Any) -> Iterator[type[Section]]:
    """Every section that a value of this type may hold."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for inner in get_args(annotation):
        yield from _sections(inner)
