"""`decode` for a human with one record in hand: every way in, both ways out, and nothing secret in either."""

import base64
import io
import json
from base64 import b64decode
from typing import Any

import pytest

from rebalance_monitor.schemas import connect_protocol, consumer_protocol
from rebalance_monitor.schemas.consumer_protocol import ConsumerSubscription
from rebalance_monitor.schemas.group_metadata import GroupMember, GroupMetadata
from rebalance_monitor.schemas.offsets_topic import encode_group_metadata
from rebalance_monitor.schemas.streams_subscription import SubscriptionInfo, encode_subscription_info
from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.decode import bytes_of
from tests.vector_files import VECTORS, json_lines

CAPTURE = VECTORS / "captures" / "sessioned-4.3.1"
KEY = bytes.fromhex("0002 000f 636f6e6e6563742d636c7573746572")
V3 = bytes.fromhex("0003 0007 636f6e6e656374 00000006 ffff ffff 0000018bcfe56800 00000000")
V4_WITH_UNKNOWN_TAG = bytes.fromhex("0004 08 636f6e6e656374 00000006 00 00 0000018bcfe56800 01 01 07 02 abcd")


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[dict[str, Any]]]:
    code = main(["decode", "-o", "json", *words])
    return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize(
    "written",
    [
        lambda raw: raw.hex(),
        lambda raw: "0x" + raw.hex().upper(),
        lambda raw: raw.hex(":"),
        lambda raw: raw.hex(" ", 2),
        lambda raw: base64.b64encode(raw).decode(),
        lambda raw: base64.urlsafe_b64encode(raw).decode().rstrip("="),
    ],
)
def test_every_spelling_of_bytes(written: Any) -> None:
    for raw in (KEY, V3, V4_WITH_UNKNOWN_TAG, bytes(range(250, 256)) * 3):
        assert bytes_of(written(raw), "VALUE", "auto") == raw


def test_a_text_that_could_be_both() -> None:
    assert bytes_of("abcd", "VALUE", "auto") == b"\xab\xcd"
    assert bytes_of("abcd", "VALUE", "base64") == base64.b64decode("abcd")


def test_a_record_with_bytes_left_over(capsys: pytest.CaptureFixture[str]) -> None:
    code, (shown,) = told(capsys, KEY.hex(), V3.hex() + "dead")
    assert code == 0
    assert (shown["outcome"], shown["name"], shown["key"]) == ("decoded", "GroupMetadata", {"group": "connect-cluster"})
    assert (shown["version"], shown["value"]["generation"]) == (3, 6)
    assert (shown["remaining"], shown["remaining_hex"]) == (2, "dead")


def test_unknown_tagged_fields_are_shown_with_path_tag_and_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    code, (shown,) = told(capsys, base64.b64encode(KEY).decode(), base64.b64encode(V4_WITH_UNKNOWN_TAG).decode())
    assert code == 0
    assert shown["unknown_tags"] == [{"path": "", "tag": 7, "bytes_hex": "abcd"}]


def test_embedded_payloads_are_opened(capsys: pytest.CaptureFixture[str]) -> None:
    info = SubscriptionInfo(version=11, latest_supported=11, process_id=bytes(16), offset_sums=((0, 1, -2),))
    streams = ConsumerSubscription(version=1, topics=("t",), user_data=encode_subscription_info(info))
    member = GroupMember(
        member_id="m",
        client_id="c",
        client_host="/h",
        session_timeout_ms=1,
        subscription=consumer_protocol.encode_subscription(streams),
        assignment=b"",
    )
    group = GroupMetadata(
        version=3, protocol_type="consumer", generation=1, protocol="stream", leader="m", members=(member,)
    )
    _, (shown,) = told(capsys, KEY.hex(), encode_group_metadata(group).hex())
    (opened,) = shown["value"]["members"]
    assert opened["subscription"]["value"]["topics"] == ["t"]
    assert opened["subscription"]["value"]["user_data"]["value"]["offset_sums"] == [[0, 1, -2]]
    assert opened["assignment"] == {"bytes": 0, "bytes_hex": ""}


