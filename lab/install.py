"""Create `.venv` from `requirements.lock`; nothing happens when the lock has not changed since the last time.

Runs under the user's own Python before anything is installed, so it uses the standard library only.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
STAMP = ENVIRONMENT / "installed-lock"
MINIMUM = (3, 11)
PROGRESS_EVERY_S = 10.0


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


def step(what: str, command: list[str]) -> None:
    """Run one installation step; on failure stop with one sentence, behind pip's own words if it is unknown."""
    print(f"install: {what} …", flush=True)
    began = time.monotonic()
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        said = "".join(followed(process.stdout or (), what, time.monotonic))
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


def followed(lines: Iterable[str], what: str, clock_s: Callable[[], float]) -> Iterator[str]:
    """The lines as pip writes them; every ten seconds, and before it unpacks, a line says how far it is."""
    fetched, said_s = 0, clock_s()
    for line in lines:
        fetched += line.startswith("Collecting ")
        unpacks = line.startswith("Installing collected packages")
        if unpacks or clock_s() - said_s >= PROGRESS_EVERY_S:
            said_s = clock_s()
            print(f"install: {what}: {fetched} packages found{', unpacking' if unpacks else ''}", flush=True)
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
    step("locked packages (about 1.3 GB)", [*pip, "--require-hashes", "-r", "requirements.lock"])
    step("this project", [*pip, "--no-deps", "-e", "."])
    STAMP.write_text(wanted)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
