"""The image's software bill of materials, in CycloneDX's JSON: Python packages, and the jars inside them.

Runs in the image's build before anything of ours can be imported, so it uses the standard library only. Standard output
is the same for the same files: no time, no serial number, no address of a package registry.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any, NamedTuple

OURS = "rebalance-monitor"
_ENTRY = re.compile(r"^([\w.-]+)==([^\s;]+)( ;[^\\\n]*)?((?:\s*\\\n\s+--hash=sha256:[0-9a-f]{64})*)$", re.MULTILINE)
_JAR = re.compile(r"(.+?)-(\d.*)")


class Locked(NamedTuple):
    """One entry of a lock; with a marker, other interpreters and systems leave it out."""

    name: str
    version: str
    has_marker: bool
    sha256: tuple[str, ...]


def locked(text: str) -> list[Locked]:
    """The entries of a lock. An entry that is not pinned with at least one hash raises ValueError."""
    found = [
        Locked(name, version, bool(marker), tuple(re.findall(r"[0-9a-f]{64}", hashes)))
        for name, version, marker, hashes in _ENTRY.findall(text)
    ]
    starts = [line.split()[0] for line in text.splitlines() if line[:1].strip() and not line.startswith("#")]
    pinned = {f"{entry.name}=={entry.version}" for entry in found if entry.sha256}
    if loose := [start for start in starts if start not in pinned]:
        raise ValueError(f"{loose[0]}: no version with a SHA-256 hash; write the lock anew with `make lock`")
    return found


def versions_of(found: Iterable[Distribution]) -> dict[str, str]:
    """Name -> version, both as locks write them (some packages call a version v1.2)."""
    return {re.sub(r"[-_.]+", "-", str(one.metadata["Name"])).lower(): one.version.removeprefix("v") for one in found}


def differences(lock: Iterable[Locked], installed: dict[str, str]) -> Iterator[str]:
    """What of a lock is not installed in its version."""
    versions: dict[str, list[Locked]] = {}
    for entry in lock:
        versions.setdefault(entry.name, []).append(entry)
    for name, entries in versions.items():
        have = installed.get(name)
        if have is None and any(not entry.has_marker for entry in entries):
            yield f"{name}: locked, but not installed"
        elif have is not None and have not in {entry.version for entry in entries}:
            yield f"{name}: {have} is installed, locked is {entries[0].version}"


def package(name: str, version: str, sha256: Iterable[str]) -> dict[str, Any]:
    """One Python package. Its hashes are those of the files that may be installed, so they belong to a reference."""
    purl = f"pkg:pypi/{name}@{version}"
    hashes = [{"alg": "SHA-256", "content": content} for content in sha256]
    where = [{"type": "distribution", "url": purl, "hashes": hashes}] if hashes else []
    told = {"type": "library", "name": name, "version": version, "purl": purl}
    return told | ({"externalReferences": where} if where else {})


def maven(group: str, name: str, version: str) -> dict[str, Any]:
    purl = f"pkg:maven/{group}/{name}@{version}"
    return {"type": "library", "group": group, "name": name, "version": version, "purl": purl}


def coordinates(jar: Path) -> Iterator[tuple[str, str, str]]:
    """Group, name and version of each project whose classes are in a jar, where the build noted them."""
    with zipfile.ZipFile(jar) as content:
        for member in sorted(content.namelist()):
            if member.startswith("META-INF/maven/") and member.endswith("/pom.properties"):
                lines = content.read(member).decode("utf-8", "replace").splitlines()
                noted = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
                values = tuple(noted.get(key, "").strip() for key in ("groupId", "artifactId", "version"))
                if all(values):
                    yield values[0], values[1], values[2]


def jar_component(jar: Path) -> dict[str, Any]:
    """A jar under its coordinates, or under its file's name where it has none; what it bundles is inside."""
    noted = list(dict.fromkeys(coordinates(jar)))
    own = next((one for one in noted if f"{jar.stem}-".startswith(f"{one[1]}-{one[2]}-")), None)
    if own is not None:
        told = maven(*own)
    else:
        parts = _JAR.fullmatch(jar.stem)
        told = {"type": "library", "name": parts[1] if parts else jar.stem, "version": parts[2] if parts else ""}
    told["hashes"] = [{"alg": "SHA-256", "content": hashlib.sha256(jar.read_bytes()).hexdigest()}]
    told["properties"] = [{"name": f"{OURS}:file", "value": jar.name}]
    bundled = [maven(*one) for one in noted if one != own]
    return told | ({"components": bundled} if bundled else {})


def bill(lock: Iterable[Locked], installed: dict[str, str], jars: Iterable[Path]) -> dict[str, Any]:
    """What is installed, with the lock's hashes; what the lock does not have (pip, setuptools) has none."""
    hashes = {(entry.name, entry.version): entry.sha256 for entry in lock}
    packages = [
        package(name, version, hashes.get((name, version), ()))
        for name, version in sorted(installed.items())
        if name != OURS
    ]
    ours = {"type": "application", "name": OURS, "version": installed.get(OURS, "")}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": ours},
        "components": packages + [jar_component(jar) for jar in sorted(jars, key=lambda jar: jar.name)],
    }


def main(arguments: list[str]) -> int:
    """`sbom.py LOCK`: write the bill of this interpreter's environment to standard output."""
    if len(arguments) != 1:
        sys.stderr.write("sbom: give the lock that was installed, as in `sbom.py requirements-run.lock`\n")
        return 2
    found = list(distributions())
    installed = versions_of(found)
    try:
        lock = locked(Path(arguments[0]).read_text(encoding="utf-8"))
        if problem := next(differences(lock, installed), None):
            raise ValueError(f"{problem}; install with `pip install --require-hashes -r {arguments[0]}`")
    except (OSError, ValueError) as error:
        sys.stderr.write(f"sbom: {error}\n")
        return 2
    jars = {Path(str(file.locate())) for one in found for file in one.files or () if file.suffix == ".jar"}
    json.dump(bill(lock, installed, [jar for jar in jars if jar.is_file()]), sys.stdout, indent=1)
    sys.stdout.write("\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
