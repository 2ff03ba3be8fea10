"""The commands of docs/deploy.md, executed: helm for real, without a cluster; what asks a cluster, a container engine
or systemd is a stand-in that notes what it was asked, and each file that it was given must be there.
"""

import re
import stat
import subprocess
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from lab import helm
from lab.paths import ROOT
from rebalance_monitor.streaming.config.loading import load
from tests.deploy.rendered import container, environment, resources

pytestmark = pytest.mark.helm
PAGE = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^```bash\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
(VALUES,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
STAND_INS = ("docker", "kubectl", "systemctl")
NOTES = """#!/bin/sh
echo "$(basename "$0") $*" >> "$ASKED"
"""


def stand_in(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, encoding="utf-8")
    (folder / name).chmod(stat.S_IRWXU)


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A clone's folder with the values of the page, and programs under `bin`."""
    clone = tmp_path / "clone"
    clone.mkdir()
    for name in ("deploy", "Dockerfile", "requirements-run.lock", "pyproject.toml", "dashboards"):
        (clone / name).symlink_to(ROOT / name)
    (clone / "values.yaml").write_text(VALUES, encoding="utf-8")
    (clone / "monitor.yaml").write_text("clusters: []\n", encoding="utf-8")
    (clone / "secrets.env").write_text("REBALANCE_MONITOR__DATABASE__DSN=postgresql://db/monitor\n", encoding="utf-8")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in STAND_INS:
        stand_in(programs, name, NOTES)
    stand_in(programs, "sudo", '#!/bin/sh\nexec "$@"\n')
    stand_in(programs, "helm", f'#!/bin/sh\nexec {helm.build()} "$@" --dry-run=client\n')
    return tmp_path


def execute(machine: Path, text: str) -> tuple[str, list[str]]:
    """What a block of commands prints, and what stand-ins were asked. /opt and /etc lie in the machine's folder."""
    asked = machine / "asked"
    asked.unlink(missing_ok=True)
    here = re.sub(r"(?<=\s)/(opt|etc)/", rf"{machine}/\1/", text)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", here], cwd=machine / "clone", capture_output=True, text=True, check=False,
        env={"PATH": f"{machine / 'bin'}:/usr/bin:/bin", "HOME": "/nowhere", "ASKED": str(asked)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, asked.read_text(encoding="utf-8").splitlines() if asked.exists() else []


def test_every_block_is_executed_here() -> None:
    firsts = [block.split(maxsplit=2)[:2] for block in COMMANDS]
    assert firsts == [
        ["docker", "build"],
        ["kubectl", "--namespace"],
        ["helm", "install"],
        ["kubectl", "--namespace"],
        ["kubectl", "--namespace"],
        ["sudo", "python3"],
    ]


def test_helm_installs_the_values_of_the_page(machine: Path) -> None:
    said, asked = execute(machine, COMMANDS[2])
    assert asked == []
    kinds = re.findall(r"^kind: (\w+)$", said, re.MULTILINE)
    assert {"Deployment", "Service", "ConfigMap", "PodMonitor", "PrometheusRule"} <= set(kinds)
    assert "deploy/monitor-rebalance-monitor" in said.partition("NOTES:")[2]


def test_the_values_of_the_page_are_sound_for_monitor_and_kubernetes(machine: Path) -> None:
    made = resources(machine / "clone" / "values.yaml")
    for kind in ("Deployment", "Service", "ConfigMap"):
        kubernetes_validate.validate(made[kind], kubernetes_validate.latest_version(), strict=True)
    file = machine / "monitor.yaml"
    file.write_text(made["ConfigMap"]["data"]["monitor.yaml"], encoding="utf-8")
    settings = load(file, {**environment(made["Deployment"]), "REBALANCE_MONITOR__DATABASE__DSN": "postgresql://db/m"})
    (cluster,) = settings.clusters
    assert cluster.librdkafka()["sasl.password"] == "rebalance-monitor/password"


def test_the_image_that_is_pushed_is_the_one_that_is_deployed(machine: Path) -> None:
    _, asked = execute(machine, COMMANDS[0])
    image = container(resources(machine / "clone" / "values.yaml")["Deployment"])["image"]
    assert asked == [f"docker build -t {image} .", f"docker push {image}"]


def test_what_kubectl_is_asked_fits_what_helm_installs(machine: Path) -> None:
    made = resources(machine / "clone" / "values.yaml")
    user = yaml.safe_load((ROOT / "deploy" / "strimzi" / "kafka-user.yaml").read_text(encoding="utf-8"))
    names = {value for value in environment(made["Deployment"]).values() if "/" in value}
    _, (secret,) = execute(machine, COMMANDS[1])
    created = re.fullmatch(r"kubectl --namespace kafka create secret generic (\S+) --from-literal=(\w+)=\S+", secret)
    assert created
    assert names == {f"{created[1]}/{created[2]}", f"{user['metadata']['name']}/password"}
    _, (check,) = execute(machine, COMMANDS[3])
    assert f" deploy/{made['Deployment']['metadata']['name']} -- rebalance-monitor config check --connect " in check
    assert check.endswith(container(made["Deployment"])["args"][-1])
    _, (applied,) = execute(machine, COMMANDS[4])
    assert (ROOT / applied.split()[-1]).samefile(ROOT / "deploy" / "strimzi" / "kafka-user.yaml")
    cluster = user["metadata"]["labels"]["strimzi.io/cluster"]
    assert made["ConfigMap"]["data"]["monitor.yaml"].count(f"{cluster}-kafka-bootstrap") == 1


def test_the_commands_for_systemd_lay_everything_where_the_unit_expects_it(machine: Path) -> None:
    """pip alone is a stand-in: tests/packaging/test_dockerfile.py has the same two installations done."""
    (machine / "etc" / "systemd" / "system").mkdir(parents=True)
    block = COMMANDS[5].replace("/opt/rebalance-monitor/bin/pip", f"{machine / 'bin' / 'pip'}")
    stand_in(machine / "bin", "pip", NOTES)
    _, asked = execute(machine, block)
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    for line in asked[:2]:
        wanted = line.removeprefix("pip ").replace("install ", "install --no-cache-dir ")
        assert f"/opt/rebalance-monitor/bin/pip {wanted}" in dockerfile
    assert asked[2:] == ["systemctl daemon-reload", "systemctl enable --now rebalance-monitor"]
    unit = machine / "etc" / "systemd" / "system" / "rebalance-monitor.service"
    program, _, _, config = re.findall(r"^ExecStart=(.+)$", unit.read_text(encoding="utf-8"), re.MULTILINE)[0].split()
    assert (machine / Path(program).parent.relative_to("/") / "python3").exists()
    assert (machine / Path(config).relative_to("/")).read_text(encoding="utf-8") == "clusters: []\n"
    secrets = machine / "etc" / "rebalance-monitor" / "secrets.env"
    assert stat.S_IMODE(secrets.stat().st_mode) == stat.S_IRUSR | stat.S_IWUSR
