"""What a bundle is made of: records of the wanted groups, what the capture says beside them, and no secret.

A record of the coordinator's log that is of no wanted group stays as its place alone, an offset commit without a group:
verdicts rest on which offsets were read, and on the clocks of all records.
"""

import base64
import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from rebalance_monitor.streaming.core.fold.topics import TopicKind
from rebalance_monitor.streaming.core.lifecycles import REGISTRY
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.reading.decoding import glance, wanted_key_prefix
from rebalance_monitor.streaming.core.reading.secrets import masked, masked_values
from rebalance_monitor.streaming.core.replay import OFFSETS_TOPIC, RawRecord
from .captures import (
    ENDS,
    MAX_DELAY,
    METADATA,
    PORTABLE,
    SETTINGS,
    TAGS,
    description_of,
    line_of,
    lines_beside,
    name_of,
    records_of,
    settings_of,
)  # fmt: skip

A_PLACE = b"\x00\x01"
"""How keys of offset commits begin: readers pass over them."""
_OF_A_GROUP = ("group.id", "config.storage.topic", "status.storage.topic", MAX_DELAY, "worker releases")
_OF_AN_APPLICATION = (
    "task.assignor.class", "num.standby.replicas", "max.warmup.replicas", "acceptable.recovery.lag",
    "probing.rebalance.interval.ms", "rack.aware.assignment.strategy", "rack.aware.assignment.traffic_cost",
    "rack.aware.assignment.non_overlap_cost", TAGS,
)  # fmt: skip
Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class BundleContents:
    """Records in the order of their capture, and what stands beside them as JSON. `removed`: a sentence for each kind
    of secret and the place it had."""

    records: tuple[RawRecord, ...]
    groups: tuple[str, ...]
    cluster: Object
    metadata: tuple[Object, ...] = ()
    ends: tuple[Object, ...] = ()
    removed: tuple[str, ...] = ()

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Each file with its name: those of a capture's folder."""
        yield "records.jsonl.gz", _packed(map(line_of, self.records))
        yield "cluster.json", json.dumps(self.cluster, indent=2).encode()
        for name, lines in ((METADATA, self.metadata), (ENDS, self.ends)):
            if lines:
                yield name, _packed(lines)


def of_capture(path: Path, patterns: Sequence[str], until_ms: int | None) -> BundleContents:
    """What a capture has of these groups (names or patterns). Raises InputError."""
    cluster = description_of(path) or {}
    cluster = {**cluster, "capture": cluster.get("capture") or name_of(path)}
    samples = lines_beside(path, METADATA), lines_beside(path, ENDS)
    return of_records(records_of(path), settings_of(path), cluster, samples, patterns, until_ms)


def of_records(
    records: Iterable[RawRecord],
    core: ClusterSettings,
    cluster: Object,
    samples: tuple[Sequence[Object], Sequence[Object]],
    patterns: Sequence[str],
    until_ms: int | None,
) -> BundleContents:
    """What records have of these groups, their cluster described as in `cluster.json`. `samples`: lines of METADATA and
    of ENDS."""
    kept = tuple(one for one in records if until_ms is None or one.timestamp_ms <= until_ms)
    groups = _groups(kept, core, patterns)
    kinds: dict[str, TopicKind] = {}
    for group in groups:
        kinds.update(REGISTRY.topics(core, group))
    own = tuple(one for record in kept if (one := _own(record, set(groups), kinds)) is not None)
    blob = b"\x00".join(part for one in own for part in (one.key, one.value) if part)
    prefixes = tuple(f"{group}-" for group in groups)
    return BundleContents(
        own,
        groups,
        _described(cluster, set(groups)),
        tuple(_of_topics(line, blob, prefixes) for line in samples[0]),
        tuple(line for line in samples[1] if line.get("group") in groups),
    )


def _groups(records: Iterable[RawRecord], core: ClusterSettings, patterns: Sequence[str]) -> tuple[str, ...]:
    """Groups whose records are there, and those whose topics alone are."""
    found = set(REGISTRY.configured(core))
    for one in records:
        if one.topic != OFFSETS_TOPIC:
            found.update(REGISTRY.groups_of_topic(core, one.topic))
        elif wanted_key_prefix(one.key) and (seen := glance(one.key, one.value)) is not None:
            found.add(seen.group)
    return tuple(
        sorted(one for one in found if one in patterns or any(fnmatchcase(one, pattern) for pattern in patterns))
    )


