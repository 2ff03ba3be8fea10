"""The history of topics as rows of text: one for each topic, and one for the racks and the time of the last sample.

A row is written when its content changes, so a sample that shows nothing new writes one row, however many topics there
are. JSON: a topic's row is an object of two lists of changes: `held` of [after_ms, at_ms, replicas by partition, or
null], `ids` of [after_ms, at_ms, the id in hexadecimal]; `ends`, where its end offsets are asked for, lists the samples
as [asked_ms, answered_ms, the id in hexadecimal, end offsets by partition]. The row without a topic's name is an
object, too.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .end_offsets import EndSample
from .topics import ContentChange, Replicas, TopicHistory

CLUSTER = ""
"""The name of the row of the racks and of the last sample; no topic is called so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTopics:
    """Rows of one cluster (its id) that are to be written, by topic, and topics whose rows are to be deleted."""

    cluster_id: str
    rows: Mapping[str, str] = field(default_factory=dict)
    gone: tuple[str, ...] = ()


class UnreadableTopics(Exception):
    """The rows are not what a release wrote that this one knows."""


def changed(cluster_id: str, before: TopicHistory, after: TopicHistory) -> StoredTopics | None:
    """What is to be stored after `before` was; None if nothing."""
    if after is before:
        return None
    rows = {CLUSTER: _cluster_text(after)}
    if after.topics is before.topics and after.ids is before.ids and after.ends is before.ends:
        return StoredTopics(cluster_id=cluster_id, rows=rows)
    for name, changes in after.topics.items():
        ids, ends = after.ids.get(name, ()), after.ends_of(name)
        same = before.topics.get(name) is changes and before.ids.get(name, ()) is ids
        if not same or before.ends_of(name) is not ends:
            rows[name] = _topic_text(changes, ids, ends)
    gone = tuple(name for name in before.topics if name not in after.topics)
    return StoredTopics(cluster_id=cluster_id, rows=rows, gone=gone)


def history_from(rows: Mapping[str, str]) -> TopicHistory:
    """What these rows hold; raises UnreadableTopics."""
    if CLUSTER not in rows:
        return TopicHistory()
    try:
        known = json.loads(rows[CLUSTER])
        racks = tuple(map(_racks, known["racks"]))
        told = {name: json.loads(text) for name, text in rows.items() if name != CLUSTER}
        topics = {name: tuple(map(_change, one["held"])) for name, one in told.items()}
        ids = {name: tuple(map(_id, one["ids"])) for name, one in told.items() if one["ids"]}
        ends = {name: tuple(map(_end_sample, one["ends"])) for name, one in told.items() if "ends" in one}
        return TopicHistory(topics, racks, int(known["asked_ms"]), int(known["answered_ms"]), ids, ends)
    except (ValueError, KeyError, TypeError, AttributeError) as why:
        raise UnreadableTopics from why


def _cluster_text(history: TopicHistory) -> str:
    racks = [[one.after_ms, one.at_ms, one.content] for one in history.racks]
    return _text({"asked_ms": history.asked_ms, "answered_ms": history.answered_ms, "racks": racks})


def _topic_text(
    held: Sequence[ContentChange[Replicas | None]], ids: Sequence[ContentChange[bytes]], ends: Sequence[EndSample]
) -> str:
    content: dict[str, object] = {
        "held": [[one.after_ms, one.at_ms, one.content] for one in held],
        "ids": [[one.after_ms, one.at_ms, one.content.hex()] for one in ids],
    }
    if ends:
        content["ends"] = [[one.asked_ms, one.answered_ms, one.topic_id.hex(), one.ends] for one in ends]
    return _text(content)


def _end_sample(given: Any) -> EndSample:
    asked_ms, answered_ms, topic_id, ends = given
    return EndSample(int(asked_ms), int(answered_ms), bytes.fromhex(topic_id), tuple(map(int, ends)))


def _id(given: Any) -> ContentChange[bytes]:
    after_ms, at_ms, content = given
    return ContentChange(int(after_ms), int(at_ms), bytes.fromhex(content))


def _change(given: Any) -> ContentChange[Replicas | None]:
    after_ms, at_ms, content = given
    replicas = None if content is None else tuple(tuple(map(int, brokers)) for brokers in content)
    return ContentChange(int(after_ms), int(at_ms), replicas)


def _racks(given: Any) -> ContentChange[Mapping[int, str]]:
    after_ms, at_ms, content = given
    return ContentChange(int(after_ms), int(at_ms), {int(broker): str(rack) for broker, rack in content.items()})


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
