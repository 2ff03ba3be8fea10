"""Reads a capture: its records, and what it tells of the cluster they were taken from. Every damage is one sentence.

A capture is a file of records, one JSON object a line (`topic`, `partition`, `offset`, `timestamp` in ms, `key` and
`value` in base64 or null), gzip or not; or a folder with such a file, `records.jsonl.gz`, and perhaps `cluster.json`
(the Connect groups' settings), `metadata.jsonl.gz` (which partitions the topics had, and when) and `ends.jsonl.gz`
(where the changelogs of Streams applications ended, and when). What `bundle` writes is such a folder as a zip.
"""

import base64
import binascii
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from rebalance_monitor.streaming.core.cluster import knowledge
from rebalance_monitor.streaming.core.cluster.changelogs import ChangelogEnds
from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.cluster.topics import TopicMetadata
from rebalance_monitor.streaming.core.connect.leader.hypotheses import DEFAULT_MAX_DELAY_MS
from rebalance_monitor.streaming.core.connect.observed import worker_of
from rebalance_monitor.streaming.core.model.settings import (
    HIGH_AVAILABILITY,
    ClusterSettings,
    ConnectSettings,
    StreamsSettings,
)
from rebalance_monitor.streaming.core.replay import RawRecord
from .exit_codes import InputError
from .input_lines import STDIN, InputPlace, lines_of, unreadable

SETTINGS, NOBODY = "settings", "nobody:1"
METADATA, ENDS = "metadata.jsonl.gz", "ends.jsonl.gz"
BUNDLE = "bundle.json"
"""What a bundle says of itself."""
PORTABLE = (
    "name", "connect", "streams", "client_libraries", "own_assignors", "session_timeout_ms", "rebalance_timeout_ms",
)  # fmt: skip
"""What a capture says of its cluster in the configuration's words. Of `streams` no plug-in: it would be code to run."""
PLUG_IN = "plug_in"
TAGS = "rack.aware.assignment.tags"
MAX_DELAY = "scheduled.rebalance.max.delay.ms"
TOPIC_ID_BYTES = 16
CaptureLine = dict[str, Any]
T = TypeVar("T")
_SHAPES: Mapping[type, str] = {str: "a text", int: "a whole number of 64 bits", list: "a list", dict: "an object"}


def opened(path: Path) -> InputPlace:
    """The folder within, where the file is a zip. Raises InputError."""
    try:
        zipped = path.is_file() and zipfile.is_zipfile(path)
        return zipfile.Path(path) if zipped else path
    except (OSError, zipfile.BadZipFile) as why:
        raise unreadable(path, why) from why


def until_of(path: Path) -> int | None:
    """The moment (ms) at which a bundle ends; None for all other captures."""
    told = bundle_of(opened(path))
    at_ms = told.get("at_ms")
    return at_ms if isinstance(at_ms, int) else None


def bundle_of(place: InputPlace) -> CaptureLine:
    """What a bundle says of itself; nothing where the capture is none. Raises InputError."""
    file = place / BUNDLE
    return _parsed(_whole(file), str(file)) if place.is_dir() and file.exists() else {}


def records_of(path: Path) -> Iterator[RawRecord]:
    """The records of a capture, in the file's order. Raises InputError."""
    folder = opened(path)
    files = [folder]
    if folder.is_dir():
        files = [one for one in (folder / "records.jsonl.gz", folder / "records.jsonl") if one.exists()]
        if not files and bundle_of(folder).get("shareable"):
            raise InputError(f"{path}: a shareable bundle holds no records; read its story.html and verdicts.jsonl")
        if not files:
            raise InputError(f"{path}: holds no records.jsonl.gz; name a capture's directory or a file of records")
    for file in files:
        for where, line in _json_lines(file):
            place = f"{where}: not a captured record"
            yield RawRecord(
                topic=_typed(line, "topic", str, place),
                partition=_at_least_0(line, "partition", place, most=2**31 - 1),
                offset=_at_least_0(line, "offset", place),
                timestamp_ms=0 if line.get("timestamp") is None else _typed(line, "timestamp", int, place),
                key=_bytes(line, "key", place),
                value=_bytes(line, "value", place),
                append_time=line.get("timestampType") == 1,
                leader_epoch=None if line.get("leaderEpoch") is None else _typed(line, "leaderEpoch", int, place),
            )