def test_tombstones_and_unreadable_records(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, KEY.hex(), "null") == (
        0,
        [{"outcome": "tombstone", "type": 2, "name": "GroupMetadata", "key": {"group": "connect-cluster"}}],
    )
    code, (shown,) = told(capsys, KEY.hex(), "0009" + V3.hex()[4:])
    assert (code, shown["outcome"], shown["reason"]) == (2, "unreadable", "unsupported_version")


def test_bare_payloads(capsys: pytest.CaptureFixture[str]) -> None:
    assignment = "0003 00000001 0001 74 00000002 00000000 00000001 ffffffff"
    code, (shown,) = told(capsys, "--topic-kind", "consumer-assignment", assignment)
    assert (code, shown["value"]["partitions"]) == (0, [["t", 0], ["t", 1]])


def test_lines_on_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    captured = json.dumps(
        {"topic": "__consumer_offsets", "key": base64.b64encode(KEY).decode(), "value": base64.b64encode(V3).decode()}
    )
    lines = f"{KEY.hex()} {V3.hex()}\n\nnonsense\n{captured}\n{KEY.hex()} null\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    code, shown = told(capsys, "-")
    assert code == 2
    assert [one["line"] for one in shown] == [1, 3, 4, 5]
    assert [one.get("outcome") for one in shown] == ["decoded", None, "decoded", "tombstone"]
    assert "needs two inputs" in shown[1]["error"]


def test_a_capture_with_coordinates(capsys: pytest.CaptureFixture[str]) -> None:
    code, (shown,) = told(capsys, str(CAPTURE), "--topic", "__consumer_offsets", "--partition", "1", "--offset", "1")
    assert code == 0
    assert shown["source"] == {"topic": "__consumer_offsets", "partition": 1, "offset": 1}
    assert shown["value"]["members"][0]["subscription"]["value"]["url"].startswith("http")
    assert main(["decode", str(CAPTURE), "--offset", "999999"]) == 2
    assert "no record with these coordinates" in capsys.readouterr().err


@pytest.mark.parametrize("output", ["json", "table"])
def test_nothing_secret_is_shown(capsys: pytest.CaptureFixture[str], output: str) -> None:
    for kind, key, value in (
        ("connect-config", "connector-a", {"properties": {"tasks.max": "2", "password": "s3cr3t"}}),
        ("connect-config", "task-a-0", {"properties": {"password": "s3cr3t"}}),
        ("connect-config", "session-key", {"key": "s3cr3t", "algorithm": "HmacSHA256", "creation-timestamp": 1}),
        ("connect-config", "connector-b", "{'s3cr3t"),
        (
            "connect-status",
            "status-task-a-0",
            {"state": "FAILED", "trace": "s3cr3t", "worker_id": "w", "generation": 1},
        ),
        ("connect-status", "status-task-a-0", {"state": 5, "trace": "s3cr3t"}),
    ):
        text = value if isinstance(value, str) else json.dumps(value)
        main(["decode", "-o", output, "--topic-kind", kind, key, text])
    main(["decode", "-o", output, "--topic-kind", "connect-config", "connector-b", "s3cr3t!"])
    printed = capsys.readouterr()
    assert "s3cr3t" not in printed.out + printed.err
    assert "ConnectorConfigured" in printed.out


def test_a_table_for_people_steers_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    name = b"\x1b[2Jx"
    assert main(["decode", (b"\x00\x02\x00\x05" + name).hex(), V3.hex()]) == 0
    out = capsys.readouterr().out
    assert "\x1b[2J" not in out
    assert "\\x1b[2Jx" in out


