"""Whatever a command is given: no trace, no secret, nothing that steers a terminal, the exit code that is promised."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import pytest
import yaml
from pydantic import BaseModel

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.outline import visible_lines
from rebalance_monitor.streaming.cli.terminal import Terminal
from rebalance_monitor.streaming.config.loading import load
from rebalance_monitor.streaming.config.section import ConfigError
from rebalance_monitor.streaming.config.settings import Settings
from tests.profile import size

ESC, HALF, LONG = "\x1b[31m", "\udcff", "x" * 5_000
SECRET = "hush"
RECORD = {"topic": "__consumer_offsets", "partition": 0, "offset": 0, "timestamp": 0, "key": None, "value": None}
BAD_FIELDS: dict[str, tuple[Any, ...]] = {
    "topic": (None, 1, []),
    "partition": (-1, 2**31, True, "0", None, 1.5),
    "offset": (-1, 2**63, True, "0", None),
    "timestamp": (2**63, True, "0"),
    "key": (1, "a", "ä", []),
    "value": (1, "a", {}),
}

FILES: dict[str, bytes] = {
    "sound.yaml": b"clusters: [{name: a, bootstrap_servers: 'k:1'}]\n"
    b"database: {dsn: 'postgresql://u:hush@127.0.0.1:1/d', connect_timeout_ms: 500}\n",
    "latin.yaml": b"a: \xff\n",
    "itself.yaml": b"a: &a [*a]\n",
    "code.yaml": b"a: !!python/object/apply:os.system ['true']\n",
    "list-as-key.yaml": b"? [a]\n: b\n",
    "digits.yaml": b"a: " + b"9" * 5_000 + b"\n",
    "month.yaml": b"a: 2026-99-99\n",
    "year.yaml": b"maintenance: [{owner: a, reason: b, begins: 0001-01-01T00:00:00+14:00,"
    b" ends: 0001-01-02T00:00:00Z}]\n",
    "merge.yaml": b"<<: 3\n",
    "list.yaml": b"- a\n",
    "open.yaml": b"a: [\n",
    "tab.yaml": b"a:\n\tb: c\n",
    "no-text.yaml": b"a: \x00\n",
    "nothing.jsonl": b'{"a":1}\n',
    "list.jsonl": b"[]\n",
    "no-json.jsonl": b"\x00\n",
    "latin.jsonl": b"\xff\n",
    "deep.jsonl": b"[" * 100_000,
    "digits.jsonl": json.dumps({**RECORD, "partition": 0})
    .replace('"partition": 0', '"partition": ' + "1" * 5_000)
    .encode(),
    "infinite.jsonl": json.dumps(RECORD).replace('"partition": 0', '"partition": 1e400').encode(),
    "cut.jsonl.gz": b"\x1f\x8b\x08\x00",
    "token": b"hush\nhush\n",
    "bytes": b"\xff\xfe",
    **{
        f"{name}-{number}.jsonl": json.dumps({**RECORD, name: value}).encode()
        for name, values in BAD_FIELDS.items()
        for number, value in enumerate(values)
    },
}
CONFIG = ("--config", "sound.yaml")
WINDOW = ("maintenance", "add", *CONFIG, "--owner", "o", "--reason", "r", "--for", "1h", "--groups", "g")
PUBLISH = ("dashboards", "publish", "--url", "http://127.0.0.1:1")
BAD: tuple[tuple[str, ...], ...] = (
    (),
    (ESC,),
    *((name,) for name in ("replay", "plan", "decode", "config", "maintenance", "gaps", "dashboards", "completion")),
    *((name, "--config", given) for name in ("run", "serve", "audit") for given in (ESC, HALF, LONG, "/")),
    *(("config", "check", "--config", name) for name in FILES if name.endswith(".yaml") and name != "sound.yaml"),
    *(("config", "check", "--config", given) for given in (ESC, HALF, LONG, "/", "")),
    *(("compare", given, *CONFIG) for given in (ESC, HALF, LONG, "", "public", "candidate")),
    *(("run", "--shadow", given, *CONFIG) for given in (ESC, HALF, LONG, "", "public")),
    ("config", ESC),
    ("config", "check", *CONFIG, "-o", ESC),
    *(("replay", name) for name in FILES if ".jsonl" in name),
    *(("replay", given) for given in (ESC, HALF, LONG, "/", "bytes")),
    ("replay", "--config", ESC, "nothing.jsonl"),
    ("replay", "--config", "sound.yaml", "nothing.jsonl", "-o", ESC),
    *(("decode", given) for given in (ESC, HALF, "zz", LONG, "deep.jsonl", "no-json.jsonl")),
    ("decode", "AA", "AA", "AA"),
    ("decode", ESC, ESC),
    *(("decode", option, ESC, "AA") for option in ("--topic-kind", "--encoding", "--partition", "--offset")),
    ("decode", "--partition", "-1", "AA"),
    ("plan", "--family", ESC),
    ("plan", "--family", "streams-full", "--config", ESC, "nothing.jsonl"),
    *(("plan", "--family", "connect-eager", name) for name in ("deep.jsonl", "no-json.jsonl", "list.jsonl", ESC, LONG)),
    *((*WINDOW, option, given) for option in ("--groups", "--owner", "--reason") for given in (ESC, HALF, "")),
    *((*WINDOW, "--for", given) for given in (ESC, "", "-1h", "9d", "9" * 5_000 + "h", "0s")),
    *((*WINDOW, "--begins", given) for given in (ESC, "", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00")),
    (*WINDOW, "--cluster", ESC),
    ("maintenance", "list", *CONFIG),
    *(("maintenance", "end", *CONFIG, given) for given in (ESC, HALF)),
    ("gaps", "list", *CONFIG),
    *(("gaps", "acknowledge", *CONFIG, option, given) for option in ("--cluster", "--topic") for given in (ESC, HALF)),
    *(("rules", given) for given in (ESC, HALF, "")),
    *(("serve", *CONFIG, "--monitor-url", given) for given in (ESC, "http://h:99999/", "http://[::1", "http://h:0")),
    ("dashboards", ESC),
    ("dashboards", "build", ESC),
    ("dashboards", "build", "--cluster-label", ESC),
    *(
        ("dashboards", "publish", "--url", given)
        for given in (ESC, "http://[::1", "http://h:x/", "http://h:99999", f"http://u:{SECRET}@h/", f"http://127.0.0.1:1/{ESC}")
    ),
    *(("dashboards", "publish", "--url", f"http://{host}") for host in ("a..b", "a" * 300)),
    *((*PUBLISH, "--token-file", given) for given in ("token", "bytes", "/", ESC, LONG)),
    *((*PUBLISH, "--folder", given) for given in (ESC, HALF)),
    (*PUBLISH, "-o", ESC),
    ("completion", ESC),
)  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the files lie; no command may change them."""
    path = tmp_path_factory.mktemp("files")
    for name, content in FILES.items():
        (path / name).write_bytes(content)
    return path