def line_of(record: RawRecord) -> CaptureLine:
    key, value = (None if raw is None else base64.b64encode(raw).decode() for raw in (record.key, record.value))
    line: CaptureLine = {
        "topic": record.topic, "partition": record.partition, "offset": record.offset, "timestamp": record.timestamp_ms,
        "key": key, "value": value,
    }  # fmt: skip
    if record.append_time:
        line["timestampType"] = 1
    if record.leader_epoch is not None:
        line["leaderEpoch"] = record.leader_epoch
    return line


def name_of(path: Path) -> str:
    """What the cluster is called where the capture does not say: as the folder."""
    if str(path) == STDIN:
        return "stdin"
    return path.name if path.is_dir() else path.parent.name or path.stem


def settings_of(path: Path) -> ClusterSettings:
    """What the capture tells of its cluster; nothing but a name if it tells nothing. Raises InputError."""
    cluster = description_of(path)
    if cluster is None:
        return ClusterSettings(name=name_of(path))
    described = str(opened(path) / "cluster.json")
    if SETTINGS in cluster:
        return _configured(cluster, path, described)
    return ClusterSettings(
        name=str(cluster.get("capture") or name_of(path)),
        connect=_connect(cluster, described),
        streams=_streams(cluster),
    )


def description_of(path: Path) -> CaptureLine | None:
    """The capture's `cluster.json` as it is; None where there is none. Raises InputError."""
    place = opened(path)
    file = place / "cluster.json"
    return _parsed(_whole(file), str(file)) if place.is_dir() and file.exists() else None


def _whole(file: InputPlace) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, zipfile.BadZipFile) as why:
        raise unreadable(file, why) from why


def _configured(cluster: CaptureLine, path: Path, where: str) -> ClusterSettings:
    """Settings in the configuration's own words, as the command `capture` writes them."""
    from rebalance_monitor.streaming.config.clusters import ClusterSection
    from rebalance_monitor.streaming.config.loading import checked
    from rebalance_monitor.streaming.config.section import ConfigError

    told = _typed(cluster, SETTINGS, dict, where)
    for name in told:
        if name not in PORTABLE:
            raise InputError(f"{where}: {SETTINGS}.{name} is no part of a capture; remove it")
    streams = told.get("streams")
    if isinstance(streams, dict) and any(isinstance(one, dict) and PLUG_IN in one for one in streams.values()):
        raise InputError(f"{where}: {SETTINGS}.streams names a plug-in, and a capture runs no code; use --config")
    try:
        section = checked(ClusterSection, {"name": name_of(path), **told, "bootstrap_servers": NOBODY}, where)
    except ConfigError as why:
        raise InputError(str(why)) from why
    return section.core()


def knowledge_of(path: Path) -> Knowledge:
    """What the capture tells of its cluster beside the records. Raises InputError."""
    return replace(knowledge.knowledge_of(metadata_of(path)), changelogs=_changelogs(opened(path) / ENDS))


def _changelogs(file: InputPlace) -> dict[str, tuple[ChangelogEnds, ...]]:
    """Where the changelogs of Streams applications ended while the capture was taken, by application."""
    found: dict[str, tuple[ChangelogEnds, ...]] = {}
    for where, line in _json_lines(file) if file.exists() else ():
        group, ends = _typed(line, "group", str, where), _typed(line, "ends", dict, where)
        answer = ChangelogEnds(
            _typed(line, "asked_ms", int, where),
            _typed(line, "answered_ms", int, where),
            {name: _typed(ends, name, int, f"{where}: ends") for name in ends},
        )
        found[group] = (*found.get(group, ()), answer)
    return found


def metadata_of(path: Path) -> tuple[TopicMetadata, ...]:
    """What the cluster said of its topics while the capture was taken, in time order. Raises InputError."""
    file = opened(path) / METADATA
    return tuple(_metadata(file)) if file.exists() else ()


