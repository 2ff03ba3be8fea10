"""`make audit`: what is known against the locked packages, asked of OSV by pip-audit in an environment of its own.

Where OSV does not answer, one line says so, and what can be verified without it is: each entry of the locks is pinned
by hash, and what is installed has the locks' versions and the files that its wheels brought.
"""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
import urllib.error
import urllib.request
import venv
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

from lab.paths import BUILD, ROOT
from lab.supply.sbom import differences, locked, versions_of

OSV = "https://api.osv.dev/v1/query"
ANSWERS_WITHIN_S = 10.0
LOCK = ROOT / "requirements.lock"
"""Of which the image's lock is a part (tests/compose/test_files.py)."""
OWN_LOCK = ROOT / "requirements-audit.lock"
ENVIRONMENT = BUILD / "pip-audit"


def silence(url: str) -> str | None:
    """Why OSV does not answer; None where it does."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data=b"{}"), timeout=ANSWERS_WITHIN_S):
            return None
    except urllib.error.HTTPError as error:  # an empty question is a bad one, and so OSV says
        return None if error.code == 400 else f"HTTP {error.code}"
    except (OSError, ValueError) as error:
        return str(getattr(error, "reason", error))


def tool() -> Path:
    """pip-audit as its lock says, installed once."""
    stamp = ENVIRONMENT / "installed-lock"
    if not stamp.exists() or stamp.read_bytes() != OWN_LOCK.read_bytes():
        venv.EnvBuilder(with_pip=True, clear=True).create(ENVIRONMENT)
        pip = [str(ENVIRONMENT / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, "--require-hashes", "-r", str(OWN_LOCK)], check=True)
        stamp.write_bytes(OWN_LOCK.read_bytes())
    return ENVIRONMENT / "bin" / "pip-audit"


def changed(found: Distribution) -> Iterator[str]:
    """Files of a package that are not as its wheel brought them; launchers name the environment's own path."""
    for file in found.files or ():
        if file.hash is None or ".." in file.parts:
            continue
        try:
            digest = hashlib.new(file.hash.mode, Path(str(file.locate())).read_bytes()).digest()
        except OSError as error:
            yield f"{file}: {error.strerror}"
            continue
        if base64.urlsafe_b64encode(digest).decode().rstrip("=") != file.hash.value:
            yield f"{file}: changed since it was installed"


def unverified(text: str, found: Iterable[Distribution]) -> Iterator[str]:
    """What of a lock does not hold here, one sentence each."""
    try:
        lock = locked(text)
    except ValueError as error:
        yield str(error)
        return
    here = list(found)
    yield from differences(lock, versions_of(here))
    names = {entry.name for entry in lock}
    for one in here:
        if names & set(versions_of([one])):
            yield from changed(one)


def main() -> int:
    """0: nothing is known, or the hashes hold; 1: something is known or differs."""
    url = os.environ.get("OSV_URL", OSV)
    why = silence(url)
    if why is None:
        try:
            program = tool()
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"audit: pip-audit can't be installed in {ENVIRONMENT} ({error}); see above", file=sys.stderr)
            return 1
        asked = [str(program), "-r", str(LOCK), "--disable-pip", "--progress-spinner", "off"]
        return subprocess.run([*asked, "-s", "osv", "--osv-url", url], check=False).returncode
    text = LOCK.read_text(encoding="utf-8")
    wrong = list(unverified(text, distributions()))
    for sentence in wrong:
        print(f"audit: {sentence}", file=sys.stderr)
    held = f"differences: {len(wrong)}" if wrong else f"entries: {len(locked(text))}, all as installed"
    print(f"audit: OSV does not answer ({why}), so only the hashes of {LOCK.name} were verified: {held}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