@pytest.fixture
def folder(files: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(files)
    monkeypatch.setenv("REBALANCE_MONITOR_GRAFANA_TOKEN", SECRET)
    return files


def ended(words: tuple[str, ...]) -> int:
    try:
        return main(words)
    except SystemExit as why:  # wrong usage
        return why.code if isinstance(why.code, int) else -1


def sound(said: str) -> bool:
    return "Traceback" not in said and SECRET not in said and all(one.isprintable() or one == "\n" for one in said)


def test_there_are_enough() -> None:
    assert len(BAD) >= 120


@pytest.mark.parametrize(
    "words", BAD, ids=lambda words: " ".join(words)[:60].encode("unicode_escape").decode() or "none"
)
def test_bad_input_is_told_in_words(folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    code = ended(words)
    said = capsys.readouterr()
    assert code == 2, said
    assert sound(said.out + said.err)
    assert said.err or "error" in json.loads(said.out)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("whatif", "--group", "g", "--join", "x"),
            "rebalance-monitor whatif: argument --join: 'x' is no whole number; see rebalance-monitor whatif --help\n",
        ),
        (
            ("gaps",),
            "rebalance-monitor gaps: the following arguments are required: ACTION; see rebalance-monitor gaps --help\n",
        ),
    ],
)
def test_wrong_usage_is_one_sentence(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str) -> None:
    assert ended(words) == 2
    assert capsys.readouterr().err == said


