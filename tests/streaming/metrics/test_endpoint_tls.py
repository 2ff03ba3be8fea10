"""The job's endpoint over TLS: real sockets, and certificates that are made here."""

import logging
import socket
import ssl
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from lab.asking import local
from rebalance_monitor.streaming.cli.config_ports import ports
from rebalance_monitor.streaming.config.certificates import Certificate, Pinned
from rebalance_monitor.streaming.config.sections import TlsSection
from rebalance_monitor.streaming.config.settings import Settings
from rebalance_monitor.streaming.metrics.prometheus import Exporter
from rebalance_monitor.streaming.web.upstream import StreamingJob
from tests.certificates import FROM, HOST, Authority
from tests.waiting import PATIENCE_S

AUTHORITY = Authority.made()
ONE, OTHER = AUTHORITY.issue("one"), AUTHORITY.issue("other")


@pytest.fixture
def tls(tmp_path: Path) -> TlsSection:
    return TlsSection.model_validate(ONE.files(tmp_path))


@pytest.fixture
def job(tls: TlsSection) -> Iterator[Exporter]:
    context = Certificate("http.tls", tls, lambda problem: None).context
    made = Exporter(0, clusters=["a"], tls=context)
    made.start()
    yield made
    made.stop()


def port(job: Exporter) -> int:
    return int(job.url.rpartition(":")[2])


def trusting(folder: Path) -> ssl.SSLContext:
    """As a scraper with the authority's file."""
    return ssl.create_default_context(cafile=AUTHORITY.file(folder))


def serial_shown(job: Exporter, folder: Path) -> int:
    """Of the certificate that a new connection is shown."""
    with (
        socket.create_connection((HOST, port(job)), timeout=PATIENCE_S) as plain,
        trusting(folder).wrap_socket(plain, server_hostname=HOST) as secured,
    ):
        told = secured.getpeercert()
    assert told is not None
    return int(str(told["serialNumber"]), 16)


def test_a_scraper_that_trusts_the_authority_reads_metrics_and_probes(job: Exporter, tmp_path: Path) -> None:
    assert job.url.startswith("https://")
    with httpx.Client(verify=trusting(tmp_path), trust_env=False, base_url=job.url) as asks:
        assert "rebalance_monitor_ready" in asks.get("/metrics").text
        assert asks.get("/healthz").text == "ok\n"
        assert asks.get("/readyz").status_code == 503
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        local().get(f"{job.url}/metrics", timeout=PATIENCE_S)


def test_new_connections_get_the_new_certificate(job: Exporter, tmp_path: Path) -> None:
    assert serial_shown(job, tmp_path) == ONE.certificate.serial_number
    OTHER.files(tmp_path)
    assert serial_shown(job, tmp_path) == OTHER.certificate.serial_number
    (tmp_path / "tls.key").unlink()
    assert serial_shown(job, tmp_path) == OTHER.certificate.serial_number


def test_older_tls_is_refused(job: Exporter, tls: TlsSection) -> None:
    assert Certificate("http.tls", tls, lambda problem: None).context.minimum_version == ssl.TLSVersion.TLSv1_2
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    with (
        socket.create_connection((HOST, port(job)), timeout=PATIENCE_S) as plain,
        pytest.raises(ssl.SSLError, match=r"(?i)protocol"),
    ):
        old.wrap_socket(plain)


def test_who_says_nothing_or_speaks_no_tls_holds_up_nobody(
    job: Exporter, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.INFO), closing(socket.create_connection((HOST, port(job)))):
        with pytest.raises(httpx.HTTPError):
            local().get(f"http://{HOST}:{port(job)}/metrics", timeout=PATIENCE_S)
        assert serial_shown(job, tmp_path) == ONE.certificate.serial_number
    assert caplog.records == []
    assert capfd.readouterr().err == ""


def test_config_check_knows_the_job_that_holds_the_port(job: Exporter, tls: TlsSection) -> None:
    told = {
        "clusters": [{"name": "a", "bootstrap_servers": "k:1"}],
        "http": {"port": port(job), "tls": tls.model_dump(mode="json")},
        "page": {"enabled": False},
    }
    held = f"http.port {HOST}:{port(job)} (held by the job that runs)"
    assert list(ports(Settings.model_validate(told))) == [(held, None)]


def test_the_page_trusts_the_certificate_in_the_file_and_no_other(job: Exporter, tls: TlsSection) -> None:
    folder = tls.certificate.parent
    page = StreamingJob(job.url, pinned=Pinned(tls))
    assert "gives no answer" not in str(page.readiness().clusters)
    AUTHORITY.issue("over", until=FROM.replace(year=2021)).files(folder)
    assert "gives no answer" not in str(page.readiness().clusters), "one that is over is still the job's"
    another = folder / "another"
    stranger = StreamingJob(job.url, pinned=Pinned(TlsSection.model_validate(OTHER.files(another))))
    assert "gives no answer" in str(stranger.readiness().clusters)
    assert "gives no answer" in str(StreamingJob(job.url).readiness().clusters), (
        "no authority of this machine signed it"
    )
