"""`replay`: which settings judge a capture, and one sentence for each way in which a capture can be damaged."""

import base64
import gzip
import io
import json
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.captures import settings_of
from rebalance_monitor.streaming.cli.commands import parser
from rebalance_monitor.streaming.cli.replay import replay
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.settings import ConnectSettings
from rebalance_monitor.streaming.core.replay import RawRecord
from tests.streaming.core.racked import racked
from tests.streaming.guarding.poison import SECRET, Poisoned
from tests.streaming.spark.lines import value_of
from tests.vector_files import VECTORS, json_lines

CAPTURE = VECTORS / "captures" / "zombie"
RECORD: dict[str, Any] = {"topic": "__consumer_offsets", "partition": 0, "offset": 1, "timestamp": 1, "key": "AAIAAWE="}
GROUP = {"group.id": "g", "config.storage.topic": "g-configs"}


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """A capture's folder, for damaging."""
    return Path(shutil.copytree(CAPTURE, tmp_path / "capture"))


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["replay", *words]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    return told


def summary(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["replay", "-o", "json", *words]) in (0, 1)
    lines: list[dict[str, Any]] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return lines[-1]


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        ({"topic": None}, "topic must be a text"),
        ({"topic": ["a"]}, "topic must be a text"),
        ({"partition": -1}, "partition must be 0 or more"),
        ({"offset": -1}, "offset must be 0 or more"),
        ({"partition": "0"}, "partition must be a whole number"),
        ({"offset": 1.5}, "offset must be a whole number"),
        ({"offset": True}, "offset must be a whole number"),
        ({"offset": 1 << 63}, "offset must be a whole number"),
        ({"timestamp": "now"}, "timestamp must be a whole number"),
        ({"key": 5}, "key must be base64 or null"),
        ({"value": "AA="}, "value must be base64 or null"),
    ],
)
def test_a_damaged_record_is_told_with_its_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, damage: dict[str, Any], sentence: str
) -> None:
    file = tmp_path / "records.jsonl"
    file.write_text(f"{json.dumps(RECORD)}\n{json.dumps(RECORD | damage)}\n")
    assert f"{file}:2: not a captured record: {sentence}" in refusal(capsys, str(file))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"[" * 100_000, "too many brackets within each other"),
        (b"{", "not JSON"),
        (b"[1]", "not a JSON object"),
        (b"\xff\n", "not UTF-8 text"),
        (gzip.compress(b"{}\n"), "not a captured record: topic must be a text"),
        (gzip.compress(b"{}\n")[:10] + b"\x07", "gzip data is damaged"),
    ],
)
def test_a_file_that_holds_no_records(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes, sentence: str
) -> None:
    file = tmp_path / "records.jsonl"
    file.write_bytes(content)
    told = refusal(capsys, str(file))
    assert str(file) in told
    assert sentence in told


@pytest.mark.parametrize("name", ["records.jsonl", "records.jsonl.gz"])
def test_whether_a_file_is_packed_is_told_by_its_bytes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    packed = (CAPTURE / "records.jsonl.gz").read_bytes()
    wanted = summary(capsys, "--no-settings", str(CAPTURE))["generations"]
    for content in (packed, gzip.decompress(packed), b"\xef\xbb\xbf" + gzip.decompress(packed)):
        (tmp_path / name).write_bytes(content)
        assert summary(capsys, str(tmp_path / name))["generations"] == wanted


