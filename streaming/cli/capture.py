"""`capture`: what a live cluster's topics hold, as a capture that `replay`, `status` and `explain` read anywhere.

    the coordinator's log    records of groups as they are; offset commits are left out
    topics of lifecycles     what the monitor keeps of each record, in its own form: no configuration, no trace
    cluster.json             what the configuration says of groups, without addresses and credentials
    metadata.jsonl.gz        partitions, ids and racks of topics, as the brokers tell them now

Records of one partition stay in their order; those of several are merged by their times.
"""

import argparse
import gzip
import json
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from rebalance_monitor.streaming.config.clusters import POLL, ClusterSection
from rebalance_monitor.streaming.config.settings import Settings
from rebalance_monitor.streaming.core.fold.topics import TopicKind
from rebalance_monitor.streaming.core.lifecycles import REGISTRY
from rebalance_monitor.streaming.core.model.messages import counted
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.reading.decoding import Glance, glance, wanted_key_prefix
from rebalance_monitor.streaming.core.replay import OFFSETS_TOPIC, RawRecord
from .captures import PLUG_IN, PORTABLE, SETTINGS, line_of
from .exit_codes import CANNOT_TELL, DONE, InputError
from .live_topics import LiveTopics
from .moments import clock_ms, duration_ms
from .opening import need, settings_from
from .output import print_for_programs

