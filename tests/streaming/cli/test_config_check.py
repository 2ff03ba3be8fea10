"""`config check`: what would keep `run` from starting is said before, and no credential is ever printed."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.config.client_properties import OWNED_BY_MONITOR, SHOWN
from rebalance_monitor.streaming.config.java_properties import JAVA_ONLY
from rebalance_monitor.streaming.config.loading import load

CLUSTER = "{name: a, bootstrap_servers: 'k:1'}"
DATABASE = "database: {dsn: 'postgresql://monitor@db/monitor'}\n"
Written = Callable[[str], str]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    def write(text: str) -> str:
        path = tmp_path / "monitor.yaml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def check(path: str, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """The exit code, and everything printed."""
    code = main(["config", "check", "--config", path, *words])
    said = capsys.readouterr()
    return code, said.out + said.err


def test_what_run_would_accept_is_sound(written: Written, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(written(f"{DATABASE}clusters: [{CLUSTER}]\n"), capsys)[0] == 0
    assert check(written(f"{DATABASE}clusters: [{CLUSTER}, {{name: b, bootstrap_servers: 'k:1'}}]\n"), capsys)[0] == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (DATABASE, "clusters is empty"),
        (f"clusters: [{CLUSTER}]\n", "database.dsn is missing"),
        (f"{DATABASE}clusters: [{CLUSTER}, {CLUSTER}]\n", "two clusters are called 'a'"),
        (f"database: {{dsn: 'mysql://u@h/d'}}\nclusters: [{CLUSTER}]\n", "no connection text of PostgreSQL"),
        (
            f"database: {{dsn: 'host port'}}\nclusters: [{CLUSTER}]\n",
            "database.dsn is not a PostgreSQL connection text",
        ),
        (f"{DATABASE}spark: {{master: lokal}}\nclusters: [{CLUSTER}]\n", "spark.master"),
        (f"{DATABASE}spark: {{conf: {{executor.memory: 2g}}}}\nclusters: [{CLUSTER}]\n", "is no property of Spark"),
        (
            f"{DATABASE}spark: {{conf: {{spark.master: yarn}}}}\nclusters: [{CLUSTER}]\n",
            "has a key of its own; set spark.master",
        ),
        (
            f"{DATABASE}clusters: [{{name: a, bootstrap_servers: 'k:1', client: {{sasl.pasword: hush}}}}]\n",
            'clusters[0].client is not accepted (No such configuration property: "sasl.pasword")',
        ),
        (
            f"{DATABASE}clusters: [{{name: a, bootstrap_servers: 'k:1', client: {{security.protocol: SSLL}}}}]\n",
            "clusters[0].client is not accepted",
        ),
        (f"{DATABASE}clusters: [{{name: a, bootstrap_servers: 'kafka:0'}}]\n", "names no port in kafka:0"),
        (f"{DATABASE}clusters: [{{name: a, bootstrap_servers: 'a:1,b:65536'}}]\n", "names no port in b:65536"),
        (
            f"database: {{dsn: 'host=h port=abc password=hush'}}\nclusters: [{CLUSTER}]\n",
            "database.dsn is not a PostgreSQL connection text",
        ),
        (f"{DATABASE}http: {{port: 9471}}\nclusters: [{CLUSTER}]\n", "http.port and page.port are both 9471; give one"),
        (
            f"{DATABASE}http: {{port: 9471, host: 0.0.0.0}}\nclusters: [{CLUSTER}]\n",
            "http.port and page.port are both 9471; give one of them another port",
        ),
        (f"{DATABASE}http: {{port: true}}\nclusters: [{CLUSTER}]\n", "must be a number, not true or false"),
        (f"{DATABASE}judge: {{wait_ms: 1{'0' * 26}}}\nclusters: [{CLUSTER}]\n", "judge.wait_ms"),
        (
            f"{DATABASE}groups: [{{team: t, match: a, silent_member_ms: true}}]\nclusters: [{CLUSTER}]\n",
            "not true",
        ),
        (
            f"{DATABASE}clusters: [{{name: a, bootstrap_servers: 'k:1', client: {{sasl.mechanism: OAUTHBEARER}}}}]\n",
            "needs sasl.oauthbearer.method: oidc",
        ),
        (f'{DATABASE}clusters: [{{name: "a\\e[31m", bootstrap_servers: "k:1"}}]\n', "must hold no control characters"),
    ],
)
def test_what_run_would_refuse_is_said(
    written: Written, capsys: pytest.CaptureFixture[str], text: str, says: str
) -> None:
    code, said = check(written(text), capsys)
    assert code == 2
    assert says in said
    assert "hush" not in said
    assert "Traceback" not in said
    assert "\x1b" not in said


def test_what_is_asked_is_not_called_sound_before_it_has_answered(
    written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody listens at port 1: the end says how many checks failed, and the beginning only what the file tells."""
    path = written(
        "database: {dsn: 'postgresql://m@127.0.0.1:1/m'}\nclusters: [{name: a, bootstrap_servers: '127.0.0.1:1'}]\n"
    )
    code, said = check(path, capsys, "--connect")
    first, *answers, last = said.splitlines()
    assert first == f"{path}: sound by itself, brokers, database and receivers are asked next; clusters: a"
    failed = [line for line in answers if not line.endswith(": sound")]
    assert [line.split(": ")[0] for line in failed] == ["cluster a", "database"]
    assert (code, last) == (2, f"{path}: not sound: 2 of {len(answers)} checks failed")


