"""What is seen in a generation of a Streams group, as a line for people: on the page, and in the table of `replay`."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

ON_END_OFFSETS = "end offsets"
"""Why a generation is no match, in its row; `missing_end_offsets` says once what that means."""


def missing_end_offsets(group: str) -> str:
    """What would make a match of the generations of this application whose verdicts rest on end offsets."""
    return (
        f"{ON_END_OFFSETS}: these answers of {group} rest on where the changelogs {group}-STORE-changelog ended, which "
        "no record holds; possible end offsets give them. What makes a match: samples of these topics before and after "
        "each record (polling.topics, with the right DESCRIBE on them; of a capture, end_offsets in "
        "metadata.jsonl.gz), and the text of the topology, which tells the stores "
        f"(clusters[].streams.{group}.topology)"
    )


def summary(streams: Mapping[str, Any] | None) -> str:
    """Of the object of a generation's `streams`; "" for a generation of another kind, or one with nothing to say."""
    return "" if streams is None else "; ".join(_parts(streams))


def _parts(streams: Mapping[str, Any]) -> Iterator[str]:
    withheld = len(streams["withheld"])
    if withheld:
        yield f"{_counted(withheld, 'task')} withheld until handed over"
    progress = streams["progress"]
    if progress is not None and progress["moves_left"]:
        least = _counted(progress["rebalances"], "probing rebalance")
        last = f", so not before {_clock(progress['not_before_ms'])}" if progress["not_before_ms"] is not None else ""
        yield f"{_counted(progress['moves_left'], 'move')} left, at best {least}{last}"
        if progress["next_ms"] is not None:
            yield f"next probing rebalance {_clock(progress['next_ms'])}"
    if streams["missing_standbys"]:
        yield f"{_counted(streams['missing_standbys'], 'standby')} missing"
    for part in streams["subtopologies"]:
        if not withheld and part["most"] - part["least"] > 1:
            yield f"sub-topology {part['name']}: {part['least']} to {part['most']} tasks per process"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what[:-1]}ies" if what.endswith("y") else f"{count} {what}s"


def _clock(at_ms: int) -> str:
    """UTC time of day; the number itself where it is no day of any calendar."""
    try:
        return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%H:%M:%S")
    except (OverflowError, OSError, ValueError):
        return str(at_ms)