PER_RECORD_BYTES = 600
"""What a record takes in memory beside its key and value."""
_UNITS = {"k": 2**10, "m": 2**20, "g": 2**30}
_SIZE = re.compile(r"(\d{1,9})([kmg]?)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureWanted:
    """What is to be captured. `groups`: patterns of group ids, all where there are none; times in ms; `most_bytes`: of
    all records in memory."""

    folder: Path
    groups: tuple[str, ...] = ()
    since_ms: int | None = None
    lasts_ms: int = 0
    most_bytes: int = 256 * 2**20

    def takes(self, group: str) -> bool:
        return not self.groups or group in self.groups or any(fnmatchcase(group, each) for each in self.groups)


@dataclass(slots=True)
class Gathered:
    """Records in hand, each with its place in the capture, their groups with how many each has, and what was left
    out."""

    most_bytes: int
    records: list[tuple[int, int, RawRecord]] = field(default_factory=list)
    groups: Counter[str] = field(default_factory=Counter)
    with_topics: set[str] = field(default_factory=set)
    topics: Counter[str] = field(default_factory=Counter)
    commits: int = 0
    size_bytes: int = 0
    _latest_ms: dict[tuple[str, int], int] = field(default_factory=dict)

    def add(self, record: RawRecord) -> None:
        """InputError where it is one too many."""
        self.size_bytes += PER_RECORD_BYTES + len(record.key or b"") + len(record.value or b"")
        if self.size_bytes > self.most_bytes:
            raise InputError(
                f"more than {self.most_bytes:,} bytes were read; name groups with --group, a shorter --since, "
                "or a larger --max-bytes"
            )
        place = (record.topic, record.partition)
        at_ms = self._latest_ms[place] = max(record.timestamp_ms, self._latest_ms.get(place, 0))
        self.records.append((at_ms, len(self.records), record))
        self.topics[record.topic] += 1

    def in_order(self) -> Iterator[RawRecord]:
        return (record for _, _, record in sorted(self.records, key=lambda one: one[:2]))


def capture(arguments: argparse.Namespace) -> int:
    """CANNOT_TELL where no record of such a group is there. InputError where brokers do not answer, and where there is
    more than `--max-bytes`; then nothing is written."""
    need("capture", "confluent_kafka")
    folder, since = arguments.out, arguments.since
    wanted = CaptureWanted(
        folder=Path(folder),
        groups=tuple(arguments.group),
        since_ms=None if since is None else clock_ms() - duration_ms(since, "--since"),
        lasts_ms=0 if arguments.lasts is None else duration_ms(arguments.lasts, "--for"),
        most_bytes=_size(arguments.max_bytes),
    )
    if not folder:
        raise InputError("--out is empty; name a folder that is not there yet")
    if wanted.folder.exists():
        raise InputError(f"{wanted.folder} is there already; name a folder that is not")
    settings, section = cluster_of(arguments.config, arguments.bootstrap_servers, arguments.cluster)
    with LiveTopics(section.librdkafka()) as topics:
        gathered = gathered_live(topics, settings.source.offsets_topic, section.core(), wanted)
        if not gathered.groups:
            such = f" that match {', '.join(wanted.groups)}" if wanted.groups else ""
            print(f"rebalance-monitor: no record of groups{such} is there, so nothing is written", file=sys.stderr)
            return CANNOT_TELL
        _write(wanted.folder, section, gathered, topics.metadata())
    told = {
        "capture": folder,
        "records": len(gathered.records),
        "size_bytes": gathered.size_bytes,
        "groups": dict(sorted(gathered.groups.items())),
        "topics": dict(sorted(gathered.topics.items())),
        "commits_left_out": gathered.commits,
    }
    if arguments.output != "table":
        print_for_programs(told, arguments.output)
    else:
        print(f"{folder}: {len(gathered.records):,} records; groups: {len(gathered.groups):,}")
        print(f"left out: {counted(gathered.commits, 'offset commit')}, and the configurations in Connect's topics")
        print(f"read it with: rebalance-monitor replay {folder}")
    return DONE


def gathered_live(topics: LiveTopics, log: str, core: ClusterSettings, wanted: CaptureWanted) -> Gathered:
    """The coordinator's log first, as long as it is to be followed; then topics of the groups that are in it."""
    gathered = Gathered(wanted.most_bytes)
    for record in topics.read(log, since_ms=wanted.since_ms, follow_s=wanted.lasts_ms / 1000):
        _of_the_log(gathered, record, wanted)
    found = sorted(gathered.with_topics | {one for one in REGISTRY.configured(core) if wanted.takes(one)})
    kinds: dict[str, TopicKind] = {}
    for group in found:
        kinds.update(REGISTRY.topics(core, group))
    for name, kind in sorted(kinds.items()):
        if topics.exists(name):
            for record in topics.read(name, committed=kind.committed):
                gathered.add(replace(record, value=kind.kept(record.key, record.value)))
    return gathered


def _of_the_log(gathered: Gathered, record: RawRecord, wanted: CaptureWanted) -> None:
    if not wanted_key_prefix(record.key):
        gathered.commits += 1
        return
    seen: Glance | None = glance(record.key, record.value)
    if seen is None or not wanted.takes(seen.group):
        return
    gathered.add(replace(record, topic=OFFSETS_TOPIC))  # whatever the copy of it that is read is called
    gathered.groups[seen.group] += 1
    if seen.protocol_type in REGISTRY.protocol_types:
        gathered.with_topics.add(seen.group)


def cluster_of(config: str | None, servers: str | None, name: str | None) -> tuple[Settings, ClusterSection]:
    """The cluster that is meant, with the settings around it."""
    if servers is not None:
        try:
            return Settings(), ClusterSection(name=name or "own", bootstrap_servers=servers)
        except ValueError:
            raise InputError(f"--bootstrap-servers {servers!r} names no brokers; write host:port,host:port") from None
    settings = settings_from(config)
    named = [one for one in settings.clusters if name in (None, one.name)]
    if len(named) != 1:
        there = ", ".join(one.name for one in settings.clusters)
        if not there:
            raise InputError("no cluster is configured; name one with --config or --bootstrap-servers")
        if name is not None:
            raise InputError(f"no cluster {name!r} is configured; there are {there}")
        raise InputError(f"capture takes one cluster, and there are {there}; name it with --cluster")
    (section,) = named
    if section.source == POLL:
        raise InputError(f"the groups of {section.name} are polled, so there is no log to capture")
    return settings, section


def _size(text: str) -> int:
    found = _SIZE.fullmatch(text)
    if found is None or not int(found[1]):
        raise InputError(f"--max-bytes {text!r} is no size; write 500k, 64m or 2g")
    return int(found[1]) * _UNITS.get(found[2].lower(), 1)


def _write(folder: Path, section: ClusterSection, gathered: Gathered, metadata: Mapping[str, Any]) -> None:
    """All of it, or nothing: a folder that is there is whole."""
    half = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        half.mkdir(parents=True)
        _lines(half / "records.jsonl.gz", map(line_of, gathered.in_order()))
        _lines(half / "metadata.jsonl.gz", [metadata])
        (half / "cluster.json").write_text(json.dumps(described(section), indent=2) + "\n")
        half.rename(folder)
    except OSError as why:
        raise InputError(f"{folder} can't be written ({why.strerror}); name another folder with --out") from why
    finally:
        shutil.rmtree(half, ignore_errors=True)


def described(section: ClusterSection) -> dict[str, object]:
    """The `cluster.json` of a capture."""
    told = section.model_dump(mode="json", include=set(PORTABLE), exclude_defaults=True)
    for application in told.get("streams", {}).values():
        application.pop(PLUG_IN, None)
    return {"capture": section.name, SETTINGS: told}


def _lines(file: Path, objects: Iterable[Mapping[str, Any]]) -> None:
    with gzip.open(file, "wt", encoding="utf-8") as out:
        for one in objects:
            out.write(json.dumps(one, separators=(",", ":")) + "\n")
