"""docker-compose.yml and what it mounts: valid, pinned, on loopback, without secrets, consistent with each other."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from rebalance_monitor.dashboards.places import PLACES
from rebalance_monitor.streaming.config.loading import load
from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docker-compose.yml"
COMPOSE = shutil.which("docker-compose")
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))["services"]
SHARED = {"kafka-format", "postgres", "prometheus", "alertmanager", "grafana"}
PROFILES = {
    "demo": SHARED | {"kafka", "worker-1", "worker-2", "worker-3", "monitor"},
    "sasl": SHARED | {"kafka-sasl", "kafka-acls", "worker-sasl", "monitor-sasl"},
    "tls": SHARED | {"kafka-certificates", "kafka-tls", "worker-tls", "monitor-tls"},
}
ONCE = {"kafka-format", "kafka-acls", "kafka-certificates"}
"""These end by themselves."""
PASSWORDS = ("POSTGRES", "GRAFANA", "KAFKA_ADMIN", "KAFKA_MONITOR", "KAFKA_WORKER")

each_service = pytest.mark.parametrize("name", sorted(SERVICES))
each_profile = pytest.mark.parametrize("profile", sorted(PROFILES))


def mounted(name: str) -> dict[str, Path]:
    """Path inside the container -> file of this repository."""
    pairs = [volume.split(":") for volume in SERVICES[name].get("volumes", [])]
    return {target[0]: ROOT / source for source, *target in pairs if source.startswith("./")}


def properties(path: Path) -> dict[str, str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


@pytest.mark.skipif(COMPOSE is None, reason="docker-compose is not installed (Debian package docker-compose)")
class TestComposeItself:
    def config(self, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
        assert COMPOSE
        clean = {key: value for key, value in os.environ.items() if not key.endswith("_PASSWORD")}
        nothing = folder / "empty.env"  # so that a user's own .env plays no part
        nothing.touch()
        command = [COMPOSE, "-f", str(FILE), "--env-file", str(nothing), "config"]
        return subprocess.run(
            command, capture_output=True, text=True, env={**clean, **environment}, check=False, timeout=PATIENCE_S
        )

    def test_accepts_the_file(self, tmp_path: Path) -> None:
        done = self.config(tmp_path, **{f"{name}_PASSWORD": f"of-{name}" for name in PASSWORDS})
        assert done.returncode == 0, done.stderr
        assert set(yaml.safe_load(done.stdout)["services"]) == set(SERVICES)

    @pytest.mark.parametrize("missing", PASSWORDS)
    def test_asks_for_the_password(self, tmp_path: Path, missing: str) -> None:
        done = self.config(tmp_path, **{f"{name}_PASSWORD": "given" for name in PASSWORDS if name != missing})
        assert done.returncode != 0
        assert f"write {missing}_PASSWORD=... into the file .env" in done.stderr


@each_profile
def test_a_profile_has_these_services_and_each_of_them_what_it_depends_on(profile: str) -> None:
    """A dependency outside is an error of `docker compose`."""
    enabled = {name for name, service in SERVICES.items() if profile in service.get("profiles", [])}
    assert enabled == PROFILES[profile]
    for name in enabled:
        assert set(SERVICES[name].get("depends_on", {})) <= enabled


def test_without_a_profile_nothing_starts() -> None:
    """Rather than PostgreSQL and Grafana alone, which would look as if something was watched."""
    assert set().union(*PROFILES.values()) == set(SERVICES)
    assert all("profiles" in service for service in SERVICES.values())


@each_profile
@pytest.mark.parametrize("shared", ["kafka", "monitor"])
def test_in_each_profile_one_service_has_the_name_that_the_others_use(profile: str, shared: str) -> None:
    named = [
        name
        for name in PROFILES[profile]
        if shared in SERVICES[name].get("networks", {}).get("default", {}).get("aliases", [])
    ]
    assert named == [shared if profile == "demo" else f"{shared}-{profile}"]


@each_service
def test_image_is_pinned_by_tag(name: str) -> None:
    assert re.fullmatch(r"[a-z0-9./-]+:v?\d+(\.\d+)+", SERVICES[name]["image"])


@each_service
def test_publishes_on_loopback_only(name: str) -> None:
    for port in SERVICES[name].get("ports", []):
        assert re.fullmatch(r"127\.0\.0\.1:(\d+):\1", port)


@each_service
def test_mounts_files_that_exist_read_only(name: str) -> None:
    for volume in SERVICES[name].get("volumes", []):
        if volume.startswith("./"):
            assert volume.endswith(":ro")
    for path in mounted(name).values():
        assert path.is_file()


@each_service
def test_every_lasting_service_says_whether_it_is_well(name: str) -> None:
    service = SERVICES[name]
    assert ("healthcheck" in service) == (name not in ONCE)
    assert (service["restart"] == "unless-stopped") == (name not in ONCE)
    for other, condition in service.get("depends_on", {}).items():
        if condition["condition"] == "service_healthy":
            assert "healthcheck" in SERVICES[other]
        assert (condition["condition"] == "service_completed_successfully") == (other in ONCE)


def bytes_of(limit: str) -> int:
    return int(limit[:-1]) * {"m": 2**20, "g": 2**30}[limit[-1]]


@each_service
def test_may_do_no_more_than_it_needs(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["read_only"] is True
    assert ("cap_add" in service) == (name == "postgres"), "the only image that begins as root"
    assert bytes_of(service["mem_limit"]) > 0


@each_service
def test_java_has_room_beside_its_heap_and_may_run_what_it_unpacks(name: str) -> None:
    service = SERVICES[name]
    java = service["image"].startswith(("apache/kafka:", "rebalance-monitor:"))
    assert ("/tmp:exec" in service.get("tmpfs", [])) == java
    for heap in re.findall(r"-Xmx(\d+m)", " ".join(service.get("entrypoint", []))):
        assert bytes_of(service["mem_limit"]) >= 2 * bytes_of(heap)


def test_the_monitor_has_the_memory_that_it_has_elsewhere() -> None:
    chart = yaml.safe_load((ROOT / "deploy" / "helm" / "rebalance-monitor" / "values.yaml").read_text(encoding="utf-8"))
    unit = (ROOT / "deploy" / "systemd" / "rebalance-monitor.service").read_text(encoding="utf-8")
    (megabytes,) = re.findall(r"^MemoryMax=(\d+)M$", unit, re.MULTILINE)
    for name in ("monitor", "monitor-sasl", "monitor-tls"):
        assert SERVICES[name]["mem_limit"] == f"{megabytes}m"
    assert chart["resources"]["limits"]["memory"] == f"{megabytes}Mi"


@each_profile
def test_the_page_says_how_much_memory_all_may_take(profile: str) -> None:
    lasting = [bytes_of(SERVICES[name]["mem_limit"]) for name in PROFILES[profile] - ONCE]
    page = (ROOT / "docs" / "compose.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| `{profile}` .*$", page, re.MULTILINE)
    assert row.endswith(f"| {sum(lasting) / 2**30:.1f} GiB |")


@each_profile
def test_ports_differ_between_services(profile: str) -> None:
    ports = [port for name in PROFILES[profile] for port in SERVICES[name].get("ports", [])]
    assert len(ports) == len(set(ports))


def test_no_password_is_written_down() -> None:
    files = [FILE, *(ROOT / "conf" / "compose").iterdir()]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    given = r"\$\{(\w+)_PASSWORD:\?write \1_PASSWORD=[^}]*\}|\"\$\{env:KAFKA_PASSWORD\}\"|\"\$GRAFANA_PASSWORD\""
    others, count = re.subn(given, "", text)
    assert count > len(PASSWORDS)
    written = r"(PASSWORD|SECRET|TOKEN):[ \t]*\S|\b(password|user_\w+)=[^\s,;\]]|://\w+:[^@\s]+@"
    assert [line for line in others.splitlines() if re.search(written, line)] == []
    assert ".env" in (ROOT / ".gitignore").read_text(encoding="utf-8").split()


KAFKAS = sorted(name for name, service in SERVICES.items() if service["image"].startswith("apache/kafka:"))


@pytest.mark.parametrize("name", KAFKAS)
def test_kafka_programs_are_started_explicitly_with_mounted_files(name: str) -> None:
    """Each file that a command, or the script that it runs, names is mounted, and no other."""
    service, files = SERVICES[name], mounted(name)
    texts = [*service["entrypoint"], *service.get("command", [])]
    texts += [path.read_text(encoding="utf-8") for path in files.values() if path.suffix == ".sh"]
    text = "\n".join(texts)
    assert set(re.findall(r"/etc/kafka/[\w-]+\.\w+", text)) == set(files)
    if "java " in text or service["entrypoint"][0] == "java":
        assert "/opt/kafka/libs/*" in text
    if service.get("command"):
        assert ("kafka.Kafka <(" in text) == name.startswith("kafka")


@pytest.mark.parametrize("name", sorted(name for name in SERVICES if name.startswith("worker-")))
def test_worker_is_reachable_under_its_name(name: str) -> None:
    host, _, port = SERVICES[name]["environment"]["LISTENER"].partition(":")
    assert host == name
    assert SERVICES[name]["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert "$${LISTENER/:/\\/} " in SERVICES[name]["healthcheck"]["test"][-1]


def test_monitor_knows_what_the_workers_are_configured_with() -> None:
    dsn = {"REBALANCE_MONITOR__DATABASE__DSN": "postgresql://monitor:x@postgres:5432/monitor"}
    settings = load(ROOT / "conf" / "compose" / "monitor.yaml", dsn)
    worker = properties(ROOT / "conf" / "compose" / "worker.properties")
    (cluster,) = settings.clusters
    connect = cluster.core().connect[worker["group.id"]]
    assert cluster.bootstrap_servers == worker["bootstrap.servers"]
    assert connect.config_topic == worker["config.storage.topic"]
    assert connect.status_topic == worker["status.storage.topic"]
    assert connect.max_delay_ms == int(worker["scheduled.rebalance.max.delay.ms"])
    assert connect.release == SERVICES["worker-1"]["image"].partition(":")[2]
    assert cluster.session_timeout_ms == int(worker["session.timeout.ms"])
    assert f"127.0.0.1:{settings.http.port}:{settings.http.port}" in SERVICES["monitor"]["ports"]


def test_grafana_gets_every_value_that_its_provisioning_asks_for() -> None:
    files = mounted("grafana")
    wanted = {
        name
        for target, path in files.items()
        if "/provisioning/" in target
        for name in re.findall(r"\$\{(\w+)\}", path.read_text(encoding="utf-8"))
    }
    assert wanted <= set(SERVICES["grafana"]["environment"])
    (provider,) = yaml.safe_load(files["/etc/grafana/provisioning/dashboards/rebalance-monitor.yml"].read_text())[
        "providers"
    ]
    folder = provider["options"]["path"]
    assert {target for target in files if target.startswith(folder)} == {f"{folder}/{place.file}" for place in PLACES}


def test_image_is_installed_from_a_part_of_the_one_lock() -> None:
    def entries(file: str) -> set[str]:
        text = (ROOT / file).read_text(encoding="utf-8")
        return set(re.split(r"\n(?=[a-z0-9])", text.strip()))

    part = entries("requirements-run.lock")
    assert part < entries("requirements.lock")
    assert {"pyspark", "confluent-kafka", "psycopg-binary", "httpx"} <= {entry.partition("==")[0] for entry in part}
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert "--require-hashes -r requirements-run.lock" in dockerfile
    for source in re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile, re.MULTILINE):
        assert all((ROOT / name).exists() for name in source.split())
