"""`bundle`: one file about a group for whoever helps: records, settings, samples, verdicts and the story, no secrets.

    records.jsonl.gz, cluster.json, …    a capture of the group; `replay` opens the file as it is
    bundle.json                          what it is about, and what was removed
    verdicts.jsonl                       what `replay -o json` printed when it was written
    story.html                           the same for people, without a network

A shareable one has the last three alone, with keyed digests in place of names.
"""

import argparse
import json
import os
import re
import secrets as random_source
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape, unescape
from pathlib import Path
from typing import Any

from rebalance_monitor.streaming.core.reading.pseudonyms import (
    format_words,
    names_in,
    numbered_in,
    renamed,
    renaming,
    words_in,
)
from rebalance_monitor.streaming.core.reading.secrets import masked, masked_values, secrets_in
from rebalance_monitor.streaming.core.replay import OFFSETS_TOPIC, Replayed
from rebalance_monitor.streaming.core.shown import show_record
from rebalance_monitor.streaming.stories.offline import offline_page
from .bundle_contents import BundleContents, of_capture, of_records, without_secrets
from .captures import BUNDLE
from .exit_codes import DONE, InputError
from .group_sources import MOST_GENERATIONS, CapturedGroups, judged
from .moments import clock_ms, duration_ms, moment_ms
from .output import print_for_programs
from .version import package_version

FORMAT = 1
_TEXTS = re.compile(r"(?<=>)[^<]+")
_OF_CONNECT = ("name", "connector", "worker_id")
_SETTING = re.compile(r"[a-z]+(?:[._ ][a-z]+)+|[a-z]+")
_NO_NAMES = frozenset(
    {"java", "library", "release", "worker releases", "topology", "rack_strategy", "rack.aware.assignment.strategy"}
)
VERDICTS, STORY = "verdicts.jsonl", "story.html"
_ALWAYS_THE_SAME = (1980, 1, 1, 0, 0, 0)
"""The time of a file within a zip: the same input gives the same bytes."""
Object = dict[str, Any]


def bundle(arguments: argparse.Namespace) -> int:
    """InputError where no record of such a group is there, where brokers do not answer, and where the records without
    what looks like a secret are judged otherwise."""
    out = Path(arguments.out)
    if not arguments.out or out.exists():
        why = f"{out} is there already" if arguments.out else "--out is empty"
        raise InputError(f"{why}; name a file that is not there yet")
    at_ms = None if arguments.at is None else moment_ms(arguments.at, "--at")
    half = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        contents = _contents(arguments, half, at_ms)
        written = _shareable(half, contents, at_ms) if arguments.shareable else _whole(half, contents, at_ms)
        half.rename(out)
    except OSError as why:
        raise InputError(f"{out} can't be written ({why.strerror}); name another file with --out") from why
    finally:
        half.unlink(missing_ok=True)
    if arguments.output == "json":
        print_for_programs({**written, "file": str(out)}, arguments.output)
        return DONE
    print(f"{out}: {', '.join(written['groups'])}")
    for sentence in written["removed"]:
        print(sentence)
    if arguments.shareable:
        print("names, hosts and client ids are digests, and there are no records; unzip it and open story.html")
    else:
        print(f"names, hosts and client ids are in it; read it with: rebalance-monitor replay {out}")
    return DONE


def _contents(arguments: argparse.Namespace, half: Path, at_ms: int | None) -> BundleContents:
    """Of the capture, or of the cluster as it is now."""
    wanted = tuple(arguments.group)
    if arguments.capture is not None and (arguments.since is not None or arguments.cluster is not None):
        raise InputError("--since and --cluster are of a live cluster; leave them out with --capture")
    if arguments.capture is not None:
        contents = of_capture(Path(arguments.capture), wanted, at_ms)
    else:
        contents = _live(arguments, half.parent, wanted, at_ms)
    if not contents.groups:
        raise InputError(
            f"no record of a group that matches {', '.join(wanted)} is there, so nothing is written; see with"
            " `rebalance-monitor status` which groups there are"
        )
    return contents


def _live(arguments: argparse.Namespace, folder: Path, wanted: tuple[str, ...], at_ms: int | None) -> BundleContents:
    from .capture import CaptureWanted, cluster_of, described, gathered_live
    from .live_topics import LiveTopics
    from .opening import need

    need("capture", "confluent_kafka")
    settings, section = cluster_of(arguments.config, arguments.bootstrap_servers, arguments.cluster)
    since_ms = clock_ms() - duration_ms(arguments.since, "--since") if arguments.since else None
    asked = CaptureWanted(folder=folder, groups=wanted, since_ms=since_ms)
    with LiveTopics(section.librdkafka()) as topics:
        gathered = gathered_live(topics, settings.source.offsets_topic, section.core(), asked)
        metadata = topics.metadata()
    return of_records(gathered.in_order(), section.core(), described(section), ([metadata], ()), wanted, at_ms)


def _whole(half: Path, contents: BundleContents, at_ms: int | None) -> Object:
    """Judged from the file that is sent, so that `replay` answers alike."""
    clean = without_secrets(contents)
    about = _about(clean, at_ms, shareable=False)
    _write(half, {**dict(clean.files()), BUNDLE: _json(about)})
    told = judged(half)
    if clean.removed:
        _write(half, {**dict(contents.files()), BUNDLE: _json(about)})
        before = judged(half)
        _write(half, {**dict(clean.files()), BUNDLE: _json(about)})
        if _grades(before) != _grades(told):
            raise InputError(
                f"{clean.removed[0]}, but then the records are judged otherwise, since names decide how assignors work;"
                " nothing is written: write it with --shareable, which has verdicts and no records"
            )
    _add(half, _verdicts_and_story(told, _title(about), clean.removed))
    return about


