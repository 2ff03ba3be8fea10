"""What is wrong with a certificate's files is one sentence that names the file and what to do."""

import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.config.certificates import Certificate, unusable
from rebalance_monitor.streaming.config.sections import TlsSection
from rebalance_monitor.streaming.config.settings import Settings
from tests.certificates import Authority, Issued

AUTHORITY = Authority.made()
ONE, OTHER = AUTHORITY.issue("one"), AUTHORITY.issue("other")
Files = dict[str, str]


def no_certificate(files: Files) -> None:
    Path(files["certificate"]).unlink()


def no_key(files: Files) -> None:
    Path(files["key"]).unlink()


def der(files: Files) -> None:
    Path(files["certificate"]).write_bytes(ssl.PEM_cert_to_DER_cert(ONE.pem.decode()))


def no_key_in_it(files: Files) -> None:
    Path(files["key"]).write_bytes(ONE.pem)


def encrypted(files: Files) -> None:
    Path(files["key"]).write_bytes(ONE.key(b"open sesame"))


def of_another(files: Files) -> None:
    Path(files["key"]).write_bytes(OTHER.key())


def cut_short(files: Files) -> None:
    Path(files["certificate"]).write_bytes(ONE.pem[:200])


def authority_first(files: Files) -> None:
    Path(files["certificate"]).write_bytes(AUTHORITY.own.pem + ONE.pem)


MENDS = pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (no_certificate, "page.tls.certificate: {certificate} cannot be read (No such file or directory); correct"),
        (no_key, "page.tls.key: {key} cannot be read (No such file or directory); correct the path"),
        (der, "page.tls.certificate: {certificate} holds no certificate in PEM form; write one, for example with: "),
        (no_key_in_it, "page.tls.key: {key} holds no private key in PEM form; write one, for example with: "),
        (encrypted, "page.tls.key: {key} is encrypted; give a key without a passphrase: openssl pkey -in {key}"),
        (of_another, "page.tls: the key in {key} does not belong to the first certificate in {certificate}; give"),
        (authority_first, "page.tls: the key in {key} does not belong to the first certificate in {certificate}; give"),
        (cut_short, "page.tls: OpenSSL does not take the certificate in {certificate} with the key in {key} ("),
    ],
)


@MENDS
@pytest.mark.parametrize("command", [["config", "check"], ["run"], ["serve"]], ids=" ".join)
def test_files_that_no_server_can_use_are_one_sentence(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    spoil: Callable[[Files], None],
    sentence: str,
    command: list[str],
) -> None:
    files = ONE.files(tmp_path)
    spoil(files)
    told = {
        "clusters": [{"name": "a", "bootstrap_servers": "127.0.0.1:1"}],
        "database": {"dsn": "postgresql://127.0.0.1:1/x"},
        "page": {"tls": files},
    }
    config = tmp_path / "monitor.yaml"
    config.write_text(yaml.safe_dump(told))
    assert main([*command, "--config", str(config)]) == 2
    said = capsys.readouterr().err
    assert sentence.format(**files) in said
    assert said.count("\n") == 1


def test_a_folder_and_a_file_without_rights_are_sentences_too(tmp_path: Path) -> None:
    files = {**ONE.files(tmp_path), "certificate": str(tmp_path)}
    (problem,) = unusable(Settings.model_validate({"http": {"tls": files}}))
    assert problem.startswith(f"http.tls.certificate: {tmp_path} cannot be read (Is a directory); ")


def test_a_page_that_is_not_served_needs_no_files() -> None:
    missing = {"certificate": "/nowhere/tls.crt", "key": "/nowhere/tls.key"}
    assert len(unusable(Settings.model_validate({"http": {"tls": missing}, "page": {"tls": missing}}))) == 2
    assert unusable(Settings.model_validate({"page": {"enabled": False, "tls": missing}})) == []


def test_one_file_alone_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "monitor.yaml"
    config.write_text("page: {tls: {certificate: /etc/tls.crt}}")
    assert main(["config", "check", "--config", str(config)]) == 2
    assert "page.tls.key: this key is missing; add it" in capsys.readouterr().err


def shown(certificate: Certificate) -> bytes:
    """What a client without a server's name is shown, in DER; no sockets are needed for a handshake."""
    asks = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    asks.check_hostname, asks.verify_mode = False, ssl.CERT_NONE
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = asks.wrap_bio(to_client, to_server)
    server = certificate.context.wrap_bio(to_server, to_client, server_side=True)
    for side in (client, server, client, server):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    der_form = client.getpeercert(binary_form=True)
    assert der_form is not None
    return der_form


def in_der(issued: Issued) -> bytes:
    return ssl.PEM_cert_to_DER_cert(issued.pem.decode())


def test_each_change_is_read_once_and_a_bad_one_leaves_what_was(tmp_path: Path) -> None:
    reports: list[str | None] = []
    certificate = Certificate("http.tls", TlsSection.model_validate(ONE.files(tmp_path)), reports.append)
    assert [shown(certificate), shown(certificate)] == [in_der(ONE)] * 2
    assert reports == []
    OTHER.files(tmp_path)
    assert [shown(certificate), shown(certificate)] == [in_der(OTHER)] * 2
    assert reports == [None]
    (tmp_path / "tls.crt").write_bytes(ONE.pem)  # the key follows in a moment, as when two files are copied
    assert [shown(certificate), shown(certificate)] == [in_der(OTHER)] * 2
    _, problem = reports
    assert problem is not None
    assert problem.startswith("http.tls: the key in ")
    assert problem.endswith("; the certificate read before stays in use")
    (tmp_path / "tls.key").write_bytes(ONE.key())
    assert shown(certificate) == in_der(ONE)
    assert reports == [None, problem, None]


def test_files_behind_a_link_that_is_turned_are_read_anew(tmp_path: Path) -> None:
    """As Kubernetes renews what it mounts."""
    ONE.files(tmp_path / "first")
    OTHER.files(tmp_path / "second")
    link = tmp_path / "data"
    link.symlink_to("first")
    tls = TlsSection(certificate=link / "tls.crt", key=link / "tls.key")
    certificate = Certificate("http.tls", tls, lambda problem: None)
    assert shown(certificate) == in_der(ONE)
    (tmp_path / "next").symlink_to("second")
    (tmp_path / "next").replace(link)
    assert shown(certificate) == in_der(OTHER)
