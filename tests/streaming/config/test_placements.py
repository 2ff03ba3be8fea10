"""Settings by worker, checked when read and handed to the fold as they are: where jobs are meant to run, and the
maximum delay of single workers."""

from pathlib import Path

import pytest

from rebalance_monitor.streaming.config.loading import load
from rebalance_monitor.streaming.config.section import ConfigError
from rebalance_monitor.streaming.core.model.settings import ConnectSettings

START = "clusters:\n- name: a\n  bootstrap_servers: k:9092\n  connect: {g: {"


def connect(tmp_path: Path, text: str, env: dict[str, str] | None = None) -> ConnectSettings:
    path = tmp_path / "monitor.yaml"
    path.write_text(f"{START}{text}}}}}\n", encoding="utf-8")
    return load(path, env or {}).core_clusters()["a"].connect["g"]


def placements(tmp_path: Path, text: str, env: dict[str, str] | None = None) -> object:
    return connect(tmp_path, f"placements: {text}", env).placements


def test_jobs_and_workers_reach_the_fold(tmp_path: Path) -> None:
    assert placements(tmp_path, "{orders: ['w1:8083'], orders-0: ['w2.*:8083', 'w3:8083']}") == {
        "orders": ("w1:8083",),
        "orders-0": ("w2.*:8083", "w3:8083"),
    }


def test_the_environment_gives_them_as_json(tmp_path: Path) -> None:
    name = "REBALANCE_MONITOR__CLUSTERS__0__CONNECT__G__PLACEMENTS"
    assert placements(tmp_path, "{}", {name: '{"orders-0": ["w1:8083"]}'}) == {"orders-0": ("w1:8083",)}


@pytest.mark.parametrize(
    "text", ["{orders: 'w1:8083'}", "{orders: ['http://w1:8083/']}", "{'': ['w1:8083']}", "[orders]", "{orders: []}"]
)
def test_a_mistake_is_one_line_that_says_where(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        placements(tmp_path, text)
    (line,) = str(caught.value).splitlines()
    assert "clusters[0].connect.g.placements" in line


def test_a_maximum_delay_of_a_worker_is_that_of_the_first_pattern_that_fits(tmp_path: Path) -> None:
    found = connect(tmp_path, "max_delay_ms: 9, max_delay_ms_by_worker: {'W1:8083': 0, 'w*:8083': 5}")
    assert [found.max_delay_of(one) for one in ("w1:8083", "w2:8083", "v1:8083", None)] == [0, 5, 9, 9]


def test_the_environment_gives_maximum_delays_as_json(tmp_path: Path) -> None:
    name = "REBALANCE_MONITOR__CLUSTERS__0__CONNECT__G__MAX_DELAY_MS_BY_WORKER"
    assert connect(tmp_path, "", {name: '{"w1:8083": 7}'}).max_delay_of("w1:8083") == 7


@pytest.mark.parametrize("text", ["{w1: -1}", "{w1: soon}", "{'http://w1:8083/': 1}", "[w1]", "{w1: 2147483648}"])
def test_a_wrong_maximum_delay_is_one_line_that_says_where(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        connect(tmp_path, f"max_delay_ms_by_worker: {text}")
    (line,) = str(caught.value).splitlines()
    assert "clusters[0].connect.g.max_delay_ms_by_worker" in line