def leaves(kind: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The place of every key of the configuration; of lists the first, of mappings one called `some`."""
    while get_origin(kind) in (Annotated, Union, UnionType):
        kind = next(one for one in get_args(kind) if one is not type(None))
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        for name, key in kind.model_fields.items():
            yield from leaves(key.annotation, (*place, name))
    elif get_origin(kind) in (tuple, dict):
        yield from leaves(
            get_args(kind)[-1 if get_origin(kind) is dict else 0], (*place, "some" if get_origin(kind) is dict else 0)
        )
    yield place


def with_value(place: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    """A sound configuration with one hostile value in it."""
    for part in reversed(place):
        value = [value] if isinstance(part, int) else {part: value}
    found: dict[str, Any] = {"clusters": [{"name": "a", "bootstrap_servers": "k:1"}], "database": {"dsn": "host=h"}}
    for key, own in value.items():
        if key == "clusters" and place[2:]:
            own = [{**found[key][0], **own[0]}]
        found[key] = {**found[key], **own} if key == "database" and isinstance(own, dict) else own
    return found


HOSTILE: tuple[Any, ...] = (
    f"a{ESC}",
    "\ud800",
    True,
    -1,
    10**26,
    1.5,
    [[]],
    {1: 2},
    {ESC: ESC},
    [ESC],
    "http://[::1",
    "[" * 9_999,
)
BOUNDED = ("_ms", "_s", "port", "max_groups", "max_tasks", "java_version", "undecodable_kept")


@pytest.mark.parametrize("number", range(len(HOSTILE)), ids=lambda number: ascii(HOSTILE[number])[:30])
def test_every_key_takes_every_value_or_says_why_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    """What is accepted holds no control character and no number that a column could not hold."""
    value = HOSTILE[number]
    path = tmp_path / "monitor.yaml"
    places = sorted({one for one in leaves(Settings) if one}, key=str)
    assert len(places) > 150
    # The short run gives each key every third value.
    for place in places[number % size(3, 1) :: size(3, 1)]:
        path.write_text(yaml.safe_dump(with_value(place, value)), encoding="utf-8")
        try:
            load(path, {})
        except ConfigError as why:
            code, said = 2, visible_lines(str(why))  # as standard error shows it
        else:
            code, said = main(["config", "check", "--config", str(path)]), "".join(capsys.readouterr())
        assert code in (0, 2), (place, said)
        assert sound(said), (place, said)
        if value is not True and str(place[-1]).endswith(BOUNDED):
            assert code == 2 or value == 1.5, place
        if isinstance(value, str) and not value.isprintable():
            assert code == 2, place


def test_a_name_in_a_table_steers_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    console = Terminal(force_terminal=True, color_system=None)
    console.print(f"orders{ESC}\nmore")
    assert capsys.readouterr().out == "orders\\x1b[31m\nmore\n"


def test_an_address_is_shown_without_its_password(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "monitor.yaml"
    url = f"http://jane:{SECRET}@am:9093"
    path.write_text(json.dumps({**with_value(("alerting", "alertmanagers", 0), url)}), encoding="utf-8")
    assert main(["config", "check", "--config", str(path), "-o", "json"]) == 0
    said = capsys.readouterr().out
    assert SECRET not in said
    assert "@am:9093" in said


def test_standard_error_is_prepared_once() -> None:
    before = sys.stderr
    try:
        main(["config", "default"])
        first = sys.stderr
        main(["config", "default"])
        assert sys.stderr is first
    finally:
        sys.stderr = before