def test_a_file_that_is_not_there_or_is_cut_off(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "none: No such file or directory; correct the path, or its permissions\n" in refusal(
        capsys, str(tmp_path / "none")
    )
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes((CAPTURE / "records.jsonl.gz").read_bytes()[:1000])
    assert "end-of-stream" in refusal(capsys, str(cut))


@pytest.mark.parametrize(
    ("described", "sentence"),
    [
        ({"groups": [1]}, "groups[0] must be an object"),
        ({"groups": [{"config.storage.topic": "c"}]}, "groups[0]: group.id must be a text"),
        ({"groups": [{**GROUP, "group.id": 7}]}, "groups[0]: group.id must be a text"),
        ({"groups": [{**GROUP, "status.storage.topic": 7}]}, "groups[0]: status.storage.topic must be a text"),
        ({"groups": [{**GROUP, "worker releases": 5}]}, "groups[0]: worker releases must be a list"),
    ],
)
def test_a_damaged_description_is_one_sentence_and_can_be_left_out(
    capsys: pytest.CaptureFixture[str], capture: Path, described: dict[str, Any], sentence: str
) -> None:
    (capture / "cluster.json").write_text(json.dumps(described))
    assert sentence in refusal(capsys, str(capture))
    assert summary(capsys, "--no-settings", str(capture))["generations"] > 0


@pytest.mark.parametrize("damage", [lambda file: file.mkdir(), lambda file: file.write_bytes(b"\xff")])
def test_a_description_that_cannot_be_read(capsys: pytest.CaptureFixture[str], capture: Path, damage: Any) -> None:
    (capture / "cluster.json").unlink()
    damage(capture / "cluster.json")
    assert "cluster.json" in refusal(capsys, str(capture))


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ({"at_ms": 1}, "topics must be an object"),
        ({"at_ms": "x", "topics": {}}, "at_ms must be a whole number"),
        ({"at_ms": 1, "topics": {"t": {"racks": 5}}}, "topics.t.racks must be a list"),
        ({"at_ms": 1, "topics": {"t": 5}}, "topics.t.racks must be a list"),
        ({"at_ms": 1, "topics": {"t": {"racks": [[]], "end_offsets": 5}}}, "must list an end offset for each of the 1"),
        ({"at_ms": 1, "topics": {"t": {"racks": [[]], "end_offsets": [1, 2]}}}, "topics.t.end_offsets must list"),
        ({"at_ms": 1, "topics": {"t": {"racks": [[]], "end_offsets": ["1"]}}}, "topics.t.end_offsets must list"),
    ],
)
def test_damaged_metadata_is_one_sentence(
    capsys: pytest.CaptureFixture[str], capture: Path, line: dict[str, Any], sentence: str
) -> None:
    (capture / "metadata.jsonl.gz").write_bytes(gzip.compress(json.dumps(line).encode()))
    told = refusal(capsys, str(capture))
    assert "metadata.jsonl.gz:1: " in told
    assert sentence in told


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ({"asked_ms": 1, "answered_ms": 1, "ends": {}}, "group must be a text"),
        ({"group": "g", "asked_ms": 1, "answered_ms": 1, "ends": {"t-0": "x"}}, "ends: t-0 must be a whole number"),
        ({"group": "g", "asked_ms": 1, "ends": {}}, "answered_ms must be a whole number"),
    ],
)
def test_damaged_end_offsets_are_one_sentence(
    capsys: pytest.CaptureFixture[str], capture: Path, line: dict[str, Any], sentence: str
) -> None:
    (capture / "ends.jsonl.gz").write_bytes(gzip.compress(json.dumps(line).encode()))
    told = refusal(capsys, str(capture))
    assert "ends.jsonl.gz:1: " in told
    assert sentence in told


def test_processes_with_another_maximum_delay_than_the_group_have_their_own(capture: Path) -> None:
    key = "scheduled.rebalance.max.delay.ms"

    def described(**delays: list[int]) -> ConnectSettings:
        workers = [
            {"group": "g", "url": f"http://{name}:8083/", "settings": {key: str(one)}}
            for name, ones in delays.items()
            for one in ones
        ]
        group = {"group.id": "g", "config.storage.topic": "g-configs", key: 7}
        (capture / "cluster.json").write_text(json.dumps({"groups": [group], "workers": workers}))
        return settings_of(capture).connect["g"]

    assert described(a=[7], b=[7]).max_delay_ms_by_worker == {}
    own = described(a=[7], b=[9])
    assert (own.max_delay_of("a:8083"), own.max_delay_of("b:8083"), own.max_delay_of("c:8083")) == (7, 9, 7)
    restarted = described(a=[7], b=[7, 9])
    assert (restarted.max_delay_of("a:8083"), restarted.max_delay_of("b:8083")) == (7, None)