def test_every_reason_is_one_line(written: Written, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = check(written("{}"), capsys)
    assert code == 2
    assert ["clusters" in said.splitlines()[0], "database.dsn" in said.splitlines()[1]] == [True, True]


@pytest.mark.parametrize("name", sorted(JAVA_ONLY))
def test_a_property_of_java_is_refused_with_what_to_do(
    written: Written, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    cluster = f"{{name: a, bootstrap_servers: 'k:1', client: {{{name}: hush}}}}"
    code, said = check(written(f"{DATABASE}clusters: [{cluster}]\n"), capsys, "-o", "json")
    assert code == 2
    assert f"{name} is a property of Java's clients" in said
    assert JAVA_ONLY[name] in said
    assert "hush" not in said


names = st.text("abcdefghijklmnopqrstuvwxyz._", min_size=1, max_size=30).filter(
    lambda name: name not in JAVA_ONLY and name not in OWNED_BY_MONITOR and name not in SHOWN
)


@given(
    name=names | st.sampled_from(["sasl.password", "ssl.key.pem", "ssl.keystore.password", "sasl.oauthbearer.config"])
)
def test_a_value_is_shown_only_where_it_is_known_to_be_harmless(name: str) -> None:
    cluster = json.dumps([{"name": "a", "bootstrap_servers": "k:1", "client": {name: "hush", "client.id": "seen"}}])
    settings = load(None, {"REBALANCE_MONITOR__CLUSTERS": cluster})
    shown = json.dumps(settings.model_dump(mode="json")) + repr(settings)
    assert "hush" not in shown
    assert "seen" in shown
    assert settings.clusters[0].librdkafka()[name] == "hush"


def test_every_key_is_printed_with_its_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "default"]) == 0
    assert capsys.readouterr().out == (Path(__file__).parents[3] / "conf" / "default.yaml").read_text(encoding="utf-8")


def test_a_brokers_log_that_cannot_be_read_is_named_and_run_would_start(
    written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = "{name: a, bootstrap_servers: 'k:1', coordinator_log: {files: [/nowhere/server.log, '/nowhere/*.log']}}"
    code, said = check(written(f"{DATABASE}clusters: [{cluster}]\n"), capsys)
    assert code == 0
    assert "clusters[0].coordinator_log.files: no file matches /nowhere/*.log\n" in said
    assert "clusters[0].coordinator_log.files: /nowhere/server.log cannot be read (No such file or directory)\n" in said
    code, said = check(written(f"{DATABASE}clusters: [{cluster[:-1]}, source: poll}}]\n"), capsys)
    assert code == 2
    assert "coordinator_log.files needs source: log" in said
    relative = cluster.replace("/nowhere/server.log", "server.log")
    code, said = check(written(f"{DATABASE}clusters: [{relative}]\n"), capsys)
    assert (code, "must be a file name from the root on" in said) == (2, True)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("topic: kafka-logs", None),
        (
            "topic: kafka-logs, files: [/x]",
            "coordinator_log: files and topic are both set; the lines are read from one",
        ),
        ("topic: 'a b'", "coordinator_log.topic: no topic can have this name ("),
        ("topic: kafka-logs}, source: poll, connect: {", "coordinator_log.topic needs source: log, because brokers"),
    ],
)
def test_a_topic_with_brokers_logs_is_configured_in_place_of_files(
    written: Written, capsys: pytest.CaptureFixture[str], place: str, said: str | None
) -> None:
    cluster = f"{{name: a, bootstrap_servers: 'k:1', coordinator_log: {{{place}}}}}"
    code, printed = check(written(f"{DATABASE}clusters: [{cluster}]\n"), capsys)
    assert (code, said is None or said in printed) == (0 if said is None else 2, True), printed
