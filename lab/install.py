"""Create `.venv` from `requirements.lock`; nothing happens when the lock has not changed since the last time.

Runs under the user's own Python before anything is installed, so it uses the standard library only.
"""

from __future__ import annotations

import hashlib
import os
import queue
import re
import subprocess
import sys
import threading
import time
import venv
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
STAMP = ENVIRONMENT / "installed-lock"
MINIMUM = (3, 11)
PROGRESS_EVERY_S = 10.0
DOWNLOADS = re.compile(r"\s+Downloading (\S+) \(([\d.]+) (kB|MB|GB|bytes)\)")
PER_MB = {"bytes": 1e-6, "kB": 1e-3, "MB": 1.0, "GB": 1e3}


def fingerprint() -> str:
    """Hash of all that decides what gets installed: the lock, the project's metadata, the interpreter, the place."""
    parts = [(ROOT / name).read_bytes() for name in ("requirements.lock", "pyproject.toml")]
    parts += [sys.version.encode(), str(ROOT).encode()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


# What pip's long output says in the cases that a user can mend: (pattern, cause, what to do).
CAUSES = (
    ("No space left on device", "the disk is full", "free some space"),
    ("CERTIFICATE_VERIFY_FAILED", "a certificate is not trusted", "give pip the right one, e.g. through PIP_CERT"),
    ("NewConnectionError|ProxyError|ConnectTimeout|ReadTimeout|Connection reset|Network is unreachable",
     "the package index can't be reached", "check the network, or the proxy and index that pip is told to use"),
    ("DO NOT MATCH THE HASHES", "a package differs from requirements.lock", "check which index pip is told to use"),
)  # fmt: skip


def refuse(sentence: str) -> SystemExit:
    """One sentence on stderr and exit code 2."""
    sys.stderr.write(f"install: {sentence}\n")
    return SystemExit(2)


def step(what: str, packages: int, command: list[str]) -> None:
    """Run one installation step; on failure stop with one sentence, behind pip's own words if it is unknown."""
    began = time.monotonic()
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace",
    )  # fmt: skip
    try:
        said = "".join(followed(ticking(process.stdout or ()), Progress(what, packages), time.monotonic))
    except BaseException:
        process.terminate()
        raise
    if process.wait() != 0:
        for pattern, cause, to_do in CAUSES:
            if re.search(pattern, said):
                raise refuse(f"{what}: {cause}; {to_do}, then repeat")
        sys.stderr.write(said[-4000:])
        raise refuse(f"{what} failed (see above); check the network and the free disk space, then repeat")
    print(f"install: {what}: {time.monotonic() - began:.0f} s", flush=True)


def ticking(lines: Iterable[str]) -> Iterator[str | None]:
    """The lines as they come, and None for each second without one: pip says nothing while it downloads a file."""
    came: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def read() -> None:
        try:
            for line in lines:
                came.put(line)
        finally:
            came.put(None)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    while True:
        try:
            line = came.get(timeout=1.0)
        except queue.Empty:
            yield None
            continue
        if line is None:
            return
        yield line


@dataclass
class Progress:
    """How far pip is, by its lines. `packages`: how many there are to be, without those that are for another system or
    Python, once pip has told. `file`: what it downloads now, since when and how large it is."""

    what: str
    packages: int
    found: int = 0
    done_mb: float = 0.0
    file: str = ""
    file_mb: float = 0.0
    since_s: float = 0.0
    unpacks: bool = False

    def take(self, line: str, now_s: float) -> None:
        """A line of pip's: whatever it is, the download before it is over."""
        self.found += line.startswith("Collecting ")
        self.packages -= line.startswith("Ignoring ")
        self.unpacks = self.unpacks or line.startswith("Installing collected packages")
        self.done_mb += self.file_mb
        begun = DOWNLOADS.match(line)
        self.file, self.file_mb, self.since_s = "", 0.0, now_s
        if begun is not None:
            self.file, self.file_mb = begun[1].rpartition("/")[2], float(begun[2]) * PER_MB[begun[3]]

    def text(self, now_s: float) -> str:
        if not self.found:
            return f"{self.what}: unpacking" if self.unpacks else f"{self.what}: nothing to download yet"
        counted = f"{self.what}: {self.found} of {self.packages} packages, {self.done_mb:,.0f} MB downloaded"
        if self.unpacks:
            return f"{counted}; unpacking"
        if not self.file:
            return counted
        return f"{counted}; {self.file} ({self.file_mb:,.1f} MB) for {now_s - self.since_s:.0f} s now"


def followed(lines: Iterable[str | None], progress: Progress, clock_s: Callable[[], float]) -> Iterator[str]:
    """The lines as pip writes them. A line of our own says how far it is: at first, every ten seconds whether pip says
    anything or not, and before it unpacks."""
    print(f"install: {progress.what} …", flush=True)
    said_s = clock_s()
    for line in lines:
        unpacked, now_s = progress.unpacks, clock_s()
        if line is not None:
            progress.take(line, now_s)
        if progress.unpacks is not unpacked or now_s - said_s >= PROGRESS_EVERY_S:
            said_s = now_s
            print(f"install: {progress.text(now_s)}", flush=True)
        if line is not None:
            yield line


def main() -> int:
    """Install when needed; the stamp is written last, so an interrupted run is repeated."""
    if sys.version_info < MINIMUM:
        raise refuse(f"Python {sys.version.split()[0]} is too old; install 3.11 or later, or name it: make PYTHON=…")
    wanted = fingerprint()
    if STAMP.exists() and STAMP.read_text() == wanted:
        return 0
    STAMP.unlink(missing_ok=True)
    python = ENVIRONMENT / "bin" / "python"
    try:
        venv.EnvBuilder(with_pip=True, clear=not python.exists()).create(ENVIRONMENT)
    except (OSError, subprocess.CalledProcessError) as error:
        raise refuse(
            f"no virtual environment could be made in {ENVIRONMENT} ({error}); free some space, or install the package "
            "with Python's venv module"
        ) from None
    pip = [str(python), "-m", "pip", "install", "--progress-bar", "off", "--disable-pip-version-check"]
    locked = len(re.findall(r"^\w\S*==", (ROOT / "requirements.lock").read_text(encoding="utf-8"), re.MULTILINE))
    step("locked packages (about 1.3 GB)", locked, [*pip, "--require-hashes", "-r", "requirements.lock"])
    step("this project", 1, [*pip, "--no-deps", "-e", "."])
    STAMP.write_text(wanted)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