@pytest.mark.parametrize(
    ("listed", "known_ms"),
    [({}, 300_000), ({"scheduled.rebalance.max.delay.ms": None}, None), ({"scheduled.rebalance.max.delay.ms": 7}, 7)],
)
def test_what_a_description_leaves_out_is_kafkas_default(
    capture: Path, listed: dict[str, Any], known_ms: int | None
) -> None:
    group = {"group.id": "g", "config.storage.topic": "g-configs", **listed}
    (capture / "cluster.json").write_text(json.dumps({"groups": [group]}))
    assert settings_of(capture).connect["g"].max_delay_ms == known_ms


def configured(folder: Path, *names: str, **more: Any) -> str:
    own = settings_of(CAPTURE).connect["zombies"]
    connect = {"zombies": {"config_topic": own.config_topic, "status_topic": own.status_topic}}
    clusters = [{"name": name, "bootstrap_servers": "k:9092", "connect": connect} for name in names]
    file = folder / "monitor.yaml"
    file.write_text(json.dumps({"clusters": clusters, **more}))
    return str(file)


def test_a_configuration_is_taken_whole(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What `run` would do with it: sections beside the clusters count too."""
    config = configured(tmp_path, "a", groups=[{"team": "pipelines", "alerts": {"duplicate_active": "info"}}])
    assert main(["replay", "-o", "json", "--config", config, str(CAPTURE)]) in (0, 1)
    objects = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {one["team"] for one in objects if one["kind"] == "violation"} == {"pipelines"}


def test_of_several_clusters_the_one_with_the_captures_name_counts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert summary(capsys, "--config", configured(tmp_path, "a", "zombie"), str(CAPTURE))["generations"] > 0
    told = refusal(capsys, "--config", configured(tmp_path, "a", "b"), str(CAPTURE))
    assert "called zombie as the capture; found a, b" in told
    monkeypatch.setenv("REBALANCE_MONITOR__CLUSTERS__1__NAME", "zombie")
    assert summary(capsys, "--config", configured(tmp_path, "a", "b"), str(CAPTURE))["generations"] > 0


@pytest.mark.parametrize("at_ms", [-(1 << 62), -1, 1 << 62])
def test_any_moment_can_be_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path, at_ms: int) -> None:
    """A record's time is 64 bits that its producer wrote: most of them are no day of any calendar."""
    lines = [json.dumps(one | {"timestamp": at_ms}) + "\n" for one in json_lines(CAPTURE / "records.jsonl.gz")]
    (tmp_path / "records.jsonl").write_text("".join(lines))
    assert main(["replay", str(tmp_path)]) in (0, 1)
    assert " 0 generations" not in capsys.readouterr().out


def test_records_of_share_and_streams_groups_are_read_and_none_is_counted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A group's record of KIP-932 and of KIP-1071, each as Kafka's own classes wrote it; neither brings a target."""
    taken: dict[str, dict[str, Any]] = {}
    for case in json_lines(VECTORS / "consumer" / "coordinator-wire.jsonl.gz"):
        for tag in {"type11", "type17"} & set(case["tags"]):
            if case["expected"].get("result") == "record" and case["expected"]["value"]["epoch"] > 0:
                taken.setdefault(tag, case)
    groups = [{"topic": "__consumer_offsets", "partition": 0, "timestamp": 1} | one["input"] for one in taken.values()]
    lines = [json.dumps(one | {"offset": offset}) + "\n" for offset, one in enumerate(groups)]
    (tmp_path / "records.jsonl").write_text("".join(lines), encoding="utf-8")
    assert main(["replay", str(tmp_path)]) == 0
    flat = " ".join(capsys.readouterr().out.split())
    assert "2 records, 0 generations" in flat
    assert "0 undecodable" in flat
    assert "Not read" not in flat


def test_the_table_shows_targets_of_streams_groups(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(VECTORS / "captures-groups" / "streams-kip1071-4.3.1")]) == 0
    flat = " ".join(capsys.readouterr().out.split())
    assert "748 records, 51 generations (51 match), 0 violations, 0 undecodable, 0 gaps" in flat
    assert "app-b 7 sticky 5 match member_joined overtaken by 8" in flat


def test_the_table_shows_targets_of_kip_848_groups(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(VECTORS / "captures-groups" / "kip848-a")]) == 0
    told = capsys.readouterr().out
    flat = " ".join(told.split())
    assert "2980 records, 260 generations (" in flat
    assert ", 0 violations, 0 undecodable, 0 gaps" in flat
    assert "k-uniform 4 uniform 3 match member_joined reached after 1.8 s" in flat
    assert "k-uniform 5 uniform 4 match member_joined overtaken by 7" in flat


def test_a_capture_without_a_groups_record_cannot_be_judged(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    file.write_text("")
    assert main(["replay", str(file)]) == 3
    assert capsys.readouterr().err == (
        f"rebalance-monitor: {file}: it holds no records, so there is nothing to judge\n"
    )
    file.write_text("".join(json.dumps(RECORD | {"topic": name, "key": None}) + "\n" for name in ("a", "b", "a")))
    assert main(["replay", "-o", "json", str(file)]) == 3
    said = capsys.readouterr()
    assert "among the records of a (2), b (1)" in said.err
    assert "read __consumer_offsets too" in said.err
    assert json.loads(said.out)["records"] == 3
    file.write_text(json.dumps(RECORD | {"key": "AAEAAWEAAXQAAAAA", "value": None}) + "\n")
    assert main(["replay", str(file), str(CAPTURE)]) == 1, "what was found elsewhere counts"
    assert "only offset commits are there" in capsys.readouterr().err


@pytest.mark.parametrize("packed", [True, False])
def test_standard_input_is_a_capture(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    raw = (CAPTURE / "records.jsonl.gz").read_bytes()
    given = io.TextIOWrapper(io.BytesIO(raw if packed else gzip.decompress(raw)))
    monkeypatch.setattr("sys.stdin", given)
    assert summary(capsys, "-")["generations"] == summary(capsys, "--no-settings", str(CAPTURE))["generations"]


def test_tables_show_the_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(CAPTURE)]) == 1
    assert re.search(r"^ ?20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} ", capsys.readouterr().out, re.MULTILINE)


def test_a_captures_racks_are_read_and_what_later_samples_show_may_be_known_before(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    story = racked(3)
    with gzip.open(tmp_path / "metadata.jsonl.gz", "wt", encoding="utf-8") as samples:
        for sample in story.metadata:
            topics = {
                name: {"partitions": len(racks), "racks": [*map(sorted, racks)]}
                for name, racks in sample.topics.items()
            }
            samples.write(json.dumps({"at_ms": sample.at_ms, "topics": topics}) + "\n")
    with gzip.open(tmp_path / "records.jsonl.gz", "wt", encoding="utf-8") as records:
        for record, body in story.generations:
            records.write(json.dumps(captured(record, body)) + "\n")
    told = summary(capsys, str(tmp_path))
    assert told["generations"] == len(story.generations)
    assert told["grades"]["unexplained"] == 0
    assert told["grades"]["explainable"] > 5


def captured(record: RawRecord, body: GroupGeneration) -> dict[str, Any]:
    """The generation as a line of a capture, in the record's place."""
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "key": base64.b64encode(record.key or b"").decode(),
        "value": base64.b64encode(value_of(body)).decode(),
    }


