"""Where jobs are meant to run: connector or task to workers, checked when read and handed to the fold as it is."""

from pathlib import Path

import pytest

from streaming.config import ConfigError, load

START = "clusters:\n- name: a\n  bootstrap_servers: k:9092\n  connect: {g: {placements: "


def placements(tmp_path: Path, text: str, env: dict[str, str] | None = None) -> object:
    path = tmp_path / "monitor.yaml"
    path.write_text(f"{START}{text}}}}}\n", encoding="utf-8")
    return load(path, env or {}).core_clusters()["a"].connect["g"].placements


def test_jobs_and_workers_reach_the_fold(tmp_path: Path) -> None:
    assert placements(tmp_path, "{orders: ['w1:8083'], orders-0: ['w2.*:8083', 'w3:8083']}") == {
        "orders": ("w1:8083",),
        "orders-0": ("w2.*:8083", "w3:8083"),
    }


def test_the_environment_gives_them_as_json(tmp_path: Path) -> None:
    name = "REBALANCE_MONITOR__CLUSTERS__0__CONNECT__G__PLACEMENTS"
    assert placements(tmp_path, "{}", {name: '{"orders-0": ["w1:8083"]}'}) == {"orders-0": ("w1:8083",)}


@pytest.mark.parametrize(
    "text", ["{orders: 'w1:8083'}", "{orders: ['http://w1:8083/']}", "{'': ['w1:8083']}", "[orders]"]
)
def test_a_mistake_is_one_line_that_says_where(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        placements(tmp_path, text)
    (line,) = str(caught.value).splitlines()
    assert "clusters[0].connect.g.placements" in line
