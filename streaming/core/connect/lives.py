"""A config topic that was deleted and made anew, in an input that holds both: which record is of which topic.

Offsets begin anew with the topic, and a capture does not say so. The certain sign is a record that stands where another
one stood before, or below it, and is newer than everything read until then. A record that is only read twice has its
old time again, and a writer whose clock is ahead moves no offset back.

    offset 7   10:00:00 commit-orders        first life
    offset 0   10:20:00 connector-orders     read after 7, and newer: the second life begins
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.records import ConfigChange
from rebalance_monitor.streaming.core.model.records import GroupDeleted, GroupGeneration, Row


def of_topic(rows: Sequence[Row], topic: str | None) -> list[list[Row]]:
    """One group's rows, life by life of its config topic, in the order given. Group records go with the life in whose
    time they were written, and never back; statuses, which refer to no configuration, with the last."""
    starts_ms = _starts_ms(row for row in rows if row.topic == topic and isinstance(row.body, ConfigChange))
    if not starts_ms:
        return [list(rows)]
    last = len(starts_ms)
    phases: list[list[Row]] = [[] for _ in range(last + 1)]
    at = 0
    for row in sorted(rows, key=lambda one: (one.partition, one.offset)):
        if isinstance(row.body, GroupGeneration | GroupDeleted):
            at = max(at, _life(starts_ms, row.timestamp_ms))
            phases[at].append(row)
    for row in rows:
        if row.topic == topic:
            life = _life(starts_ms, row.timestamp_ms)
            phases[life].append(replace(row, topic_id=str(life)))
        elif not isinstance(row.body, GroupGeneration | GroupDeleted):
            phases[last].append(row)
    return phases


def _life(starts_ms: Sequence[int], at_ms: int) -> int:
    return sum(at_ms >= one for one in starts_ms)


def _starts_ms(records: Iterable[Row]) -> list[int]:
    """When the second life and those after it began, by the first record that shows each. A capture that is sorted by
    offset has the records of all lives side by side: there the first offset with several tells."""
    places = [(row.offset, row.timestamp_ms) for row in records]
    if all(one[0] <= two[0] for one, two in pairwise(places)):
        times: dict[int, set[int]] = {}
        for offset, at_ms in places:
            times.setdefault(offset, set()).add(at_ms)
        return next((sorted(one)[1:] for one in times.values() if len(one) > 1), [])
    found: list[int] = []
    next_offset, newest_ms = 0, 0
    for offset, at_ms in places:
        if offset < next_offset and at_ms > newest_ms > 0:
            found.append(at_ms)
            next_offset = 0
        next_offset, newest_ms = max(next_offset, offset + 1), max(newest_ms, at_ms)
    return found