def test_a_fold_that_fails_costs_one_record_and_shows_in_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    """Everything else is judged and printed; the trace comes once, on stderr, without a value of the records."""
    judge = partial(replay, parser().parse_args(["replay", "-o", "json", str(CAPTURE), str(CAPTURE)]))
    assert judge() == 1
    sound = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    offset = next(one["source"]["offset"] for one in sound[10:] if one["kind"] == "generation")
    assert judge(fold=Poisoned({offset})) == 4
    out, err = capsys.readouterr()
    told = [json.loads(line) for line in out.splitlines()]
    assert sum(one["kind"] == "generation" for one in told) == sum(one["kind"] == "generation" for one in sound)
    reasons = [one["verdict"]["reason"] or "" for one in told if one["kind"] == "generation"]
    assert sum(reason.startswith("internal error KeyError-") for reason in reasons) == 2
    assert told[-1]["violations"]["monitor_error"] == 1
    assert err.count("rebalance-monitor: internal error KeyError-") == 2
    assert err.count("\nKeyError\n") == 1
    assert SECRET not in out + err


def test_a_line_of_standard_input_that_is_no_record_is_one_sentence() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rebalance_monitor", "replay", "-"],
        input='{"a":1}\n', capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.splitlines() == ["rebalance-monitor: -:1: not a captured record: topic must be a text"]
