"""Defaults < file < environment, and one clear line for each mistake."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from rebalance_monitor.streaming.config.loading import load
from rebalance_monitor.streaming.config.section import ConfigError
from rebalance_monitor.streaming.config.settings import Settings

TAKEN = "group.id is set by the monitor itself; remove it"
CLUSTER = "clusters: [{name: a, bootstrap_servers: 'k:9092'}]\n"


Writes = Callable[[str], Path]


@pytest.fixture
def written(tmp_path: Path) -> Writes:
    def write(text: str) -> Path:
        path = tmp_path / "monitor.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def refusal(path: Path | None, env: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(path, env or {})
    return str(caught.value).splitlines()


def test_without_file_and_environment_the_defaults_hold() -> None:
    assert load(None, {}) == Settings()


def test_file_wins_over_defaults_and_environment_over_file(written: Writes) -> None:
    path = written("http: {port: 1, host: '::1'}\njudge: {wait_ms: 5}\n")
    settings = load(path, {"REBALANCE_MONITOR__HTTP__PORT": "2", "PATH": "/bin", "REBALANCE_MONITOR_OTHER": "x"})
    assert (settings.http.port, settings.http.host, settings.judge.wait_ms) == (2, "::1", 5)


def test_environment_reaches_into_lists_client_properties_and_group_names(written: Writes) -> None:
    path = written("clusters: [{name: a, bootstrap_servers: 'k:9092', connect: {My-Group: {}}}]\n")
    cluster = load(
        path,
        {
            "REBALANCE_MONITOR__CLUSTERS__0__CLIENT__SASL_PASSWORD": "12345",
            "REBALANCE_MONITOR__CLUSTERS__0__CLIENT__SECURITY_PROTOCOL": "SASL_SSL",
            "REBALANCE_MONITOR__CLUSTERS__0__CONNECT__MY-GROUP__MAX_DELAY_MS": "8000",
        },
    ).clusters[0]
    assert cluster.librdkafka() == {
        "bootstrap.servers": "k:9092",
        "sasl.password": "12345",
        "security.protocol": "SASL_SSL",
    }
    assert cluster.connect["My-Group"].max_delay_ms == 8000


def test_a_whole_configuration_fits_into_the_environment() -> None:
    settings = load(
        None,
        {
            "REBALANCE_MONITOR__CLUSTERS__0__NAME": "a",
            "REBALANCE_MONITOR__CLUSTERS__0__BOOTSTRAP_SERVERS": "k:9092",
            "REBALANCE_MONITOR__CLUSTERS__1": '{"name": "b", "bootstrap_servers": "k:1"}',
            "REBALANCE_MONITOR__ALERTING__PATH": "push",
            "REBALANCE_MONITOR__ALERTING__ALERTMANAGERS__0": "http://127.0.0.1:9093",
            "REBALANCE_MONITOR__DATABASE__DSN": "postgresql://u:pw@h/d",
        },
    )
    assert [c.name for c in settings.clusters] == ["a", "b"]
    assert settings.alerting.alertmanagers == ("http://127.0.0.1:9093",)


def test_secrets_never_print(written: Writes) -> None:
    path = written(
        "database: {dsn: 'postgresql://u:hush@h/d'}\n"
        "clusters: [{name: a, bootstrap_servers: 'k:1', client: {sasl.password: hush, ssl.ca.location: /ca}}]\n"
    )
    settings = load(path, {})
    assert "hush" not in repr(settings)
    assert "hush" not in settings.model_dump_json()
    assert "/ca" in repr(settings)


def test_a_refused_value_is_never_repeated(written: Writes) -> None:
    cluster = "{name: a, bootstrap_servers: 'k:1', client: {sasl.password: [hush]}}"
    path = written(f"database: {{dsn: [hush]}}\nclusters: [{cluster}]")
    lines = refusal(path)
    assert len(lines) == 2
    assert "hush" not in "".join(lines)


def test_each_cluster_becomes_the_folds_settings(written: Writes) -> None:
    path = written(
        "judge: {wait_ms: 7}\n"
        "clusters:\n- name: a\n  bootstrap_servers: k:9092\n"
        "  connect: {g: {max_delay_ms: 3, release: '3.9.1'}, h: {config_topic: c, status_topic: s}}\n"
    )
    core = load(path, {}).core_clusters()["a"]
    assert (core.name, core.judge_wait_ms, core.connect["g"].max_delay_ms) == ("a", 7, 3)
    assert (core.connect["g"].config_topic, core.connect["g"].guessed_topics) == ("g-configs", True)
    assert (core.connect["h"].status_topic, core.connect["h"].guessed_topics) == ("s", False)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("htpp: {port: 1}", "htpp: this key is unknown; did you mean http?"),
        ("http: {prot: 1}", "http.prot: this key is unknown; did you mean port?"),
        ("http: {xyz: 1}", "http.xyz: this key is unknown; remove it"),
        (
            "groups: [{groups: a, team: b}]",
            "groups[0].groups: this key is unknown; remove it or correct its spelling to one of alerts, cluster, "
            "connectors, damping, lag_s, match, members_at_least,",
        ),
        ("http: {port: many}", "http.port: must be a whole number; correct the value"),
        ("http: {port: 70000}", "http.port: must be less than or equal to 65535; correct the value"),
        ("http: {port: 1}\nhttp: {port: 2}", "line 2, column 1: the key 'http' stands twice; correct the YAML there"),
        ("http: [", "correct the YAML there"),
        ("just words", "the file must hold keys and values, not a str; see `rebalance-monitor config default`"),
        ("clusters: [{name: a}]", "clusters[0].bootstrap_servers: this key is missing; add it"),
        ("clusters: [{name: a, bootstrap_servers: k}]", "clusters[0].bootstrap_servers: must be host:port, or several"),
        (CLUSTER.replace("}]", ", client: {group.id: x}}]"), f"client: {TAKEN}"),
        (
            CLUSTER.replace("}]", ", own_assignors: {g: []}}]"),
            "must name shares, omits or both",
        ),
        (
            CLUSTER.replace("}]", ", own_assignors: {g: [keeps]}}]"),
            "own_assignors.g",
        ),
        (
            CLUSTER.replace("}]", ", connect: {g: {max_dealy_ms: 1}}}]"),
            "max_dealy_ms: this key is unknown; did you mean max_delay_ms?",
        ),
        (
            CLUSTER.replace("}]", ", connect: {g: {config_topic: my topic}}}]"),
            "config_topic: no topic can have this name",
        ),
        ("source: {offsets_topic: ''}", "source.offsets_topic: no topic can have this name (an empty name)"),
        (CLUSTER.replace("}]", "}, {name: a, bootstrap_servers: 'k:1'}]"), "two clusters are called 'a'"),
        ("alerting: {path: push}", "alerting: path is push, so alertmanagers must list at least one URL"),
        ("alerting: {resend_ms: 900000}", "alerting: ends_ahead_ms must exceed resend_ms by at least 900000"),
        ("alerting: {alertmanagers: [9093]}", "alerting.alertmanagers[0]: must be a text, perhaps in quotes"),
        ("database: null", "database: "),
        ("spark: {driver_memory: '1000'}", "spark.driver_memory: must be a number with its unit, such as 900m or 2g"),
        (CLUSTER.replace("}]", ", connect: {g: {release: latest}}}]"), "release: must be a release such as 3.9.1"),
        ("groups: [{team: a, alerts: {imbalanse: info}}]", "groups[0].alerts.imbalanse: no rule is called"),
    ],
)
def test_a_mistake_is_one_line_with_file_key_and_remedy(written: Writes, text: str, line: str) -> None:
    path = written(text)
    (only,) = refusal(path)
    assert only.startswith(f"{path}: ")
    assert line in only


def test_every_problem_is_listed_one_a_line(written: Writes) -> None:
    lines = refusal(written("http: {port: x, hots: y}\njudge: {wait_ms: -1}\n"))
    assert len(lines) == 3


def test_a_mistake_in_a_variable_names_the_variable() -> None:
    (line,) = refusal(None, {"REBALANCE_MONITOR__HTTP__PORT": "x"})
    assert line.startswith("environment variable REBALANCE_MONITOR__HTTP__PORT: http.port: ")
    (line,) = refusal(None, {"REBALANCE_MONITOR__HTPP__PORT": "1"})
    assert line.startswith("environment variable REBALANCE_MONITOR__HTPP__PORT: htpp: this key is unknown")
    (line,) = refusal(None, {"REBALANCE_MONITOR__CLUSTERS__3__NAME": "x"})
    assert "'3' must be a position from 0 to 0" in line


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (line,) = refusal(tmp_path / "none.yaml")
    assert line == f"{tmp_path / 'none.yaml'}: there is no such file; give the path of a YAML file with --config"
    (line,) = refusal(tmp_path)
    assert "can't be read" in line
    (tmp_path / "latin.yaml").write_bytes(b"http: {host: \xe9}")
    (line,) = refusal(tmp_path / "latin.yaml")
    assert "not UTF-8" in line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("? {a: b}\n: 1", "line 1, column 3: a key must be a single value; correct the YAML there"),
        ("? [a, [b]]\n: 1", "line 1, column 3: a key must be a single value; correct the YAML there"),
        ("a: " + "[" * 3000, "the lists and mappings lie too deep within each other; correct the YAML"),
        ("a: \0", "character 4: a character that YAML does not allow; correct the YAML there"),
        ("1: 2", "the key 1 is no text; put it in quotes"),
        ("http: {null: 2}", "http: the key None is no text; put it in quotes"),
        ("http: 5", "http: must hold keys and values; correct the value"),
        ("audit: [1]", "audit: must hold keys and values; correct the value"),
        ("clusters: {}", "clusters: must be a list; correct the value"),
        (
            "maintenance: [{owner: a, reason: b, begins: 2026-01-01, ends: 2026-01-02T00:00:00Z}]",
            "maintenance[0].begins: ",
        ),
    ],
)
def test_a_value_of_the_wrong_shape_is_told_in_plain_words(written: Writes, text: str, line: str) -> None:
    path = written(text)
    (only,) = refusal(path)
    assert only.startswith(f"{path}: ")
    assert line in only
    assert not re.search("dictionary|instance|tuple|Section|datetime", only)


@pytest.mark.parametrize(
    ("variable", "value", "read"),
    [
        ("PAGE__HOSTS__0", "monitor.example", lambda settings: settings.page.hosts),
        ("METRICS__IGNORED_GROUPS__0", "adhoc-*", lambda settings: settings.metrics.ignored_groups),
        ("PAGE__TOKENS__0__CLUSTERS__0", "eu-*", lambda settings: settings.page.tokens[0].clusters),
        ("CLUSTERS__0__CONNECT__C__PLACEMENTS__J__0", "w:1", lambda s: s.clusters[0].connect["c"].placements["j"]),
    ],
)
def test_every_list_takes_a_position_in_a_variable(
    variable: str, value: str, read: Callable[[Settings], object]
) -> None:
    rest = {
        "CLUSTERS__0__NAME": "a",
        "CLUSTERS__0__BOOTSTRAP_SERVERS": "k:9092",
        "PAGE__TOKENS__0__NAME": "people",
        "PAGE__TOKENS__0__TOKEN": "x" * 16,
    }
    given = {**rest, variable: value}
    assert read(load(None, {f"REBALANCE_MONITOR__{name}": text for name, text in given.items()})) == (value,)


def test_an_empty_variable_is_no_address_of_a_database() -> None:
    """As a shell script leaves it where the secret is missing: libpq would take its own defaults for it."""
    (line,) = refusal(None, {"REBALANCE_MONITOR__DATABASE__DSN": ""})
    assert line.startswith("environment variable REBALANCE_MONITOR__DATABASE__DSN: database.dsn: is empty")
