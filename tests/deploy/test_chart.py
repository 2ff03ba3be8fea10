"""The Helm chart: what it renders is valid for Kubernetes, sound for the monitor, and holds no secret."""

import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import kubernetes_validate
import pytest
import yaml
from pydantic import BaseModel, SecretStr

from lab.paths import ROOT
from rebalance_monitor.dashboards.alerts import rule_file
from rebalance_monitor.streaming.config.client_properties import SHOWN
from rebalance_monitor.streaming.config.loading import load
from rebalance_monitor.streaming.config.settings import Settings
from rebalance_monitor.streaming.metrics.endpoint import Endpoint
from tests.deploy.rendered import CHART, ONE, PAIR, Resource, container, environment, resources, run, template

pytestmark = pytest.mark.helm
OURS = {"ConfigMap", "Deployment", "Service", "ServiceAccount", "NetworkPolicy"}
"""Kinds that Kubernetes itself has; the others are the Prometheus operator's."""
CHART_FILE: dict[str, Any] = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
OLDEST = re.findall(r"1\.\d+", CHART_FILE["kubeVersion"])[0]
PLACEHOLDERS = {
    "monitor-database/dsn": "postgresql://monitor@db/monitor",
    "monitor-app/uri": "postgresql://monitor@db/monitor",
    "chat/url": "https://chat.example/hook",
}
each_values = pytest.mark.parametrize("values", [ONE, PAIR], ids=lambda path: path.stem)


@each_values
def test_helm_finds_nothing_wrong(values: Path) -> None:
    done = run("lint", "--strict", CHART, "--values", values)
    assert done.returncode == 0, done.stdout + done.stderr


@each_values
@pytest.mark.parametrize("release", [OLDEST, kubernetes_validate.latest_version()])
def test_kubernetes_takes_what_is_rendered(values: Path, release: str) -> None:
    made = resources(values, settings={"networkPolicy.enabled": "true"})
    assert made.keys() >= OURS
    for kind in OURS:
        kubernetes_validate.validate(made[kind], release, strict=True)


def test_a_wrong_key_would_be_found() -> None:
    made = resources(ONE)["Deployment"]
    container(made)["livenessProb"] = {}
    with pytest.raises(kubernetes_validate.ValidationError, match="livenessProb"):
        kubernetes_validate.validate(made, OLDEST, strict=True)


@each_values
def test_the_monitor_takes_its_configuration(values: Path, tmp_path: Path) -> None:
    made = resources(values)
    file = tmp_path / "monitor.yaml"
    file.write_text(made["ConfigMap"]["data"]["monitor.yaml"], encoding="utf-8")
    given = environment(made["Deployment"])
    settings = load(file, {name: PLACEHOLDERS.get(value, value) for name, value in filled(given).items()})
    assert (settings.http.host, settings.http.port) == ("0.0.0.0", 9470)
    assert (settings.page.host, settings.page.port) == ("0.0.0.0", 9471)
    assert settings.database.dsn is not None
    assert [cluster.name for cluster in settings.clusters] == ["orders"]


def filled(given: dict[str, str]) -> dict[str, str]:
    """A token must be long enough to be one."""
    return {name: value.ljust(16, "x") if name.endswith("TOKEN") else value for name, value in given.items()}


def test_where_it_listens_is_the_same_everywhere() -> None:
    made = resources(PAIR)
    ports = {one["name"]: one["containerPort"] for one in container(made["Deployment"])["ports"]}
    assert ports == {"metrics": 9470, "page": 9471}
    given = environment(made["Deployment"])
    assert given["REBALANCE_MONITOR__HTTP__PORT"] == str(ports["metrics"])
    assert given["REBALANCE_MONITOR__PAGE__PORT"] == str(ports["page"])
    assert {one["targetPort"]: one["port"] for one in made["Service"]["spec"]["ports"]} == ports
    ingress = made["NetworkPolicy"]["spec"]["ingress"]
    assert [rule["ports"][0]["port"] for rule in ingress] == [ports["page"], ports["metrics"]]
    (endpoint,) = made["PodMonitor"]["spec"]["podMetricsEndpoints"]
    assert endpoint["port"] in ports
    page = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert f"EXPOSE {ports['metrics']} {ports['page']}" in page


def test_it_runs_as_the_image_says() -> None:
    made = resources(ONE)["Deployment"]
    pod = made["spec"]["template"]["spec"]
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    context = pod["securityContext"]
    assert f"USER {context['runAsUser']}:{context['runAsGroup']}" in dockerfile
    assert 'CMD ["run", "--config", "/etc/rebalance-monitor/monitor.yaml"]' in dockerfile
    assert container(made)["args"] == ["run", "--config", "/etc/rebalance-monitor/monitor.yaml"]
    places = {one["name"]: one["mountPath"] for one in container(made)["volumeMounts"]}
    assert places == {"config": "/etc/rebalance-monitor", "scratch": "/tmp"}
    assert container(made)["image"] == f"rebalance-monitor:{CHART_FILE['appVersion']}"