def _own(record: RawRecord, groups: set[str], kinds: Mapping[str, TopicKind]) -> RawRecord | None:
    if record.topic != OFFSETS_TOPIC:
        kind = kinds.get(record.topic)
        return None if kind is None else replace(record, value=kind.kept(record.key, record.value))
    seen = glance(record.key, record.value) if wanted_key_prefix(record.key) else None
    return record if seen is not None and seen.group in groups else replace(record, key=A_PLACE, value=None)


def _described(cluster: Object, groups: set[str]) -> Object:
    """Of `cluster.json` what its readers use, of these groups alone."""
    if SETTINGS in cluster:
        told = {"name": cluster["capture"]} | {k: value for k, value in cluster[SETTINGS].items() if k in PORTABLE}
        for kind in ("connect", "streams"):
            if isinstance(told.get(kind), dict):
                told[kind] = {group: one for group, one in told[kind].items() if group in groups}
        return {"capture": cluster.get("capture"), SETTINGS: told}
    kept: Object = {name: cluster[name] for name in ("capture", "java") if name in cluster}
    match cluster.get("groups"):
        case list() as several:
            kept["groups"] = [_picked(one, _OF_A_GROUP) for one in several if _is_of(one, "group.id", groups)]
            kept["workers"] = [
                {**_picked(one, ("group", "url")), "settings": _picked(one.get("settings"), (MAX_DELAY,))}
                for one in cluster.get("workers") or ()
                if _is_of(one, "group", groups)
            ]
        case dict() as several:
            kept["groups"] = {
                group: {
                    **_picked(one, ("library", "release", "topology")),
                    "config": _picked(one.get("config"), _OF_AN_APPLICATION),
                }
                for group, one in several.items()
                if group in groups and isinstance(one, dict)
            }
        case _:
            pass
    return kept


def _is_of(one: object, field: str, groups: set[str]) -> bool:
    return isinstance(one, dict) and one.get(field) in groups


def _picked(one: object, names: Iterable[str]) -> Object:
    return {name: one[name] for name in names if name in one} if isinstance(one, dict) else {}


def _of_topics(line: Object, blob: bytes, prefixes: tuple[str, ...]) -> Object:
    """Of a line of metadata the topics that a record names, by name or id, and those that begin as a group does."""

    def concerns(name: str, told: object) -> bool:
        topic_id = told.get("id") if isinstance(told, dict) else None
        by_id = isinstance(topic_id, str) and base64.urlsafe_b64decode(f"{topic_id}==") in blob
        return by_id or name.encode() in blob or name.startswith(prefixes)

    topics = line.get("topics")
    return {**line, "topics": {name: one for name, one in topics.items() if concerns(name, one)}} if topics else line


def without_secrets(contents: BundleContents) -> BundleContents:
    """Whatever looks like one is stars."""
    told: dict[str, None] = {}

    def clean(raw: bytes, where: str) -> bytes:
        starred, found = masked(raw)
        told.update(dict.fromkeys(f"{where}: what looks like {what} was replaced by stars" for what in found))
        return starred

    def clean_json(value: Any, where: str) -> Any:
        return masked_values(value, lambda raw: clean(raw, where))

    return replace(
        contents,
        records=tuple(_cleaned(one, clean) for one in contents.records),
        groups=tuple(clean(one.encode(), "the name of a group").decode() for one in contents.groups),
        cluster=clean_json(contents.cluster, "cluster.json"),
        metadata=tuple(clean_json(one, METADATA) for one in contents.metadata),
        ends=tuple(clean_json(one, ENDS) for one in contents.ends),
        removed=tuple(told),
    )


def _cleaned(record: RawRecord, clean: Callable[[bytes, str], bytes]) -> RawRecord:
    where = f"record {record.offset} of partition {record.partition} of {record.topic}"
    key, value = (None if raw is None else clean(raw, where) for raw in (record.key, record.value))
    return record if (key, value) == (record.key, record.value) else replace(record, key=key, value=value)


def _packed(lines: Iterable[Object]) -> bytes:
    """The same lines give the same bytes."""
    text = "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in lines)
    return gzip.compress(text.encode(), mtime=0)