def test_what_cannot_be_an_input(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["zz!"], [KEY.hex()], ["--topic-kind", "cheese", "00"], ["--encoding", "hex", "0", "0"]):
        assert main(["decode", *words]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_nothing_is_cut_however_narrow_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    url = "http://" + "a" * 300
    state = connect_protocol.encode_worker_state(connect_protocol.WorkerState(version=1, url=url, config_offset=7))
    assert main(["decode", "--topic-kind", "connect-worker-state", state.hex()]) == 0
    assert url in capsys.readouterr().out


def test_moments_are_shown_as_people_read_them(capsys: pytest.CaptureFixture[str]) -> None:
    main(["decode", KEY.hex(), V3.hex()])
    (line,) = [one for one in capsys.readouterr().out.splitlines() if "currentStateTimestamp" in one]
    assert line.split(maxsplit=1)[1] == "1700000000000 (2023-11-14T22:13:20.000+00:00)"
    unknown = V3.replace(bytes.fromhex("0000018bcfe56800"), b"\xff" * 8)
    main(["decode", KEY.hex(), unknown.hex()])
    assert "currentStateTimestamp  -1\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((KEY.hex(), ""), "VALUE is empty; null is a tombstone"),
        (("", "null"), "KEY is empty"),
        ((KEY.hex(), "000"), "VALUE has an odd number of hexadecimal digits"),
        ((KEY.hex(), "zz!!"), "VALUE is neither hexadecimal nor base64"),
        ((KEY.hex(),), "one given, which names no file"),
        (("/nowhere/at/all",), "one given, which names no file"),
        ((KEY.hex(), "00", "--offset", "3"), "choose from a capture"),
        ((str(CAPTURE), "--topic-kind", "connect-assignment"), "is for a bare payload"),
        ((str(CAPTURE), "--topic-kind", "nonsense"), "known are offsets"),
    ],
)
def test_bad_input_is_one_sentence(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], sentence: str) -> None:
    assert main(["decode", *words]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert sentence in printed.err
    assert printed.err.count("\n") == 1


def test_bad_lines_are_told_by_number(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ['{"key": 5}', "{broken", "[1]", '{"key": "AA==", "topic": [1]}', f"{KEY.hex()} 00!"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))
    code, shown = told(capsys, "-")
    assert (code, [one["line"] for one in shown]) == (2, [1, 2, 3, 4, 5])
    assert [one["error"].split()[0] for one in shown] == ["topic", "begins", "a", "topic", "VALUE"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    assert main(["decode", "-"]) == 2
    assert "nothing came on standard input" in capsys.readouterr().err


@pytest.mark.parametrize("output", ["json", "table"])
@pytest.mark.parametrize(("name", "encoding"), [("\udcff", "utf-8"), ("é", "ascii")])
def test_no_text_is_too_strange_to_show(monkeypatch: pytest.MonkeyPatch, output: str, name: str, encoding: str) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr("sys.stdout", out)
    status = json.dumps({"state": "RUNNING", "worker_id": "\ud800", "generation": 1})
    words = ["--topic-kind", "connect-status", f"status-task-{name}-0", status]
    assert main(["decode", "-o", output, *words]) == 0
    assert b"ud800" in out.buffer.getvalue()


def test_a_stray_byte_on_standard_input_is_bad_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe 00\n"), encoding="utf-8"))
    code, (shown,) = told(capsys, "-")
    assert (code, shown["line"]) == (2, 1)
    assert "KEY is neither" in shown["error"]


def test_every_type_of_record_is_shown_both_ways(capsys: pytest.CaptureFixture[str]) -> None:
    seen = set()
    for case in json_lines(VECTORS / "consumer" / "coordinator-wire.jsonl.gz"):
        key, value = case["input"].get("key"), case["input"].get("value")
        type_ = b64decode(key)[:2] if key and value else b""
        if case["kind"] != "record" or case["expected"]["result"] != "record" or type_ in seen:
            continue
        seen.add(type_)
        for output in ("json", "table"):
            assert main(["decode", "-o", output, "--encoding", "base64", key, value]) == 0
            assert case["expected"]["name"] in capsys.readouterr().out
    assert len(seen) > 20