def test_chart_and_program_have_one_version() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'\nversion = "{CHART_FILE["version"]}"\n' in project
    assert CHART_FILE["appVersion"] == CHART_FILE["version"]


@each_values
def test_it_may_do_no_more_than_it_needs(values: Path) -> None:
    pod = resources(values)["Deployment"]["spec"]["template"]["spec"]
    (only,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not pod["automountServiceAccountToken"]
    assert only["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
    }  # fmt: skip
    writable = [one["name"] for one in only["volumeMounts"] if not one.get("readOnly")]
    assert writable == ["scratch"]
    assert only["resources"]["limits"]["memory"]


class StandsBy:
    """A process that waits until the other one is gone."""

    def scrape(self) -> bytes:
        return b""

    def readiness(self, cluster: str | None = None) -> tuple[bool, dict[str, object]]:
        return False, {"standby": True}

    def part(self, name: str, problem: str | None) -> None:
        assert problem is None


@pytest.fixture
def standing_by() -> Iterator[Callable[[str], int]]:
    """The status that a real endpoint answers on a path."""
    endpoint = Endpoint("127.0.0.1", 0, StandsBy(), StandsBy())
    endpoint.start()

    def ask(path: str) -> int:
        try:
            with urllib.request.urlopen(f"{endpoint.url}{path}") as answer:
                return int(answer.status)
        except urllib.error.HTTPError as why:
            return why.code

    yield ask
    endpoint.stop()


def test_a_process_that_stands_by_counts_as_ready_and_is_not_killed(standing_by: Callable[[str], int]) -> None:
    monitor = container(resources(PAIR)["Deployment"])
    asked = {name: monitor[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "liveness", "readiness")}
    assert {name: standing_by(path) for name, path in asked.items()} == {
        "startup": 200, "liveness": 200, "readiness": 200,
    }  # fmt: skip


def test_one_process_is_replaced_at_once_and_one_of_two_at_a_time() -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    for values, replicas, strategy in ((ONE, 1, {"type": "Recreate"}), (PAIR, 2, rolling)):
        spec = resources(values)["Deployment"]["spec"]
        assert spec["replicas"] == replicas
        assert spec["strategy"] == strategy
        assert ("topologySpreadConstraints" in spec["template"]["spec"]) == (replicas == 2)


@pytest.mark.parametrize(
    ("values", "given", "published"),
    [(ONE, None, True), (PAIR, None, False), (ONE, "false", False), (PAIR, "true", True)],
)
def test_the_page_of_the_only_process_is_reached_while_it_is_not_ready(
    values: Path, given: str | None, published: bool
) -> None:
    settings = {} if given is None else {"service.publishNotReadyAddresses": given}
    assert resources(values, settings=settings)["Service"]["spec"]["publishNotReadyAddresses"] is published


def test_selectors_find_the_pods() -> None:
    made = resources(PAIR)
    labels = made["Deployment"]["spec"]["template"]["metadata"]["labels"].items()
    for selector in (
        made["Deployment"]["spec"]["selector"]["matchLabels"], made["Service"]["spec"]["selector"],
        made["PodMonitor"]["spec"]["selector"]["matchLabels"],
        made["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"],
    ):  # fmt: skip
        assert selector
        assert selector.items() <= labels
    service = resources(ONE, settings={"serviceMonitor.enabled": "true"})
    wanted = service["ServiceMonitor"]["spec"]["selector"]["matchLabels"].items()
    assert wanted <= service["Service"]["metadata"]["labels"].items()


def test_alerts_are_those_that_the_code_makes() -> None:
    assert resources(PAIR)["PrometheusRule"]["spec"] == rule_file()


def test_alerts_of_ones_own_making_take_their_place(tmp_path: Path) -> None:
    own = tmp_path / "own.yml"
    own.write_text(yaml.dump(rule_file(cluster_label="kafka_cluster")), encoding="utf-8")
    done = run("template", "monitor", CHART, "--values", PAIR, "--set-file", f"prometheusRule.rules={own}")
    (made,) = [one for one in yaml.safe_load_all(done.stdout) if one and one["kind"] == "PrometheusRule"]
    assert made["spec"] == rule_file(cluster_label="kafka_cluster")


def test_what_the_operator_is_asked_for_is_optional() -> None:
    assert resources(ONE).keys() == {"ConfigMap", "Deployment", "Service", "ServiceAccount"}
    assert resources(ONE, settings={"serviceAccount.create": "false"}).keys() == {"ConfigMap", "Deployment", "Service"}


def test_a_changed_configuration_starts_the_monitor_anew() -> None:
    def mark(**settings: str) -> str:
        made: Resource = resources(ONE, settings=settings)["Deployment"]["spec"]["template"]["metadata"]
        return str(made["annotations"]["checksum/config"])

    assert mark() == mark() != mark(**{"config.ready.max_lag_s": "20"})


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"replicas": "3"}, "/replicas"),
        ({"podMonitor.enabled": "true", "serviceMonitor.enabled": "true"}, "podMonitor and serviceMonitor are both"),
        ({"config.clusters": "null"}, "clusters"),
        ({"database.secret.name": ""}, "/database/secret/name"),
        ({"image.digest": "latest"}, "/image/digest"),
        ({"replica": "1"}, "replica"),
        ({"config.http.port": "80"}, "config.page.port are set by the chart"),
        ({"config.page.host": "127.0.0.1"}, "config.page.port are set by the chart"),
    ],
    ids=str,
)
def test_what_cannot_work_is_refused(given: dict[str, str], named: str) -> None:
    done = template(ONE, settings=given)
    assert done.returncode != 0
    assert named in done.stderr