def lines_beside(path: Path, name: str) -> list[CaptureLine]:
    """The lines of a file beside the records as they are, METADATA or ENDS. Raises InputError."""
    file = opened(path) / name
    return [line for _, line in _json_lines(file)] if file.exists() else []


def _metadata(file: InputPlace) -> Iterator[TopicMetadata]:
    for where, line in _json_lines(file):
        topics, ids, ends = {}, {}, {}
        for name, topic in _typed(line, "topics", dict, where).items():
            racks = topic.get("racks") if isinstance(topic, dict) else None
            if not isinstance(racks, list) or not all(isinstance(one, list) for one in racks):
                raise InputError(f"{where}: topics.{name}.racks must be a list of racks for each partition")
            topics[name] = tuple(frozenset(map(str, one)) for one in racks)
            if "id" in topic:
                ids[name] = _topic_id(topic["id"], f"{where}: topics.{name}.id")
            if "end_offsets" in topic:
                ends[name] = _end_offsets(topic["end_offsets"], len(racks), f"{where}: topics.{name}.end_offsets")
        yield TopicMetadata(_typed(line, "at_ms", int, where), topics, ids, ends)


def _end_offsets(told: object, partitions: int, where: str) -> tuple[int, ...]:
    """One for each partition."""
    if not isinstance(told, list) or len(told) != partitions or not all(type(one) is int and one >= 0 for one in told):
        raise InputError(f"{where} must list an end offset for each of the {partitions} partitions")
    return tuple(told)


def _topic_id(text: object, where: str) -> bytes:
    """The bytes of an id as Kafka prints it: 22 letters of URL-safe base64 without padding."""
    try:
        found = base64.urlsafe_b64decode(f"{text}==")
    except ValueError:
        found = b""
    if len(found) != TOPIC_ID_BYTES:
        raise InputError(f"{where} must be a topic id as Kafka prints it, 22 letters; leave it out if it is not known")
    return found


def _connect(cluster: CaptureLine, where: str) -> dict[str, ConnectSettings]:
    groups = cluster.get("groups")
    if not isinstance(groups, list):  # captures of consumers describe their groups in another way
        return {}
    java = _java(str(cluster.get("java", "")))
    found = {}
    for index, group in enumerate(groups):
        place = f"{where}: groups[{index}]"
        if not isinstance(group, dict):
            raise InputError(f"{place} must be an object; correct it, or leave the file out with --no-settings")
        if "config.storage.topic" not in group:
            continue
        releases = _typed(group, "worker releases", list, place) if group.get("worker releases") else []
        # A description lists what was set: what it leaves out is Kafka's default. null: nobody knows.
        common_ms = _delay_ms(group.get(MAX_DELAY, DEFAULT_MAX_DELAY_MS))
        own_ms = _own_delays(cluster, group)
        # An address whose processes differ has no maximum of its own, and others must not be taken for it.
        unsettled = any(len(values) > 1 for values in own_ms.values())
        found[_typed(group, "group.id", str, place)] = ConnectSettings(
            config_topic=_typed(group, "config.storage.topic", str, place),
            status_topic=_typed(group, "status.storage.topic", str, place) if "status.storage.topic" in group else None,
            max_delay_ms=None if unsettled else common_ms,
            max_delay_ms_by_worker={
                worker: min(values)
                for worker, values in own_ms.items()
                if len(values) == 1 and (unsettled or values != {common_ms})
            },
            release=str(releases[0]) if len(releases) == 1 else None,
            java_version=java,
        )
    return found


