"""A bundle is judged as its capture is, holds no secret, and in its shareable form no name."""

import base64
import gzip
import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from rebalance_monitor.schemas.group_metadata import GroupMember, GroupMetadata
from rebalance_monitor.schemas.offsets_topic import encode_group_metadata
from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.bundle import _renamed_page
from rebalance_monitor.streaming.cli.captures import records_of
from rebalance_monitor.streaming.core.reading.pseudonyms import format_words, renaming
from tests.vector_files import VECTORS

CAPTURES = sorted(path.parent for path in VECTORS.rglob("records.jsonl.gz"))
SMALL = [path for path in CAPTURES if (path / "records.jsonl.gz").stat().st_size < 12_000]
ZOMBIE = VECTORS / "captures" / "zombie"
Object = dict[str, Any]


def replayed(capsys: pytest.CaptureFixture[str], path: Path) -> list[Object]:
    assert main(["replay", "-o", "json", str(path)]) in (0, 1)
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


_OF_CAPTURES: dict[Path, list[Object]] = {}
"""What `replay` says of golden captures, which stay as they are: several tests compare with it."""


def of_capture(capsys: pytest.CaptureFixture[str], capture: Path) -> list[Object]:
    capsys.readouterr()
    if capture not in _OF_CAPTURES:
        _OF_CAPTURES[capture] = replayed(capsys, capture)
    return _OF_CAPTURES[capture]


def bundled(out: Path, *words: str) -> zipfile.ZipFile:
    assert main(["bundle", "--out", str(out), *words]) == 0
    return zipfile.ZipFile(out)