def secrets(model: type[BaseModel], path: str = "") -> Iterator[str]:
    """Where the configuration holds a secret, as `--set` writes it."""
    for name, field in model.model_fields.items():
        yield from _inside(field.annotation, f"{path}.{name}" if path else name)


def _inside(kind: Any, path: str) -> Iterator[str]:
    if kind is SecretStr:
        yield path
    elif isinstance(kind, type) and issubclass(kind, BaseModel):
        yield from secrets(kind, path)
    else:
        for one in get_args(kind):
            several = getattr(kind, "__origin__", None)
            yield from _inside(one, f"{path}[0]" if several is tuple else f"{path}.one" if several is dict else path)


SECRETS = sorted(set(secrets(Settings)))


def test_the_secrets_of_the_configuration_are_found() -> None:
    assert {"database.dsn", "clusters[0].client.one", "page.tokens[0].token", "alerting.webhooks[0].url"} <= set(
        SECRETS
    )


def variable(key: str) -> str:
    """The variable that sets a key."""
    *sections, last = key.replace("[", ".").replace("]", "").split(".")
    return "__".join(("REBALANCE_MONITOR", *sections, last)).upper()


@pytest.mark.parametrize("key", SECRETS)
def test_a_secret_is_refused_and_not_printed(key: str) -> None:
    """`one` stands for any property of a client, and for any header of a webhook."""
    shown = key.removesuffix(".one") if "headers" in key else key
    done = template(ONE, settings={f"config.{key}": "https://open-sesame"})
    assert done.returncode != 0
    assert f"config.{shown} may hold a secret" in done.stderr
    assert f"secretEnvironment.{variable(shown)}" in done.stderr
    assert "sesame" not in done.stdout + done.stderr


def test_the_variable_of_a_property_of_a_client_is_named() -> None:
    done = template(ONE, settings={r"config.clusters[0].client.sasl\.password": "open-sesame"})
    assert "config.clusters[0].client.sasl.password may hold" in done.stderr
    assert "secretEnvironment.REBALANCE_MONITOR__CLUSTERS__0__CLIENT__SASL_PASSWORD" in done.stderr


@pytest.mark.parametrize(
    "key",
    [
        "alerting.generator_url",
        "alerting.runbooks_url",
        "alerting.alertmanagers[0]",
        "page.public_url",
        "page.monitor_url",
    ],
)
def test_an_address_with_a_password_is_refused(key: str) -> None:
    assert template(ONE, settings={f"config.{key}": "https://host/path"}).returncode == 0
    done = template(ONE, settings={f"config.{key}": "https://jane:sesame@host/path"})
    assert f"config.{key.partition('[')[0]} holds a user or a password" in done.stderr
    assert "sesame" not in done.stderr


def test_the_chart_knows_the_client_properties_that_hold_no_secret() -> None:
    text = (CHART / "templates" / "_checks.tpl").read_text(encoding="utf-8")
    named = text.partition('define "rebalance-monitor.shownProperties" -}}\n')[2].partition("\n{{- end")[0]
    assert named.split("\n") == sorted(SHOWN)


def test_every_value_is_in_the_schema_and_every_default_fits() -> None:
    schema = yaml.safe_load((CHART / "values.schema.json").read_text(encoding="utf-8"))
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    assert schema["properties"].keys() - {"global"} == values.keys(), "global is Helm's own"