def _streams(cluster: CaptureLine) -> dict[str, StreamsSettings]:
    """Applications of captures of groups: what their description leaves out is Kafka's default."""
    groups = cluster.get("groups")
    found = {}
    for group, told in groups.items() if isinstance(groups, dict) else ():
        if not isinstance(told, dict) or not str(told.get("library")).startswith("kafka-streams"):
            continue
        config = told.get("config")
        config = config if isinstance(config, dict) else {}

        def number(name: str, default: int, config: CaptureLine = config) -> int:
            value = config.get(name, default)
            return value if isinstance(value, int) else default

        topology = told.get("topology")
        found[str(group)] = StreamsSettings(
            release=str(told["release"]) if "release" in told else None,
            assignor=str(config.get("task.assignor.class", HIGH_AVAILABILITY)),
            standbys=number("num.standby.replicas", 0),
            warm_ups=number("max.warmup.replicas", 2),
            acceptable_lag=number("acceptable.recovery.lag", 10_000),
            probing_interval_ms=number("probing.rebalance.interval.ms", 600_000),
            rack_strategy=str(config.get("rack.aware.assignment.strategy", "none")),
            rack_traffic_cost=_number(config.get("rack.aware.assignment.traffic_cost")),
            rack_non_overlap_cost=_number(config.get("rack.aware.assignment.non_overlap_cost")),
            rack_tags=_listed(config.get(TAGS, "")),
            topology=topology if isinstance(topology, str) else None,
        )
    return found


def _listed(value: object) -> tuple[str, ...] | None:
    """A list as Kafka's configuration writes it."""
    return tuple(one.strip() for one in value.split(",") if one.strip()) if isinstance(value, str) else None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _delay_ms(value: object) -> int | None:
    text = str(value)
    return int(text) if text.isdecimal() else None


def _own_delays(cluster: CaptureLine, group: CaptureLine) -> dict[str, set[int]]:
    """Maximum delays of the group's processes by address, as far as the description lists processes."""
    found: dict[str, set[int]] = {}
    workers = cluster.get("workers")
    for worker in workers if isinstance(workers, list) else ():
        if not isinstance(worker, dict) or worker.get("group") != group.get("group.id"):
            continue
        settings, url = worker.get("settings"), worker.get("url")
        delay_ms = _delay_ms(settings.get(MAX_DELAY)) if isinstance(settings, dict) else None
        if isinstance(url, str) and delay_ms is not None:
            found.setdefault(worker_of(url), set()).add(delay_ms)
    return found


def _java(text: str) -> int | None:
    """The feature release in `openjdk version "17.0.15" …`."""
    quoted = text.split('"')
    digits = quoted[1].split(".")[0] if len(quoted) > 1 else ""
    return int(digits) if digits.isdecimal() else None


def _at_least_0(line: CaptureLine, name: str, where: str, most: int = 2**63 - 1) -> int:
    value = _typed(line, name, int, where)
    if not 0 <= value <= most:
        raise InputError(f"{where}: {name} must be 0 or more" + (f", and {most} at most" if value > most else ""))
    return value


def _typed(line: CaptureLine, name: str, kind: type[T], where: str) -> T:
    value = line.get(name)
    if not isinstance(value, kind) or isinstance(value, bool) or (isinstance(value, int) and value.bit_length() > 63):
        raise InputError(f"{where}: {name} must be {_SHAPES[kind]}")
    return value


def _bytes(line: CaptureLine, name: str, where: str) -> bytes | None:
    text = line.get(name)
    if text is None:
        return None
    try:
        return base64.b64decode(text, validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise InputError(f"{where}: {name} must be base64 or null") from None


def _json_lines(path: InputPlace) -> Iterator[tuple[str, CaptureLine]]:
    """Every line's place, for messages, and its object."""
    for number, line in enumerate(lines_of(path), start=1):
        if line.strip():
            where = f"{path}:{number}"
            yield where, _parsed(_text(line, where, first=number == 1), where)


def _text(line: bytes, where: str, *, first: bool) -> str:
    """The line as text; some editors begin a file with a mark of its encoding."""
    try:
        return line.decode("utf-8-sig" if first else "utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{where}: not UTF-8 text; is it a file of captured records?") from None


def _parsed(text: str, where: str) -> CaptureLine:
    try:
        parsed = json.loads(text)
    except RecursionError:
        raise InputError(f"{where}: too many brackets within each other") from None
    except ValueError as why:
        raise InputError(
            f"{where}: not JSON: {why}; name a capture's folder, or a file with one captured record a line"
        ) from why
    if not isinstance(parsed, dict):
        raise InputError(f"{where}: not a JSON object")
    return parsed
