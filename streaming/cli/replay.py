"""`replay`: captured records through the fold, printed for people or programs."""

import base64
import binascii
import gzip
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from streaming.cli.errors import InputError
from streaming.cli.tables import print_generations
from streaming.config import ConfigError, load
from streaming.core.replay import RawRecord
from streaming.core.replay import replay as replay_records
from streaming.core.settings import ClusterSettings, ConnectSettings, TopicMetadata

Line = dict[str, Any]


def replay(paths: list[str], config: str | None, *, use_settings: bool, with_commits: bool, output: str) -> int:
    """Judge every capture named; exit code 1 if any holds a harmful violation or an unexplained verdict."""
    found = False
    for path in map(Path, paths):
        settings = _settings(path, config, use_settings=use_settings)
        told = replay_records(records_of(path), settings, with_commits=with_commits)
        found = found or told.found
        if output == "json":
            for one in told.objects:
                sys.stdout.write(json.dumps(one, ensure_ascii=False, separators=(",", ":")) + "\n")
            sys.stdout.flush()
        else:
            print_generations(told.objects)
    return 1 if found else 0


def _settings(path: Path, config: str | None, *, use_settings: bool) -> ClusterSettings:
    name = path.name if path.is_dir() else path.parent.name or path.stem
    if config is not None:
        try:
            clusters = load(Path(config), {}).clusters
        except ConfigError as why:
            raise InputError(str(why)) from why
        if not clusters:
            raise InputError(f"{config}: clusters is empty; replay needs the settings of one cluster")
        return clusters[0].core()
    if not use_settings or not path.is_dir():
        return ClusterSettings(name=name)
    described = path / "cluster.json"
    if not described.exists():
        return ClusterSettings(name=name)
    with described.open(encoding="utf-8") as text:
        cluster = _parsed(text.read(), described, 1)
    return ClusterSettings(
        name=cluster.get("capture") or name,
        connect=_connect(cluster),
        metadata=tuple(_metadata(path / "metadata.jsonl.gz")),
    )


def _connect(cluster: Line) -> dict[str, ConnectSettings]:
    groups = cluster.get("groups")
    if not isinstance(groups, list):
        return {}
    java = _java(str(cluster.get("java", "")))
    found = {}
    for group in groups:
        if "config.storage.topic" not in group:
            continue
        releases = group.get("worker releases") or []
        delay = group.get("scheduled.rebalance.max.delay.ms")
        found[group["group.id"]] = ConnectSettings(
            config_topic=group["config.storage.topic"],
            status_topic=group.get("status.storage.topic"),
            max_delay_ms=int(delay) if isinstance(delay, int | str) and str(delay).isdigit() else None,
            release=releases[0] if len(releases) == 1 else None,
            java_version=java,
        )
    return found


def _java(text: str) -> int | None:
    """The feature release in `openjdk version "17.0.15" …`."""
    quoted = text.split('"')
    digits = quoted[1].split(".")[0] if len(quoted) > 1 else ""
    return int(digits) if digits.isdigit() else None


def _metadata(path: Path) -> Iterator[TopicMetadata]:
    if not path.exists():
        return
    for line in _json_lines(path):
        topics = {
            name: tuple(frozenset(racks) for racks in one["racks"]) for name, one in line.get("topics", {}).items()
        }
        yield TopicMetadata(line["at_ms"], topics)


def records_of(path: Path) -> Iterator[RawRecord]:
    """The records of a capture, in the file's order. Raises InputError."""
    files = [path]
    if path.is_dir():
        files = [one for one in (path / "records.jsonl.gz", path / "records.jsonl") if one.exists()]
        if not files:
            raise InputError(f"{path}: holds no records.jsonl.gz; name a capture's directory or a file of records")
    for file in files:
        for line in _json_lines(file):
            try:
                yield RawRecord(
                    topic=line["topic"],
                    partition=line["partition"],
                    offset=line["offset"],
                    timestamp_ms=line.get("timestamp") or 0,
                    key=_bytes(line.get("key")),
                    value=_bytes(line.get("value")),
                )
            except (KeyError, binascii.Error, ValueError) as why:
                raise InputError(f"{file}: not a captured record: {type(why).__name__} {why}") from why


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text, validate=True)


def _json_lines(path: Path) -> Iterator[Line]:
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8") as text:
            for number, line in enumerate(text, start=1):
                if line.strip():
                    yield _parsed(line, path, number)
    except (OSError, EOFError, UnicodeDecodeError) as why:
        raise InputError(f"cannot read {path}: {why}") from why


def _parsed(text: str, path: Path, number: int) -> Line:
    try:
        parsed = json.loads(text)
    except ValueError as why:
        raise InputError(f"{path}:{number}: not JSON: {why}") from why
    if not isinstance(parsed, Mapping):
        raise InputError(f"{path}:{number}: not a JSON object")
    return dict(parsed)
