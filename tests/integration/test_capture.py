"""A capture that is taken of a real broker is judged as the recorded one that was written to it, and so is a bundle."""

import gzip
import json
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from lab.cluster import broker
from lab.cluster.broker import Broker
from lab.paths import BUILD, ROOT
from lab.process import Lab, Progress
from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.replay import OFFSETS_TOPIC, RawRecord, replay
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
FOLDER = BUILD / "capture"
RECORDED = ROOT / "tests" / "vectors" / "captures" / "zombie"
LOG = "copied-offsets"
"""The coordinator writes to its own topic: nobody else can."""
SECRET = "hunter2Planted"
PLAINTEXT = b"connector.class"
"""What stands in every configuration of a connector."""


@pytest.fixture(scope="module")
def server() -> Iterator[Broker]:
    shutil.rmtree(FOLDER, ignore_errors=True)
    with Lab(FOLDER, Progress(quiet=True)) as lab:
        yield broker.start_anywhere(lab)


def renamed(record: RawRecord) -> str:
    return LOG if record.topic == OFFSETS_TOPIC else record.topic


@pytest.fixture(scope="module")
def configuration(server: Broker) -> Path:
    """Of a cluster whose topics hold the recorded capture, record by record."""
    records = list(records_of(RECORDED))
    admin = AdminClient({"bootstrap.servers": server.address, "log_level": 0})
    numbers: dict[str, int] = {}
    for record in records:
        numbers[renamed(record)] = max(numbers.get(renamed(record), 0), record.partition)
    made = admin.create_topics([NewTopic(name, most + 1, 1) for name, most in numbers.items()])
    for each in made.values():
        each.result(PATIENCE_S)
    producer = Producer({"bootstrap.servers": server.address, "linger.ms": 5, "enable.idempotence": True})
    for record in records:
        producer.produce(
            renamed(record), record.value, record.key, record.partition, timestamp=max(record.timestamp_ms, 0)
        )
    assert producer.flush(PATIENCE_S) == 0
    path = FOLDER / "monitor.yaml"
    ((group, connect),) = settings_of(RECORDED).connect.items()
    told = {
        "bootstrap_servers": server.address,
        "name": "own",
        "client": {"sasl.password": "planted-password", "security.protocol": "PLAINTEXT"},
        "connect": {
            group: {
                "config_topic": connect.config_topic,
                "status_topic": connect.status_topic,
                "max_delay_ms": connect.max_delay_ms,
                "release": connect.release,
                "java_version": connect.java_version,
            }
        },
    }
    path.write_text(yaml.safe_dump({"clusters": [told], "source": {"offsets_topic": LOG}}))
    return path


def judged(folder: Path) -> dict[tuple[str, int], Any]:
    """Each generation's verdict."""
    told = replay(records_of(folder), settings_of(folder))
    return {(one["group"], one["generation"]): one["verdict"] for one in told.objects if one["kind"] == "generation"}


def test_it_is_judged_as_the_recorded_one(configuration: Path, tmp_path: Path) -> None:
    assert main(["capture", "--config", str(configuration), "--out", str(tmp_path / "taken")]) == 0
    expected = judged(RECORDED)
    assert len(expected) >= 10
    assert judged(tmp_path / "taken") == expected


def test_what_was_taken_is_told_for_programs(
    configuration: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = []
    for output, read in (("json", json.loads), ("yaml", yaml.safe_load)):
        folder = tmp_path / output
        assert main(["capture", "--config", str(configuration), "--out", str(folder), "-o", output]) == 0
        told.append(read(capsys.readouterr().out))
        assert told[-1].pop("capture") == str(folder)
    assert told[0] == told[1]
    assert told[0]["records"] == len(list(records_of(tmp_path / "json")))


def test_no_configuration_and_no_credential_is_in_it(configuration: Path, tmp_path: Path) -> None:
    assert any(PLAINTEXT in (record.value or b"") for record in records_of(RECORDED))
    main(["capture", "--config", str(configuration), "--out", str(tmp_path / "taken")])
    assert not any(PLAINTEXT in (record.value or b"") for record in records_of(tmp_path / "taken"))
    assert "planted" not in (tmp_path / "taken" / "cluster.json").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["--max-bytes", "1k"], 2, "more than 1,024 bytes were read; name groups with --group, a shorter --since"),
        (["--group", "nobody-*"], 3, "no record of groups that match nobody-* is there, so nothing is written"),
        (["--max-bytes", "much"], 2, "--max-bytes 'much' is no size; write 500k, 64m or 2g"),
        (["--cluster", "other"], 2, "no cluster 'other' is configured; there are own"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_writes_nothing(
    configuration: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    sentence: str,
) -> None:
    assert main(["capture", "--config", str(configuration), "--out", str(tmp_path / "taken"), *arguments]) == code
    assert sentence in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_bundle_of_it_has_equal_verdicts_and_no_secret(server: Broker, configuration: Path, tmp_path: Path) -> None:
    """The last test: a connector with a password is written behind the recorded records."""
    ((group, connect),) = settings_of(RECORDED).connect.items()
    properties = {"properties": {"connector.class": "x", "odd.name": f"jdbc:x://u:{SECRET}@h"}}
    producer = Producer({"bootstrap.servers": server.address})
    producer.produce(connect.config_topic, json.dumps(properties).encode(), b"connector-planted", 0)
    assert producer.flush(PATIENCE_S) == 0
    out = tmp_path / "bundle.zip"
    assert main(["bundle", "--config", str(configuration), "--group", group, "--out", str(out)]) == 0
    assert judged(out) == judged(RECORDED)
    with zipfile.ZipFile(out) as file:
        texts = [
            gzip.decompress(file.read(name)) if name.endswith(".gz") else file.read(name) for name in file.namelist()
        ]
    held = [part for record in records_of(out) for part in (record.key, record.value) if part is not None]
    assert b"connector-planted" in held, "it was read"
    assert not any(secret.encode() in text for text in (*texts, *held) for secret in (SECRET, "planted-password"))