def judged_alike(objects: list[Object]) -> list[Object]:
    """All but how many records of other groups were passed over."""
    return [
        {name: value for name, value in one.items() if (one["kind"], name) != ("summary", "records")} for one in objects
    ]


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.name)
def test_a_bundle_of_each_capture_is_judged_as_the_capture(
    capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "bundle.zip"
    with bundled(out, "--group", "*", "--capture", str(capture)) as file:
        assert file.testzip() is None
        stored = [json.loads(line) for line in file.read("verdicts.jsonl").decode().splitlines()]
        story = file.read("story.html").decode()
    capsys.readouterr()
    told = replayed(capsys, out)
    assert told == stored
    assert judged_alike(told) == judged_alike(of_capture(capsys, capture))
    assert not re.search(r"""(?:src|href)=|url\(|@import|<script""", story)


@pytest.mark.parametrize("capture", SMALL, ids=lambda path: path.name)
def test_a_shareable_bundle_names_nobody(capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = set(_names(of_capture(capsys, capture)))
    assert names
    with bundled(tmp_path / "bundle.zip", "--group", "*", "--shareable", "--capture", str(capture)) as file:
        assert set(file.namelist()) == {"bundle.json", "verdicts.jsonl", "story.html"}
        text = "\n".join(file.read(name).decode() for name in file.namelist())
        grades = [json.loads(line).get("verdict", {}).get("grade") for line in file.read("verdicts.jsonl").splitlines()]
    assert {name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)} == set()
    assert grades == [one.get("verdict", {}).get("grade") for one in of_capture(capsys, capture)]


@pytest.mark.parametrize("capture", ["captures/zombie", "captures-groups/python-clients"])
def test_gains_in_a_shareable_bundle_are_those_of_its_assignments(capture: str, tmp_path: Path) -> None:
    """Of consumers and of Connect: a partition or task has one digest wherever it stands."""
    words = ("--group", "*", "--shareable", "--capture", str(VECTORS / capture))
    with bundled(tmp_path / "bundle.zip", *words) as file:
        told = [json.loads(line) for line in file.read("verdicts.jsonl").splitlines()]
    compared = 0
    for one in (one for one in told if one["kind"] == "generation" and one["diff"]):
        held = {
            f"{name}-{number}"
            for member in one["members"]
            for share in (member["assigned"], member["owned"])
            for some in (share or {}).values()
            for name, number in (each for each in some if isinstance(each, list))
        }
        numbered = {gain for diff in one["diff"].values() for gain in diff["gained"] if re.search(r"-\d+$", gain)}
        assert numbered <= held
        compared += len(numbered)
    assert compared


def _names(objects: list[Object]) -> Iterator[str]:
    """Groups, members, clients, hosts, workers and instance ids, by the fields that state them."""
    for one in objects:
        told = [one.get("group"), *one.get("diff", {})]
        for member in one.get("members", ()):
            told += [member["member_id"], member["client_id"], member["client_host"].lstrip("/"), member["worker"]]
            told += [member["instance_id"]]
        # A group's name may be a word of the format, or of Kafka: then it is no name to look for.
        yield from (name for name in told if name and name not in format_words() and name != one.get("protocol"))


def test_two_shareable_bundles_have_other_digests(tmp_path: Path) -> None:
    told = []
    for number in range(2):
        words = ("--group", "zombies", "--shareable", "--capture", str(ZOMBIE))
        with bundled(tmp_path / f"{number}.zip", *words) as file:
            told.append(json.loads(file.read("bundle.json"))["groups"])
    assert told[0] != told[1]


def test_it_ends_at_its_moment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, at = tmp_path / "bundle.zip", "2026-11-20T12:28:55Z"
    bundled(out, "--group", "zombies", "--at", at, "--capture", str(ZOMBIE)).close()
    capsys.readouterr()
    assert max(one["generation"] for one in replayed(capsys, out) if one["kind"] == "generation") == 9
    assert main(["status", "--group", "zombies", "--capture", str(out)]) in (0, 1)
    bundle_told = capsys.readouterr().out
    assert main(["status", "--group", "zombies", "--capture", str(ZOMBIE), "--at", at]) in (0, 1)
    assert capsys.readouterr().out == bundle_told


def test_other_groups_are_not_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Their records are places without a name; the group is judged as among them."""
    capture = VECTORS / "captures-groups" / "java-classic"
    whole = [one for one in replayed(capsys, capture) if one["kind"] in ("generation", "violation")]
    groups = sorted({one["group"] for one in whole})
    chosen, other = groups[0], groups[-1]
    out = tmp_path / "bundle.zip"
    with bundled(out, "--group", chosen, "--capture", str(capture)) as file:
        assert other.encode() not in b"".join(
            gzip.decompress(file.read(name)) if name.endswith(".gz") else file.read(name) for name in file.namelist()
        )
    capsys.readouterr()
    told = [one for one in replayed(capsys, out) if one["kind"] in ("generation", "violation")]
    assert told == [one for one in whole if one["group"] == chosen]
    assert not any(other.encode() in (one.key or b"") + (one.value or b"") for one in records_of(out))


PLANTED = [f"hunter2Planted{number:02}" for number in range(12)]


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A capture with twelve secrets where people have them."""
    secret = iter(PLANTED)
    folder = Path(shutil.copytree(ZOMBIE, tmp_path / "planted"))
    records = [json.loads(line) for line in gzip.decompress((folder / "records.jsonl.gz").read_bytes()).splitlines()]

    def add(topic: str, key: bytes, value: bytes) -> None:
        offset = 1 + max((one["offset"] for one in records if one["topic"] == topic), default=-1)
        partition = next((one["partition"] for one in records if one["topic"] == topic), 0)
        at_ms = max(one["timestamp"] for one in records)
        coded = {"key": base64.b64encode(key).decode(), "value": base64.b64encode(value).decode()}
        records.append({"topic": topic, "partition": partition, "offset": offset, "timestamp": at_ms, **coded})

    config = next(one["topic"] for one in records if one["topic"].endswith("-configs"))
    status = config.removesuffix("-configs") + "-status"
    jaas = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="{next(secret)}";'
    properties = {"connector.class": "x", "database.password": next(secret), "sasl.jaas.config": jaas}
    add(config, b"connector-idle-z", json.dumps({"properties": properties}).encode())
    add(config, b"task-idle-z-0", json.dumps({"properties": {"odd.name": next(secret)}}).encode())
    add(config, b"session-key", json.dumps({"key": next(secret), "algorithm": "HmacSHA256"}).encode())
    trace = {"state": "FAILED", "trace": f"at jdbc:x://u:{next(secret)}@h", "worker_id": "h:1", "generation": 1}
    add(status, b"status-task-idle-z-0", json.dumps(trace).encode())
    client_id = f"svc password={next(secret)}"
    user_data = f"Bearer {next(secret)} token:'{next(secret)}'".encode()
    member = GroupMember(
        member_id=f"{client_id}-1", instance_id=f"https://me:{next(secret)}@host/x", client_id=client_id,
        client_host="/10.0.0.1", rebalance_timeout_ms=1000, session_timeout_ms=1000, subscription=user_data,
        assignment=f"-----BEGIN RSA PRIVATE KEY-----\n{next(secret)}\n-----END RSA PRIVATE KEY-----".encode(),
    )  # fmt: skip
    group = GroupMetadata(
        protocol_type="own", generation=1, protocol="p", leader=member.member_id, version=3,
        members=(member,),
    )  # fmt: skip
    add("__consumer_offsets", b"\x00\x02\x00\x0bzombies-too", encode_group_metadata(group))
    cluster = json.loads((folder / "cluster.json").read_text())
    cluster["workers"][0]["settings"]["sasl.password"] = next(secret)
    cluster["java"] = f"17 -Djavax.net.ssl.keyStorePassword={next(secret)}"
    (folder / "cluster.json").write_text(json.dumps(cluster))
    with gzip.open(folder / "records.jsonl.gz", "wt") as out:
        out.writelines(json.dumps(one) + "\n" for one in records)
    assert next(secret, None) is None
    return folder


@pytest.mark.parametrize("form", [(), ("--shareable",)], ids=["whole", "shareable"])
def test_no_planted_secret_is_in_it(
    planted: Path, form: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with bundled(tmp_path / "bundle.zip", "--group", "zombies*", *form, "--capture", str(planted)) as file:
        text = b"".join(
            gzip.decompress(file.read(name)) if name.endswith(".gz") else file.read(name) for name in file.namelist()
        )
    if not form:
        held = list(records_of(tmp_path / "bundle.zip"))
        text += b"".join((one.key or b"") + (one.value or b"") for one in held)
        assert "what looks like the value of a password was replaced by stars" in capsys.readouterr().out
    assert [one for one in PLANTED if one.encode() in text] == []
    assert b"Planted" not in text


def test_a_mistake_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "bundle.zip"
    words = ["bundle", "--out", str(out), "--capture", str(ZOMBIE), "--group"]
    assert main([*words, "nobody"]) == 2
    assert "no record of a group that matches nobody is there, so nothing is written" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    assert main([*words, "zombies", "--shareable"]) == 0
    assert main([*words, "zombies"]) == 2
    assert "is there already" in capsys.readouterr().err
    assert main(["replay", str(out)]) == 2
    assert "a shareable bundle holds no records; read its story.html" in capsys.readouterr().err


def test_programs_are_told_what_was_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "bundle.zip"
    bundled(out, "--capture", str(ZOMBIE), "--group", "zombies", "-o", "json").close()
    told = json.loads(capsys.readouterr().out)
    assert (told["file"], told["groups"], told["shareable"]) == (str(out), ["zombies"], False)


def changed(capture: Path, tmp_path: Path, old: str, new: str) -> Path:
    """A copy of the capture with this text of its records by another one, as both are written: with their length."""
    folder = Path(shutil.copytree(capture, tmp_path / "changed"))
    records = [json.loads(line) for line in gzip.decompress((folder / "records.jsonl.gz").read_bytes()).splitlines()]
    before, after = (len(text.encode()).to_bytes(2, "big") + text.encode() for text in (old, new))
    for record in records:
        for part in ("key", "value"):
            if record["topic"] == "__consumer_offsets" and record[part] is not None:
                raw = base64.b64decode(record[part]).replace(before, after)
                record[part] = base64.b64encode(raw).decode()
    with gzip.open(folder / "records.jsonl.gz", "wt") as out:
        out.writelines(json.dumps(one) + "\n" for one in records)
    return folder


@pytest.mark.parametrize(
    ("capture", "old", "new"),
    [("kafkajs", "RoundRobinAssigner", "com.acme.OrdersAssignor"), ("kafkajs", "consumer", "acme"),
     ("streams-probing", "slowly", "1_2"), ("kafkajs", "kjs-equal", "🚀🚀")],
)  # fmt: skip
def test_a_name_like_a_word_of_kafka_is_not_in_a_shareable_bundle(
    tmp_path: Path, capture: str, old: str, new: str
) -> None:
    folder = changed(VECTORS / "captures-groups" / capture, tmp_path, old, new)
    with bundled(tmp_path / "bundle.zip", "--group", "*", "--shareable", "--capture", str(folder)) as file:
        texts = {name: file.read(name).decode() for name in file.namelist()}
    page = texts["story.html"]
    assert "at 2023-11" in page or "at 2026-11" in page, "dates stay"
    own = re.compile(rf"(?<!\w){re.escape(new)}(?!\w)")
    assert own.search("".join(unescape(text) for text in texts.values())) is None


def test_a_class_that_settings_alone_name_is_not_in_it(tmp_path: Path) -> None:
    """No record has it, and a verdict's reason does."""
    folder = Path(shutil.copytree(VECTORS / "captures-groups" / "streams-probing", tmp_path / "own"))
    cluster = json.loads((folder / "cluster.json").read_text())
    cluster["groups"]["slowly"]["config"]["task.assignor.class"] = "com.acme.OrdersAssignor"
    (folder / "cluster.json").write_text(json.dumps(cluster))
    words = ("--group", "slowly", "--shareable", "--capture", str(folder))
    with bundled(tmp_path / "bundle.zip", *words) as file:
        text = "".join(file.read(name).decode() for name in file.namelist())
    assert "is not recomputed by this version" in text
    assert "acme" not in text


def test_a_name_like_a_reference_of_html_leaves_the_page_whole() -> None:
    page = b"<head></head><body><p>it&#x27;s amp &amp; x27</p></body>"
    assert _renamed_page(page, renaming(["amp", "x27"], b"key")).count(b"&amp;") == 1
    assert b"it&#x27;s n" in _renamed_page(page, renaming(["amp", "x27"], b"key"))


def test_a_group_is_named_by_its_name_whatever_is_in_it(tmp_path: Path) -> None:
    """Brackets mean something in a pattern."""
    folder = changed(VECTORS / "captures-groups" / "kafkajs", tmp_path, "kjs-equal", "orders[eu]")
    with bundled(tmp_path / "bundle.zip", "--group", "orders[eu]", "--capture", str(folder)) as file:
        assert json.loads(file.read("bundle.json"))["groups"] == ["orders[eu]"]


@pytest.mark.parametrize("words", [("--since", "1h"), ("--cluster", "x")])
def test_what_is_of_a_live_cluster_is_refused_with_a_capture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, str]
) -> None:
    out = str(tmp_path / "bundle.zip")
    assert main(["bundle", "--out", out, "--capture", str(ZOMBIE), "--group", "zombies", *words]) == 2
    assert "--since and --cluster are of a live cluster" in capsys.readouterr().err