def _shareable(half: Path, contents: BundleContents, at_ms: int | None) -> Object:
    """Verdicts and story with digests for names. The key is forgotten when this returns."""
    about = _about(contents, at_ms, shareable=True)
    _write(half, {**dict(contents.files()), BUNDLE: _json(about)})
    told = judged(half)
    words = format_words() | frozenset(words_in(told.objects))
    names = {name for one in told.objects for name in names_in(one, words)}
    names.update(name for one in _stated(contents) for name in names_in(one, words, fields=True))
    rename = renaming(names, random_source.token_bytes(32), numbered_in(told.objects))
    objects = [masked_values(renamed(one, words, rename), lambda raw: masked(raw)[0]) for one in told.objects]
    about = {**about, "groups": [rename(group) for group in contents.groups]}
    removed = ("Names, hosts and client ids are digests: equal names are equal digests. There are no records.",)
    files = _verdicts_and_story(Replayed(objects=objects, end_ms=told.end_ms), _title(about), removed)
    files[STORY] = _renamed_page(files[STORY], rename)
    _write(half, {BUNDLE: _json(about), **files})
    return about


def _stated(contents: BundleContents) -> Iterable[object]:
    """What records say, decoded, and names beside them: a text may have a name that no field of a verdict has."""
    for one in contents.records:
        yield {"topic": one.topic}
        if one.topic != OFFSETS_TOPIC:
            for kind in ("connect-config", "connect-status"):
                shown = show_record(kind, one.key, one.value)
                yield {name: shown[name] for name in _OF_CONNECT if name in shown}
        elif one.value is not None:
            shown = show_record("offsets", one.key, one.value)
            yield {name: shown[name] for name in ("key", "value") if name in shown}
    yield {"group": list(contents.groups)}
    yield list(_strings(contents.cluster))
    for line in contents.metadata:
        topics = line.get("topics", {})
        yield {"topic": list(topics), "racks": [one.get("racks") for one in topics.values()]}
    yield from (list(line.get("ends", ())) for line in contents.ends)


def _strings(value: object, field: str = "") -> Iterator[str]:
    """Values in a cluster's description, and keys that are no settings; without what Kafka has words for."""
    match value:
        case Mapping():
            for key, held in value.items():
                if not _SETTING.fullmatch(str(key)):
                    yield str(key)
                yield from _strings(held, str(key))
        case list() | tuple():
            for one in value:
                yield from _strings(one, field)
        case str() if field not in _NO_NAMES and not value.isdigit():
            yield from value.split(",")


def _verdicts_and_story(told: Replayed, title: str, notes: Sequence[str]) -> dict[str, bytes]:
    source = CapturedGroups(told, told.end_ms)
    groups = [
        (source.known(key, MOST_GENERATIONS), list(reversed(source.incidents(key, None)))) for key in source.names()
    ]
    verdicts = "".join(json.dumps(one, separators=(",", ":"), ensure_ascii=False) + "\n" for one in told.objects)
    return {VERDICTS: verdicts.encode(), STORY: offline_page(title, notes, groups).encode()}


def _about(contents: BundleContents, at_ms: int | None, *, shareable: bool) -> Object:
    return {
        "kind": "bundle", "format": FORMAT, "version": package_version() or "", "groups": list(contents.groups),
        "at_ms": at_ms, "shareable": shareable, "removed": list(contents.removed),
    }  # fmt: skip


def _title(about: Object) -> str:
    return f"Rebalances of {', '.join(about['groups'])}"


def _grades(told: Replayed) -> list[tuple[object, ...]]:
    """What must not change: the verdict on each record, and how many incidents of each rule there are."""
    return [
        (one["source"], one["verdict"]["grade"], one["verdict"]["reason_kind"])
        if one["kind"] == "generation"
        else (one.get("violations"),)
        for one in told.objects
        if one["kind"] in ("generation", "summary")
    ]


def _write(half: Path, files: Mapping[str, bytes]) -> None:
    half.unlink(missing_ok=True)
    _add(half, files)


def _add(half: Path, files: Mapping[str, bytes]) -> None:
    """InputError where one that people read holds what looks like a secret."""
    with zipfile.ZipFile(half, "a") as file:
        for name, raw in files.items():
            if name in (VERDICTS, STORY) and (found := next(secrets_in(raw), None)) is not None:
                raise InputError(f"{name} would hold what looks like {found.what}, so nothing is written")
            entry = zipfile.ZipInfo(name, _ALWAYS_THE_SAME)
            entry.compress_type = zipfile.ZIP_STORED if name.endswith(".gz") else zipfile.ZIP_DEFLATED
            file.writestr(entry, raw)


def _renamed_page(page: bytes, rename: Callable[[str], str]) -> bytes:
    """The page's own words that a name is called alike are replaced, too."""
    head, body = page.decode().split("<body>")
    return f"{head}<body>{_TEXTS.sub(lambda text: escape(rename(unescape(text[0]))), body)}".encode()


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
